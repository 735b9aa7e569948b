package api

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/countd/countd/pkg/counts"
)

// still returns a server that does not run, with a counter that has counted.
func still(t testing.TB) *Server {
	t.Helper()
	counter, err := counts.New(counts.Options{Epoch: "k3x9"})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		_ = counter.Run(ctx)
	}()
	s, err := counter.Source(ctx, pods)
	must(t, err)
	must(t, s.Begin(ctx))
	must(t, s.Put(ctx, counts.Object{Namespace: "a", Name: "x"}))
	must(t, s.End(ctx))
	cancel()
	<-counted
	settled := make(chan struct{})
	close(settled)
	server, err := New(Options{Counter: counter, Status: func() []counts.Status { return nil }, Settled: settled})
	must(t, err)
	return server
}

// fine holds what must be true of a question that was accepted.
func fine(t *testing.T, s *Server, q question) {
	t.Helper()
	if q.interval < s.options.MinDebounce || q.interval > s.options.MaxDebounce {
		t.Errorf("interval is %s", q.interval)
	}
	for _, names := range [][]string{q.selector.Resources, q.selector.Namespaces} {
		if names != nil && len(names) == 0 {
			t.Error("nothing is selected")
		}
		for _, name := range names {
			if name == "" || len(name) > maxName || bytes.ContainsAny([]byte(name), "\r\n\" /%") {
				t.Errorf("a name is %q", name)
			}
		}
	}
	part := s.options.Counter.Snapshot().Select(q.selector)
	delta, _ := own{}.change(part, 0, 0)
	for _, f := range []*frame{own{}.whole(part), delta} {
		if !json.Valid(f.data()) {
			t.Errorf("not JSON: %s", f.data())
		}
	}
}

// told holds what must be true of a refusal.
func told(t *testing.T, s *Server, err error) {
	t.Helper()
	w := httptest.NewRecorder()
	s.refuse(w, err)
	if w.Code != 400 || !json.Valid(w.Body.Bytes()) {
		t.Errorf("%v is answered with %d %s", err, w.Code, w.Body)
	}
	if w.Body.Len() > 4096 {
		t.Errorf("the answer has %d bytes", w.Body.Len())
	}
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"", "resources=pods", "resources=pods,deployments.apps&namespaces=a&namespaces=b", "debounceMs=500&epoch=k3x9&since=1",
		"resources=", "resources=%00", "resources=Pods", "debounceMs=-1", "debounceMs=9223372036854775808", "since=18446744073709551615&epoch=", "a=b;c", "%zz", strings.Repeat("\xef", 4000),
	} {
		f.Add(seed)
	}
	s := still(f)
	f.Fuzz(func(t *testing.T, raw string) {
		query, _ := url.ParseQuery(raw) // as a request's, which drops what it cannot read
		q, err := s.ofQuery(query, paramResources, paramNamespaces, paramDebounce, paramEpoch, paramSince)
		if err == nil {
			err = s.unknown(q.selector.Resources, true)
		}
		if err != nil {
			told(t, s, err)
			return
		}
		fine(t, s, q)
	})
}

func FuzzQuestion(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"resources":["pods"],"namespaces":["a"],"debounceMs":100,"epoch":"k3x9","since":1}`, `{"since":1}`, `{"resources":[]}`,
		`{"resources":[null]}`, `{"namespaces":[""]}`, `null`, `[]`, `{}{}`, `{"debounceMs":1e99}`, `{"since":-1,"epoch":""}`, `{"x":1}`, "{\"epoch\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	s := still(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := s.ofMessage(data)
		if err == nil {
			err = s.unknown(q.selector.Resources, true)
		}
		if err != nil {
			told(t, s, err)
			return
		}
		fine(t, s, q)
	})
}

// FuzzSteveMessages says two messages and holds what the dashboard needs of each
// answer: JSON, a name, a data object, and what was sent.
func FuzzSteveMessages(f *testing.F) {
	for _, seed := range [][2]string{
		{askCount, `{"resourceType":"count","stop":true}`},
		{`{"resourceType":"count","namespace":"a","id":"count","selector":{"a":["<"]},"mode":"resource.changes","debounceMs":4000}`, askCount},
		{`{"resourceType":"pod"}`, `{"resourceType":"pod"}`},
		{`{`, `null`},
		{`{"resourceType":1,"data":2}`, `{"stop":true}`},
		{`{"debounceMs":-9223372036854775808}`, `{"debounceMs":1e3}`},
		{"{\"selector\":\n[1 , 2]}", `{"name":"x","NAME":"y","resourcetype":"count"}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	s := still(f)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		if !utf8.Valid(first) || !utf8.Valid(second) {
			return // the websocket was closed before
		}
		socket, sent := recorded(s)
		session := s.newSteveSession(socket)
		for _, message := range [][]byte{first, second} {
			if err := session.hear(t.Context(), message); err != nil {
				t.Errorf("%q ends the connection: %v", message, err)
			}
		}
		session.close()
		s.views.running.Wait()
		holdSteve(t, sent.messages(t))
	})
}

// recorded returns a socket, and what is written to it.
func recorded(s *Server) (*socket, *recorder) {
	sent := new(recorder)
	return s.newSocket(nil, &wire{Conn: sent}, s.instruments.meter(familySteve, "websocket")), sent
}

// recorder is a connection that records what is written to it.
type recorder struct {
	net.Conn
	mu    sync.Mutex
	wrote []byte
}

func (r *recorder) SetWriteDeadline(time.Time) error { return nil }
func (r *recorder) Close() error                     { return nil }

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrote = append(r.wrote, b...)
	return len(b), nil
}

// messages are the text messages that were written since it was last called.
func (r *recorder) messages(t testing.TB) (list []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for b := r.wrote; len(b) > 0; {
		n, head := int(b[1]), 2
		switch n {
		case 126:
			n, head = int(binary.BigEndian.Uint16(b[2:])), 4
		case 127:
			n, head = int(binary.BigEndian.Uint64(b[2:])), 10
		}
		if b[0] == 0x80|websocket.TextMessage {
			list = append(list, string(b[head:head+n]))
		}
		b = b[head+n:]
	}
	r.wrote = nil
	return list
}

func holdSteve(t *testing.T, messages []string) {
	t.Helper()
	for _, text := range messages {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Errorf("not JSON: %s: %s", err, text)
		}
		if len(m["name"]) < 2 || !bytes.HasPrefix(m["data"], []byte("{")) {
			t.Errorf("no name or data in %s", text)
		}
	}
}
