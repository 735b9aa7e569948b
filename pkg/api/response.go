package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// response is an HTTP response that is written in pieces, each of which leaves
// at once. The two transports below differ in what a piece looks like.
type response struct {
	writer       http.ResponseWriter
	control      *http.ResponseController
	writeTimeout time.Duration
}

func (r *response) write(parts ...[]byte) error {
	err := r.control.SetWriteDeadline(time.Now().Add(r.writeTimeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) { // by a test's recorder
		return err
	}
	for _, part := range parts {
		if _, err := r.writer.Write(part); err != nil {
			return err
		}
	}
	return r.control.Flush()
}

// lines is newline-delimited JSON. It has no beat: every line is a message, and
// a client that is gone is noticed by TCP.
type lines struct{ *response }

func (l lines) send(f frame) error { return l.write(f.data, []byte("\n")) }
func (l lines) beat() error        { return nil }

// events are server-sent events.
type events struct{ *response }

func (e events) send(f frame) error {
	if f.id == "" {
		return e.write([]byte("data: "), f.data, []byte("\n\n"))
	}
	return e.write([]byte("id: "+f.id+"\ndata: "), f.data, []byte("\n\n"))
}

func (e events) beat() error { return e.write([]byte(": ping\n\n")) }

func (s *Server) serveLines(w http.ResponseWriter, r *http.Request, q question) {
	s.serveResponse(w, r, q, "ndjson", "application/x-ndjson", func(r *response) transport { return lines{r} })
}

// serveEvents takes up where a browser's EventSource says that it was cut off.
// What it says goes before the query, which it repeats from its first time.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request, q question) {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		q.epoch, q.since = parseStateID(id)
	}
	s.serveResponse(w, r, q, "sse", "text/event-stream", func(r *response) transport { return events{r} })
}

// parseStateID undoes stateID. An id that is none of ours is that of no state:
// the client gets a snapshot.
func parseStateID(id string) (epoch string, seq uint64) {
	i := strings.LastIndexByte(id, ':')
	if i < 0 {
		return "", 0
	}
	seq, err := strconv.ParseUint(id[i+1:], 10, 64)
	if err != nil {
		return "", 0
	}
	return id[:i], seq
}

func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request, q question, name, contentType string, make func(*response) transport) {
	if err := s.enter(); err != nil {
		s.refuse(w, err)
		return
	}
	defer s.leave()
	meter := s.instruments.meter(familyCountd, name)
	defer meter.open.Dec()
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold messages back
	response := &response{w, http.NewResponseController(w), s.options.WriteTimeout}
	stream := s.stream(make(response), meter)
	err := stream.wrote(response.write()) // the header leaves before there is a message
	if err == nil {
		err = stream.run(r.Context(), newWatch(q), nil)
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("the client left")
	}
	s.ended(r, familyCountd, name, err)
}
