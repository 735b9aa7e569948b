package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/gorilla/websocket"

	"github.com/countd/countd/cmd/countd/app"
	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/test/kube"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// daemon is the program, running in this process for as long as the test.
type daemon struct{ addr string }

// startDaemon runs countd against a cluster with the rights of an administrator,
// and returns when it is ready.
func startDaemon(t testing.TB, kc *kube.Cluster, args ...string) daemon {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, kc.WriteKubeconfig(kubeconfig, "admin", "system:masters"))
	d := startDaemonAt(t, kubeconfig, args...)
	for began := time.Now(); ; {
		if code, _ := d.ask(t, "/readyz"); code == http.StatusOK {
			return d
		}
		if time.Since(began) > patience {
			t.Fatal("countd does not become ready")
		}
		pause(t)
	}
}

// startDaemonAt runs countd with a kubeconfig, and returns when it serves.
func startDaemonAt(t testing.TB, kubeconfig string, args ...string) daemon {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	logs, log := io.Pipe()
	addr := make(chan string, 1)
	read := make(chan struct{})
	go func() { // the log tells the address, and is passed on when tests are verbose
		defer close(read)
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			if testing.Verbose() {
				fmt.Fprintln(t.Output(), lines.Text())
			}
			var entry struct{ Msg, Address string }
			if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
				addr <- entry.Address
			}
		}
	}()
	ended := make(chan error, 1)
	args = append([]string{"--kubeconfig=" + kubeconfig, "--listen=127.0.0.1:0", "--log-format=json"}, args...)
	go func() {
		err := app.Main(ctx, "test", args, io.Discard, log)
		_ = log.Close()
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("countd ended with %v", err)
		}
		<-read
	})
	select {
	case at := <-addr:
		return daemon{at}
	case err := <-ended:
		ended <- err
		t.Fatalf("countd ended with %v", err)
	case <-time.After(patience):
		t.Fatal("countd does not serve")
	}
	return daemon{}
}

// pause is between two questions to something that has no event to wait for.
func pause(t testing.TB) {
	select {
	case <-time.After(10 * time.Millisecond):
	case <-t.Context().Done():
		t.Fatal(context.Cause(t.Context()))
	}
}

func (d daemon) get(t testing.TB, path string, into any) {
	t.Helper()
	code, body := d.ask(t, path)
	if code != http.StatusOK {
		t.Fatalf("GET %s: %d: %s", path, code, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("GET %s: %v in %s", path, err, body)
	}
}

// ask asks over a connection of its own, so that none is left when the test ends.
func (d daemon) ask(t testing.TB, path string) (code int, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.addr+path, nil)
	must(t, err)
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, body
}

// view is what a subscriber holds: counts by resource key, or by schema id in
// steve's family.
type view map[string]counts.ItemCount

func (v view) number(resource, namespace string) int {
	item, ok := v[resource]
	switch {
	case !ok:
		return -1
	case namespace == "":
		return item.Summary.Count
	default:
		return item.Namespaces[namespace].Count
	}
}

// subscriber is a client over a websocket. next reads until its view changes.
type subscriber struct {
	t    testing.TB
	conn *websocket.Conn
	view view
	next func() error
	body []byte // of countd's family: the JSON that patches are merged into
}

func (d daemon) dial(t testing.TB, path string, protocols ...string) *subscriber {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: protocols, HandshakeTimeout: patience}
	conn, resp, err := dialer.DialContext(t.Context(), "ws://"+d.addr+path, nil)
	must(t, err)
	_ = resp.Body.Close()
	t.Cleanup(func() { _ = conn.Close() })
	return &subscriber{t: t, conn: conn, view: view{}}
}

// steve subscribes as Rancher's dashboard does.
func (d daemon) steve(t testing.TB) *subscriber {
	s := d.dial(t, "/v1/subscribe?sockId=1")
	must(t, s.conn.WriteJSON(map[string]any{"resourceType": "count", "debounceMs": 5}))
	s.next = func() error {
		for {
			var m struct {
				Name string
				Data struct {
					Counts view
					Error  string
				}
			}
			if err := s.conn.ReadJSON(&m); err != nil {
				return err
			}
			switch m.Name {
			case "resource.error", "resource.stop":
				return fmt.Errorf("%s: %s", m.Name, m.Data.Error)
			case "resource.change":
				maps.Copy(s.view, m.Data.Counts)
				return nil
			}
		}
	}
	return s
}

// own subscribes in countd's own family.
func (d daemon) own(t testing.TB, query string) *subscriber {
	s := d.dial(t, "/api/v1/watch?"+query, "v1.countd")
	seq := uint64(0)
	s.next = func() error {
		var m struct {
			Type      string
			From, Seq uint64
			Message   string
			Resources json.RawMessage
		}
		if err := s.conn.ReadJSON(&m); err != nil {
			return err
		}
		switch {
		case m.Type == "snapshot":
			s.body = m.Resources
		case m.Type == "delta" && m.From == seq:
			merged, err := jsonpatch.MergePatch(s.body, m.Resources)
			if err != nil {
				return err
			}
			s.body = merged
		default:
			return fmt.Errorf("after seq %d: %+v", seq, m)
		}
		seq = m.Seq
		s.view = view{}
		return json.Unmarshal(s.body, &s.view)
	}
	return s
}

// await reads until the view is as wanted.
func (s *subscriber) await(what string, wanted func(view) bool) {
	s.t.Helper()
	if err := s.waitFor(what, wanted); err != nil {
		s.t.Fatal(err)
	}
}

// waitFor is await for other goroutines than the test's.
func (s *subscriber) waitFor(what string, wanted func(view) bool) error {
	for !wanted(s.view) {
		_ = s.conn.SetReadDeadline(time.Now().Add(patience)) // for as long as something comes
		if err := s.next(); err != nil {
			var last strings.Builder
			_ = json.NewEncoder(&last).Encode(s.view)
			return fmt.Errorf("waited in vain for %s: %w; have %.1000s", what, err, last.String())
		}
	}
	return nil
}

func (s *subscriber) awaitNumber(resource, namespace string, want int) {
	s.t.Helper()
	s.await(fmt.Sprintf("%d %s in %q", want, resource, namespace), func(v view) bool { return v.number(resource, namespace) == want })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
