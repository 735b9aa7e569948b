package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/countd/countd/pkg/counts"
)

var (
	pods        = counts.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	configMaps  = counts.Resource{Version: "v1", Name: "configmaps", Kind: "ConfigMap", Namespaced: true}
	nodes       = counts.Resource{Version: "v1", Name: "nodes", Kind: "Node"}
	deployments = counts.Resource{Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", Namespaced: true}
	widgets     = counts.Resource{Group: "example.com", Version: "v1", Name: "widgets", Kind: "Widget", Namespaced: true}
)

// fixture is a server in memory with a counter behind it. All of it runs in the
// bubble of the test, where the test has one.
type fixture struct {
	t        testing.TB
	counter  *counts.Counter
	server   *Server
	listener *memoryListener
	client   *http.Client
	settle   func()
	stop     func() error // of the server; returns what Run did

	mu       sync.Mutex
	statuses []counts.Status
}

// newFixture returns a server that is settled.
func newFixture(t testing.TB, change ...func(*Options)) *fixture {
	t.Helper()
	f := newUnsettled(t, counts.Options{Epoch: "k3x9"}, change...)
	f.settle()
	return f
}

// newUnsettled returns a server that is not settled yet.
func newUnsettled(t testing.TB, counting counts.Options, change ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, listener: newMemoryListener()}
	settled := make(chan struct{})
	f.settle = sync.OnceFunc(func() { close(settled) })
	counter, err := counts.New(counting)
	must(t, err)
	f.counter = counter
	o := Options{Counter: counter, Status: f.status, Settled: settled, Version: "v0.0.0-test"}
	for _, c := range change {
		c(&o)
	}
	f.server, err = New(o)
	must(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		_ = counter.Run(ctx)
	}()
	serving, cancelServing := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- f.server.Run(serving, f.listener) }()
	f.stop = sync.OnceValue(func() error { cancelServing(); return <-result })
	transport := &http.Transport{DialContext: f.listener.dial, DisableCompression: true}
	f.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		must(t, f.stop())
		transport.CloseIdleConnections()
		cancel()
		<-counted
	})
	return f
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) status() []counts.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.statuses
}

func (f *fixture) setStatus(statuses ...counts.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.statuses = statuses
}

// source opens the source of a resource that is counted from then on.
func (f *fixture) source(r counts.Resource) *source {
	f.t.Helper()
	s, err := f.counter.Source(f.t.Context(), r)
	must(f.t, err)
	must(f.t, s.Begin(f.t.Context()))
	must(f.t, s.End(f.t.Context()))
	return &source{f.t, s}
}

// source is a source whose words are counted when they return.
type source struct {
	t testing.TB
	*counts.Source
}

func (s *source) put(namespace, name string, state ...counts.State) {
	s.t.Helper()
	o := counts.Object{Namespace: namespace, Name: name}
	if len(state) > 0 {
		o.State = state[0]
	}
	must(s.t, s.Put(s.t.Context(), o))
	must(s.t, s.Sync(s.t.Context()))
}

func (s *source) remove(namespace, name string) {
	s.t.Helper()
	must(s.t, s.Remove(s.t.Context(), namespace, name))
	must(s.t, s.Sync(s.t.Context()))
}

func (s *source) close() {
	s.t.Helper()
	must(s.t, s.Close(s.t.Context()))
}

// get returns the answer to a request.
func (f *fixture) get(path string, header ...string) (*http.Response, string) {
	f.t.Helper()
	return f.do(http.MethodGet, path, header...)
}

func (f *fixture) do(method, path string, header ...string) (*http.Response, string) {
	f.t.Helper()
	r, err := http.NewRequest(method, "http://localhost"+path, nil)
	must(f.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	response, err := f.client.Do(r)
	must(f.t, err)
	defer func() { must(f.t, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	must(f.t, err)
	return response, string(body)
}

// socket is the client's side of a websocket.
type clientSocket struct {
	t testing.TB
	*websocket.Conn
}

func (f *fixture) dial(path string) *clientSocket {
	f.t.Helper()
	return f.dialWith(websocket.Dialer{NetDialContext: f.listener.dial}, path)
}

func (f *fixture) dialWith(dialer websocket.Dialer, path string) *clientSocket {
	f.t.Helper()
	conn, response, err := dialer.Dial("ws://localhost"+path, nil)
	if err != nil && response != nil {
		body, _ := io.ReadAll(response.Body)
		f.t.Fatalf("dialling %s: %s: %s", path, err, body)
	}
	must(f.t, err)
	f.t.Cleanup(func() { _ = conn.Close() })
	return &clientSocket{f.t, conn}
}

func (c *clientSocket) say(text string) {
	c.t.Helper()
	must(c.t, c.WriteMessage(websocket.TextMessage, []byte(text)))
}

// hear returns the next message.
func (c *clientSocket) hear() string {
	c.t.Helper()
	_, data, err := c.ReadMessage()
	must(c.t, err)
	return string(data)
}

// closed reads until the server closes and returns its close message.
func (c *clientSocket) closed() *websocket.CloseError {
	c.t.Helper()
	for {
		_, data, err := c.ReadMessage()
		if err == nil {
			c.t.Logf("before the close: %s", data)
			continue
		}
		var closed *websocket.CloseError
		if !errors.As(err, &closed) {
			c.t.Fatalf("connection ended without a close message: %s", err)
		}
		return closed
	}
}

// transcript is what a client was told, gathered as it comes.
type transcript struct {
	mu       sync.Mutex
	messages []string
	err      error // why there will be no more
}

// listen reads all that comes until the connection ends.
func (c *clientSocket) listen() *transcript {
	var heard transcript
	go func() {
		for {
			_, data, err := c.ReadMessage()
			heard.mu.Lock()
			if err != nil {
				heard.err = err
				heard.mu.Unlock()
				return
			}
			heard.messages = append(heard.messages, string(data))
			heard.mu.Unlock()
		}
	}()
	return &heard
}

// take returns what has come since it was last called, once nothing moves any
// more. It is of use in a bubble only.
func (h *transcript) take() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	messages := h.messages
	h.messages = nil
	return messages
}

// ended returns why the connection ended, or nil while it has not.
func (h *transcript) ended() error {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// body is the client's side of a stream over HTTP.
type body struct {
	t testing.TB
	*bufio.Reader
	close func()
}

func (f *fixture) open(path string, header ...string) *body {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	must(f.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := f.client.Do(r)
	must(f.t, err)
	b := &body{f.t, bufio.NewReader(response.Body), func() { cancel(); _ = response.Body.Close() }}
	f.t.Cleanup(b.close)
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		f.t.Fatalf("opening %s: %s: %s", path, response.Status, text)
	}
	return b
}

func (b *body) line() string {
	b.t.Helper()
	line, err := b.ReadString('\n')
	must(b.t, err)
	return line[:len(line)-1]
}

// messages opens a stream of countd's own family over a transport. next returns
// what comes, apart from signs of life.
func (f *fixture) messages(path, transport string) (next func() (string, error), hangUp func()) {
	f.t.Helper()
	if transport == "websocket" || transport == "deflate" {
		socket := f.dialWith(websocket.Dialer{NetDialContext: f.listener.dial, EnableCompression: transport == "deflate"}, path)
		return func() (string, error) { _, data, err := socket.ReadMessage(); return string(data), err }, func() { _ = socket.Close() }
	}
	b := f.open(path, "Accept", map[string]string{"ndjson": "*/*", "sse": "text/event-stream"}[transport])
	return func() (string, error) {
		for {
			line, err := b.ReadString('\n')
			if err != nil {
				return "", err
			}
			if data := strings.TrimPrefix(line, "data: "); strings.HasPrefix(data, "{") {
				return strings.TrimSuffix(data, "\n"), nil
			}
		}
	}, b.close
}

// memoryListener is a listener whose connections are pipes without any buffer:
// a client that does not read is felt at once.
type memoryListener struct {
	accept chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newMemoryListener() *memoryListener {
	return &memoryListener{accept: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr{} }

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.accept <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

// decode returns JSON as plain values.
func decode(t testing.TB, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("decoding %q: %s", text, err)
	}
	return v
}

// same compares texts line by line.
func same(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
