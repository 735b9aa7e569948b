package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// TestPagesOfOthersAreRefused: a page whose name was pointed at this machine
// (DNS rebinding) by the host that it calls, and any other by its origin.
func TestPagesOfOthersAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		for _, host := range []string{"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "0.0.0.0:80", "[::]:80", "2130706433", "", "localhost:80:80"} {
			for _, path := range []string{"/", "/api/v1/counts", "/v1/subscribe", "/metrics", "/healthz"} {
				w := directlyAs(f.server.Handler(), host, "", path)
				if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), `"reason":"Forbidden","message":"host `) {
					t.Errorf("host %q at %s gives %d %s", host, path, w.Code, w.Body)
				}
			}
		}
		for _, host := range []string{"localhost", "LocalHost:8080", "localhost.", "a.localhost:1", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080", "[::1]", "[::ffff:127.0.0.1]:80", "counts.internal:80"} {
			for _, origin := range []string{"", "http://" + host} {
				if w := directlyAs(f.server.Handler(), host, origin, "/api/v1/counts"); w.Code != http.StatusOK {
					t.Errorf("host %q with origin %q gives %d %s", host, origin, w.Code, w.Body)
				}
			}
		}
		for _, origin := range []string{"http://evil.example", "null", "http://localhost:1", "http://localhost.evil.example", "localhost", "://", "http://"} {
			for _, path := range []string{"/api/v1/counts", "/api/v1/watch", "/v1/subscribe"} {
				if w := directlyAs(f.server.Handler(), "localhost", origin, path); w.Code != http.StatusForbidden {
					t.Errorf("origin %q at %s gives %d", origin, path, w.Code)
				}
			}
			dialer := websocket.Dialer{NetDialContext: f.listener.dial}
			_, response, err := dialer.Dial("ws://localhost/v1/subscribe", http.Header{"Origin": {origin}})
			if err == nil || response == nil || response.StatusCode != http.StatusForbidden {
				t.Errorf("a websocket of origin %q got %v, %v", origin, response, err)
			}
		}
		dialer := websocket.Dialer{NetDialContext: f.listener.dial}
		conn, _, err := dialer.Dial("ws://localhost/v1/subscribe", http.Header{"Origin": {"http://localhost"}})
		must(t, err)
		_ = conn.Close()
	}, func(o *Options) { o.Hosts = []string{"counts.internal"} })
}

func TestListenRefusesWhatOthersCanReach(t *testing.T) {
	for _, addr := range []string{":8080", "0.0.0.0:0", "[::]:0", "10.1.2.3:0", "[fe80::1]:0", "169.254.1.1:0"} {
		l, err := Listen(t.Context(), addr)
		if err == nil {
			_ = l.Close()
			t.Errorf("listens on %s", addr)
			continue
		}
		for _, want := range []string{addr, "cannot tell who is asking", "allowed are localhost"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
	}
	for addr, want := range map[string]string{"8080": "host:port", "localhost": "host:port", "localhost:none": "listening on", "no.such.name.invalid:0": "resolving"} {
		if _, err := Listen(t.Context(), addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestListenTakesLoopback(t *testing.T) {
	for _, addr := range []string{"localhost:0", "127.0.0.1:0", "127.0.0.2:0"} {
		l, err := Listen(t.Context(), addr)
		must(t, err)
		if ip := netip.MustParseAddrPort(l.Addr().String()).Addr(); !ip.IsLoopback() {
			t.Errorf("%s listens on %s", addr, ip)
		}
		must(t, l.Close())
	}
}

// TestRunRefusesAListenerThatOthersCanReach, however it was made.
func TestRunRefusesAListenerThatOthersCanReach(t *testing.T) {
	f := newFixture(t)
	o := f.server.options
	o.Registry = nil
	s, err := New(o)
	must(t, err)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	must(t, err)
	if err := s.Run(t.Context(), l); err == nil || !strings.Contains(err.Error(), "allowed are localhost") {
		t.Errorf("got %v", err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener was left open")
	}
}
