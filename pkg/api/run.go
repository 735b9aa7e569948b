package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// The limits of a connection before it is a stream.
const (
	idleTimeout    = 2 * time.Minute // less than clients keep a connection for
	maxHeaderBytes = 16 << 10
)

// Run serves on a listener, which it closes, until ctx ends or the listener
// fails. Then it drains: /readyz fails, the listener closes, streams are told, with a
// moment at which to come back that is another for each (a websocket in the reason of its
// close message, server-sent events by their retry field), and when all have ended, or DrainTimeout is over and they are cut, it returns.
// No goroutine is left. A server runs once, and on loopback only.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	if err := s.begin(listener); err != nil {
		return errors.Join(err, listener.Close())
	}
	// Requests outlive ctx: they end when the server has stopped listening.
	requests, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	requests = context.WithValue(requests, detached{}, requests)
	server := &http.Server{
		Handler:     s.Handler(),
		BaseContext: func(net.Listener) context.Context { return requests },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connection{}, conn)
		},
		ReadHeaderTimeout: s.options.HandshakeTimeout,
		WriteTimeout:      s.options.WriteTimeout, // streams set it anew for each message
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.options.Log.Handler(), slog.LevelDebug),
	}
	var silent connections
	server.ConnState = silent.track
	// Shutdown closes the listener and then calls this.
	server.RegisterOnShutdown(func() {
		silent.close()
		end(errDraining)
	})

	s.options.Log.Info("serving", "address", listener.Addr().String(), "url", "http://"+listener.Addr().String()+"/")
	group, stopped := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
		}
		return nil
	})
	group.Go(func() error {
		<-stopped.Done() // ctx has ended, or Serve has failed
		return s.drain(context.WithoutCancel(ctx), server)
	})
	return group.Wait()
}

// comeBack is after how many milliseconds a client is asked to come back: each after
// another time, so that they do not all meet the next server at once.
func (s *Server) comeBack() int64 {
	return rand.N(s.options.ReconnectWithin).Milliseconds() //nolint:gosec // spreads load, protects nothing
}

// goingAway is the reason of a websocket's close message when the server drains, with a
// hint that clients can read.
func (s *Server) goingAway() string {
	return fmt.Sprintf("%s; reconnect after %d ms", errDraining, s.comeBack())
}

func (s *Server) begin(listener net.Listener) error {
	if err := checkListener(listener); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ran {
		return errors.New("api: a server runs once")
	}
	s.ran = true
	return nil
}

func (s *Server) drain(ctx context.Context, server *http.Server) error {
	start := time.Now()
	s.options.Log.Info("draining", "timeout", s.options.DrainTimeout)
	s.mu.Lock()
	s.drains = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.options.DrainTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		// Clients that do not read are cut; that is no fault of the server.
		err = server.Close()
	}
	s.streams.Wait() // websockets, which Shutdown does not know, end by themselves
	s.views.running.Wait()
	s.options.Log.Info("drained", "took", time.Since(start))
	return err
}

// connections are those on which nothing was asked yet. Browsers open some in
// advance, and Shutdown would wait five seconds for a request on them.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// track is an http.Server's ConnState.
func (c *connections) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state != http.StateNew {
		delete(c.open, conn)
		return
	}
	if c.open == nil {
		c.open = make(map[net.Conn]struct{})
	}
	c.open[conn] = struct{}{}
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		_ = conn.Close()
	}
}
