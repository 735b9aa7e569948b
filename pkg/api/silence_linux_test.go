package api

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/sys/unix"

	"github.com/countd/countd/pkg/counts"
)

// vanish makes a client's kernel drop all that comes, without a word, as if its
// machine was gone.
func vanish(t *testing.T, conn net.Conn) {
	t.Helper()
	raw := raw(conn)
	if raw == nil {
		t.Fatal("no socket")
	}
	drop := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
	var failed error
	must(t, raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &drop[0]})
	}))
	must(t, failed)
}

// TestGoneClientsAreFound: a client whose machine is gone is cut when it has
// acknowledged nothing for two ping intervals, over each transport; one that is only
// stopped is not.
func TestGoneClientsAreFound(t *testing.T) {
	o := valid(t)
	o.PingInterval = 100 * time.Millisecond
	settled := make(chan struct{})
	close(settled)
	o.Settled = settled
	server, err := New(o)
	must(t, err)
	listener, err := Listen(t.Context(), "localhost:0")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	stopped, counted := make(chan error, 1), make(chan struct{})
	go func() { defer close(counted); _ = o.Counter.Run(ctx) }()
	go func() { stopped <- server.Run(ctx, listener) }()
	defer func() {
		cancel()
		must(t, <-stopped)
		<-counted
	}()
	source, err := o.Counter.Source(t.Context(), pods)
	must(t, err)
	must(t, source.End(t.Context()))

	address := listener.Addr().String()
	dial := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	var conns []net.Conn
	for _, path := range []string{"/api/v1/watch?resources=pods", "/v1/subscribe"} {
		for range 2 {
			dialer := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) { return dial(), nil }}
			socket, response, err := dialer.DialContext(t.Context(), "ws://"+address+path, nil)
			must(t, err)
			must(t, response.Body.Close())
			conns = append(conns, socket.NetConn())
		}
	}
	for _, accept := range []string{"text/event-stream", "application/x-ndjson"} {
		for range 2 {
			conn := dial()
			_, err := conn.Write([]byte("GET /api/v1/watch?resources=pods HTTP/1.1\r\nHost: localhost\r\nAccept: " + accept + "\r\n\r\n"))
			must(t, err)
			conns = append(conns, conn)
		}
	}
	f := &fixture{t: t, server: server}
	await := func(what string, is func() bool) {
		t.Helper()
		for began := time.Now(); !is(); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("waited in vain for %s", what)
			}
		}
	}
	await("all streams", func() bool { return f.value("countd_api_open_connections") == 8 })
	for i, conn := range conns {
		if i%2 == 0 {
			vanish(t, conn)
		}
	}
	// Something for NDJSON, which has no sign of life.
	must(t, source.Put(t.Context(), counts.Object{Namespace: "a", Name: "x"}))
	await("the end of those that are gone", func() bool { return f.value("countd_api_gone_clients_total") == 4 })
	// The others, of which nothing was ever read, stay for as long as a write may take.
	for range 10 {
		time.Sleep(o.PingInterval)
	}
	if n := f.value("countd_api_open_connections"); n != 4 {
		t.Errorf("%g streams are open, want the 4 whose clients are stopped", n)
	}
}
