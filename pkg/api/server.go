package api

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server serves the counts of one Counter. It is safe for concurrent use.
type Server struct {
	options     Options
	instruments *instruments

	// Of websockets.
	watchUpgrader, steveUpgrader websocket.Upgrader
	writeBuffers                 sync.Pool
	deflaters                    deflaters
	attempts                     attempts
	pings                        map[family][]byte

	compressors sync.Pool // of *gzip.Writer

	views *views

	// Streams count themselves in and out, and none comes in once the server
	// drains.
	crowd   crowd
	mu      sync.Mutex
	drains  bool
	ran     bool
	streams sync.WaitGroup
}

// New returns a server. It starts nothing.
func New(o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	instruments, err := newInstruments(o.Registry)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, instruments: instruments, crowd: crowd{most: o.MaxConnections, mostOfClient: o.MaxClientConnections}}
	for limit, value := range o.limits() {
		instruments.limit.WithLabelValues(limit).Set(value)
		instruments.limited.WithLabelValues(limit) // 0 until it is met
	}
	s.watchUpgrader = s.upgrader(subprotocol)
	s.steveUpgrader = s.upgrader()
	s.views = newViews(o.Counter, instruments)
	// The dashboard does not see the websocket's own ping, and other clients' libraries
	// may not show steve's.
	ping := controlFrame(websocket.PingMessage, nil)
	s.pings = map[family][]byte{
		familyCountd: ping,
		familySteve:  slices.Concat(ping, echo{}.frame("ping", map[string]string{"version": o.Version}).text()),
	}
	return s, nil
}

// Handler returns the handler of all routes. A stream ends when the context of
// its request does; Run sees to that, and whoever serves the handler without Run
// does it with http.Server.BaseContext.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()

	mux.Handle("/v1/counts", s.get(s.serveSteveCounts))
	mux.Handle("/v1/counts/count", s.get(s.serveSteveCount))
	mux.Handle("/v1/schemas", s.get(s.serveSchemas))
	mux.Handle("/v1/schemas/{id}", s.get(s.serveSchema))
	mux.Handle("/v1/subscribe", s.only(s.serveSubscribe, http.MethodGet))

	mux.Handle("/api/v1/counts", s.get(s.serveCounts))
	mux.Handle("/api/v1/resources", s.get(s.serveResources))
	mux.Handle("/api/v1/watch", s.only(s.serveWatch, http.MethodGet))

	for _, name := range []string{"healthz", "livez"} {
		mux.Handle("/"+name, s.get(s.health(name, s.livenessChecks(), noDetails)))
		mux.Handle("/"+name+"/{check}", s.get(s.single(s.livenessChecks())))
	}
	mux.Handle("/readyz", s.get(s.health("readyz", s.readinessChecks(), s.unready)))
	mux.Handle("/readyz/{check}", s.get(s.single(s.readinessChecks())))

	metrics := promhttp.HandlerFor(s.options.Registry, promhttp.HandlerOpts{
		ErrorHandling:     promhttp.ContinueOnError, // one bad label costs its own series
		ErrorLog:          scrapeLog{s.options.Log},
		EnableOpenMetrics: true,
	})
	mux.Handle("/metrics", s.get(metrics.ServeHTTP))
	mux.Handle("/", s.get(s.servePage))
	return s.guard(mux)
}

// enter counts a stream of a client in, unless the server drains or has enough.
func (s *Server) enter(client string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drains {
		return unavailable("%s", errDraining)
	}
	if limit := s.crowd.enter(client); limit != "" {
		return s.crowded(limit)
	}
	s.streams.Add(1)
	return nil
}

// leave counts a stream out.
func (s *Server) leave(client string) {
	s.crowd.leave(client)
	s.streams.Done()
}

func (s *Server) draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drains
}

// ended logs why a stream ended.
func (s *Server) ended(remote string, f family, transport string, reason error) {
	s.options.Log.Debug("stream ended", "family", string(f), "transport", transport, "remote", remote, "reason", reason)
}

// closeTimeout is how long the two sides of a websocket have to take leave.
func (s *Server) closeTimeout() time.Duration { return min(time.Second, s.options.DrainTimeout/2) }
