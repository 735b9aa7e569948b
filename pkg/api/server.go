package api

import (
	"context"
	"net"
	"net/http"
)

// Server serves the counts of one Counter. It is safe for concurrent use.
type Server struct {
	options Options
}

// New returns a server. It starts nothing.
func New(o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Server{options: o.withDefaults()}, nil
}

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler { return http.NotFoundHandler() }

// Run serves on a listener until ctx ends, and then drains.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	if err := checkListener(listener); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
