package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// TestConnectionsHaveALimit: whoever is one too many is told so, over each transport,
// nobody else notices, and there is room again when somebody leaves.
func TestConnectionsHaveALimit(t *testing.T) {
	for name, limit := range map[string]func(*Options){
		limitConnections:       func(o *Options) { o.MaxConnections = 2 },
		limitClientConnections: func(o *Options) { o.MaxClientConnections = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *fixture, p *source) {
				p.put("a", "x")
				first, second := f.dial("/api/v1/watch?resources=pods"), f.open("/api/v1/watch?resources=pods")
				first.hear()
				second.line()

				third := f.dial("/api/v1/watch?resources=pods")
				if said := third.hear(); !strings.Contains(said, `"reason":"TooManyRequests"`) {
					t.Errorf("a third websocket is told %s", said)
				}
				if closed := third.closed(); closed.Code != websocket.CloseTryAgainLater || !strings.Contains(closed.Text, "2 streams") {
					t.Errorf("a third websocket is closed with %v", closed)
				}
				if closed := f.dial("/v1/subscribe").closed(); closed.Code != websocket.CloseTryAgainLater {
					t.Errorf("a third websocket of steve's family is closed with %v", closed)
				}
				for _, accept := range []string{"text/event-stream", "application/x-ndjson"} {
					response, body := f.get("/api/v1/watch", "Accept", accept)
					if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" || !strings.Contains(body, "TooManyRequests") {
						t.Errorf("a third stream over HTTP: %s %s", response.Status, body)
					}
				}
				if n := f.value("countd_api_limited_total", name); n != 4 {
					t.Errorf("the limit was met %g times, want 4", n)
				}
				if n := f.value("countd_api_limit", name); n != 2 {
					t.Errorf("the limit is said to be %g", n)
				}

				p.put("a", "y")
				if delta := first.hear(); !strings.Contains(delta, `"count":2`) {
					t.Errorf("the first stream was told %s", delta)
				}
				second.line()
				must(t, first.Close())
				pass(time.Second)
				f.dial("/api/v1/watch?resources=pods").hear()
			}, limit)
		})
	}
}

// TestMessagesHaveARate: who says too much too fast is closed, whatever it says, and
// who says as much in a longer time is not.
func TestMessagesHaveARate(t *testing.T) {
	slow := func(o *Options) { o.MessageRate = 2 }
	say := map[string]func(*clientSocket) error{
		"message": func(c *clientSocket) error {
			return c.WriteMessage(websocket.TextMessage, []byte(`{"stop":true,"resourceType":"pod"}`))
		},
		"ping": func(c *clientSocket) error {
			return c.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
		},
		"pong": func(c *clientSocket) error {
			return c.WriteControl(websocket.PongMessage, nil, time.Now().Add(time.Second))
		},
	}
	for name, send := range say {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *fixture, _ *source) {
				fast, steady := f.dial("/v1/subscribe"), f.dial("/v1/subscribe")
				heard, cut := steady.listen(), fast.listen()
				for range 50 {
					must(t, send(steady))
					pass(time.Second)
				}
				for range 50 {
					if send(fast) != nil {
						break // it was cut off
					}
				}
				if err := cut.ended(); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
					t.Errorf("closed with %v", err)
				}
				if err := heard.ended(); err != nil {
					t.Errorf("a steady client was cut off: %v", err)
				}
				if n := f.value("countd_api_limited_total", limitMessageRate); n != 1 {
					t.Errorf("the limit was met %g times, want once", n)
				}
			}, slow)
		})
	}
}
