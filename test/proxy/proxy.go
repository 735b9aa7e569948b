// Package proxy stands between countd and an API server in tests, and makes the
// faults that a server or a network makes.
package proxy

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Interceptor answers a request in place of the API server and returns true, or
// returns false. It runs in the request's goroutine and may be called by several.
type Interceptor func(http.ResponseWriter, *http.Request) (answered bool)

// Proxy forwards requests with the rights of the config that it was made with. It
// is safe for concurrent use.
type Proxy struct {
	server *httptest.Server

	mu           sync.Mutex
	interceptors []*Interceptor
	requests     []Request
}

// Request is what the proxy keeps of a request.
type Request struct {
	Method, Path, Accept string
	Query                url.Values
	At                   time.Time // when it came
}

// New starts a proxy that ends with the test.
func New(t testing.TB, upstream *rest.Config) *Proxy {
	t.Helper()
	target, err := url.Parse(upstream.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		t.Fatal(err)
	}
	silent := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorLog:      silent,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	p := &Proxy{}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, f := range p.seen(r) {
			if (*f)(w, r) {
				return
			}
		}
		forward.ServeHTTP(w, r)
	}))
	p.server.Config.ErrorLog = silent
	p.server.Start()
	t.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
		if idle, ok := transport.(interface{ CloseIdleConnections() }); ok {
			idle.CloseIdleConnections()
		}
	})
	return p
}

func (p *Proxy) seen(r *http.Request) []*Interceptor {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, Request{r.Method, r.URL.Path, r.Header.Get("Accept"), r.URL.Query(), time.Now()})
	return slices.Clone(p.interceptors)
}

// Config reaches the API server through the proxy.
func (p *Proxy) Config() *rest.Config { return &rest.Config{Host: p.server.URL} }

// Intercept lets f see each request before it is forwarded, until stop is called.
func (p *Proxy) Intercept(f Interceptor) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &f
	p.interceptors = append(p.interceptors, at)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.interceptors = slices.DeleteFunc(p.interceptors, func(i *Interceptor) bool { return i == at })
	}
}

// Cut closes all connections of clients, in the middle of whatever they carry.
func (p *Proxy) Cut() { p.server.CloseClientConnections() }

// Requests are the requests so far.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}
