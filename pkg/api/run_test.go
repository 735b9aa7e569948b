package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// TestDrainTellsEveryStream: websockets get 1001, the others end as HTTP
// responses do, it takes no time where clients read, and each is told another moment
// at which to come back.
func TestDrainTellsEveryStream(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		sockets := []*transcript{f.dial("/v1/subscribe").listen(), f.dial("/api/v1/watch").listen(), f.dial("/api/v1/watch?namespaces=a").listen()}
		var mu sync.Mutex
		ends := make(map[string]error)
		var reading sync.WaitGroup
		for name, b := range map[string]*body{"NDJSON": f.open("/api/v1/watch"), "SSE": f.open("/api/v1/watch", "Accept", "text/event-stream")} {
			reading.Go(func() {
				said, err := io.ReadAll(b) // no error: the response is whole
				mu.Lock()
				defer mu.Unlock()
				ends[name] = err
				if name == "SSE" && !regexp.MustCompile(`\nretry: \d+\n\n$`).Match(said) {
					t.Errorf("server-sent events end with %q", said)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		must(t, f.stop())
		if took := time.Since(start); took > time.Second {
			t.Errorf("draining took %s", took)
		}
		moments := make(map[string]bool)
		for i, s := range sockets {
			var closed *websocket.CloseError
			if err := s.ended(); !errors.As(err, &closed) || closed.Code != websocket.CloseGoingAway {
				t.Errorf("websocket %d ended with %v", i, err)
				continue
			}
			moment := regexp.MustCompile(`; reconnect after (\d+) ms$`).FindStringSubmatch(closed.Text)
			if moment == nil || moments[moment[1]] {
				t.Errorf("websocket %d was told %q, want another moment than those before", i, closed.Text)
				continue
			}
			moments[moment[1]] = true
		}
		reading.Wait()
		for name, err := range ends {
			if err != nil {
				t.Errorf("%s ended with %v", name, err)
			}
		}
		if _, err := f.listener.dial(t.Context(), "", ""); err == nil {
			t.Error("the listener still accepts")
		}
	})
}

// TestDrainIsOverInTime although clients do not read: those that are stuck in a
// write, one that does not answer the close message, and connections on which
// nothing was ever asked.
func TestDrainIsOverInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		f.dial("/api/v1/watch?namespaces=a")
		f.dial("/v1/subscribe").say(askCount)
		f.dial("/api/v1/watch")
		f.raw("*/*")
		f.raw("text/event-stream")
		idle, err := f.listener.dial(t.Context(), "", "")
		must(t, err)
		defer func() { _ = idle.Close() }()
		pass(2 * time.Second)
		start := time.Now()
		must(t, f.stop())
		if took := time.Since(start); took > defaultDrainTimeout {
			t.Errorf("draining took %s", took)
		}
		if open := f.value("countd_api_open_connections"); open != 0 {
			t.Errorf("%v connections are open", open)
		}
	})
}

func TestUnusedConnectionsDoNotDelayTheDrain(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		conn, err := f.listener.dial(t.Context(), "", "")
		must(t, err)
		defer func() { _ = conn.Close() }()
		synctest.Wait()
		start := time.Now()
		must(t, f.stop())
		if took := time.Since(start); took > time.Second {
			t.Errorf("draining took %s", took)
		}
	})
}

func TestReadyzFailsBeforeStreamsAreTold(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		handler := f.server.Handler()
		socket := f.dial("/api/v1/watch?namespaces=a") // stuck: drains for a second
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- f.stop() }()
		synctest.Wait()
		if code, body := direct(handler, "/readyz"); code != http.StatusInternalServerError || !strings.Contains(body, "[-]shutdown failed: the server shuts down") {
			t.Errorf("readyz says %d %s", code, body)
		}
		if code, body := direct(handler, "/livez"); code != http.StatusOK {
			t.Errorf("livez says %d %s", code, body)
		}
		if code, body := direct(handler, "/api/v1/watch"); code != http.StatusServiceUnavailable {
			t.Errorf("a new stream got %d %s", code, body)
		}
		socket.hear()
		if closed := socket.closed(); closed.Code != websocket.CloseGoingAway {
			t.Errorf("closed with %v", closed)
		}
		must(t, <-stopped)
	})
}

func TestServerRunsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		synctest.Wait()
		second := newMemoryListener()
		if err := f.server.Run(t.Context(), second); err == nil || !strings.Contains(err.Error(), "once") {
			t.Errorf("running: %v", err)
		}
		if _, err := second.Accept(); err == nil {
			t.Error("the listener was left open")
		}
		must(t, f.stop())
		if err := f.server.Run(t.Context(), newMemoryListener()); err == nil {
			t.Error("it ran again after its stop")
		}
	})
}

func TestTwoServersAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		other := newFixture(t)
		must(t, other.stop())
		if got := f.dial("/api/v1/watch?namespaces=a").hear(); !strings.HasPrefix(got, `{"type":"snapshot"`) {
			t.Errorf("the first one says %s", got)
		}
	})
}

func TestListenerThatFailsEndsRunWithItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		socket := f.dial("/api/v1/watch?namespaces=a").listen()
		socket.take()
		must(t, f.listener.Close())
		synctest.Wait()
		if err := f.stop(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if socket.ended() == nil {
			t.Error("a stream is still open")
		}
		f.stop = func() error { return nil } // its error was expected
	})
}

func TestRequestsHaveTheirLimits(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		response, _ := f.get("/healthz", "X-Large", strings.Repeat("x", 2*maxHeaderBytes))
		if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a large header gives %s", response.Status)
		}
		for request, want := range map[string]string{
			"GET / HTTP/1.1\r\n": "", // and no more
			"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n": "400 Bad Request",
		} {
			conn, err := f.listener.dial(t.Context(), "", "")
			must(t, err)
			start := time.Now()
			_, err = io.WriteString(conn, request)
			must(t, err)
			answer, err := io.ReadAll(conn) // until the server closes
			must(t, err)
			if took := time.Since(start); took > defaultHandshake+time.Second || !strings.Contains(string(answer), want) {
				t.Errorf("%q: after %s %q", request, took, answer)
			}
			must(t, conn.Close())
		}
	})
}

// TestRunOverTCP is the way that countd goes: everything else here runs in
// memory.
func TestRunOverTCP(t *testing.T) {
	server := still(t)
	listener, err := Listen(t.Context(), "localhost:0")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- server.Run(ctx, listener) }()
	socket, response, err := websocket.DefaultDialer.DialContext(t.Context(), "ws://"+listener.Addr().String()+"/api/v1/watch?resources=pods", nil)
	must(t, err)
	must(t, response.Body.Close())
	client := &clientSocket{t, socket}
	same(t, "first", []string{client.hear()}, snapshotOf(1, `"pods":`+podsOne))
	cancel()
	if closed := client.closed(); closed.Code != websocket.CloseGoingAway || !strings.HasPrefix(closed.Text, errDraining.Error()+"; reconnect after ") {
		t.Errorf("closed with %v", closed)
	}
	must(t, <-stopped)
	must(t, socket.Close())
}

// TestLogHasStableKeysAndNoStreams: starts and ends at info, streams at debug.
func TestLogHasStableKeysAndNoStreams(t *testing.T) {
	for level, want := range map[slog.Level][]string{
		slog.LevelInfo: {"serving address,url", "draining timeout", "drained took"},
		slog.LevelDebug: {
			"serving address,url", "stream ended family,transport,remote,reason", "draining timeout", "drained took",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			var got []string
			f := newFixture(t, func(o *Options) {
				o.Log = slog.New(keys{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}), &got})
			})
			socket := f.dial("/v1/subscribe")
			synctest.Wait()
			_ = socket.Close()
			synctest.Wait()
			must(t, f.stop())
			same(t, fmt.Sprint(level), got, want...)
		})
	}
}

// keys records each message with the keys of its attributes.
type keys struct {
	slog.Handler
	got *[]string
}

func (k keys) Handle(_ context.Context, r slog.Record) error {
	var list []string
	r.Attrs(func(a slog.Attr) bool { list = append(list, a.Key); return true })
	*k.got = append(*k.got, r.Message+" "+strings.Join(list, ","))
	return nil
}
