package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// response is an HTTP response that is written in pieces, each of which leaves at
// once. The goroutine that serves the request owns it, and is the only one that
// writes; members' views hand it one frame at a time.
type response struct {
	turn
	writer       http.ResponseWriter
	control      *http.ResponseController
	writeTimeout time.Duration
	next         chan *frame // of capacity one, and empty when the turn is free
	format       format
	raw          rawConn // nil where it is not known
}

// send is an outlet's.
func (r *response) send(f *frame) { r.next <- f }

// run writes to the client until ctx ends, or the client is gone or too slow.
func (r *response) run(ctx context.Context, m *meter, interval time.Duration) error {
	beat := time.NewTicker(interval)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case f := <-r.next:
			if err := m.wrote(r.write(r.format.message(f)...)); err != nil {
				return err
			}
			m.sent(len(f.data()))
			r.give()
		case <-beat.C:
			if !m.lives(r.raw, interval) {
				return errGone
			}
			if alive := r.format.alive(); alive != nil {
				if err := m.wrote(r.write(alive)); err != nil {
					return err
				}
			}
		}
	}
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

// format is what a message looks like in a response.
type format interface {
	message(*frame) [][]byte
	alive() []byte // a sign of life; nil where there is none
	// comeBack asks the client to come back after so many milliseconds; nil where there
	// is no way to.
	comeBack(ms int64) []byte
}

// connection is, in a request's context, the connection that it came over.
type connection struct{}

// lines is newline-delimited JSON. It has no sign of life: every line is a message,
// and a client that is gone is noticed by TCP.
type lines struct{}

func (lines) message(f *frame) [][]byte { return [][]byte{f.line()} }
func (lines) alive() []byte             { return nil }
func (lines) comeBack(int64) []byte     { return nil }

// events are server-sent events.
type events struct{}

func (events) message(f *frame) [][]byte {
	head := "data: "
	if f.id != "" {
		head = "id: " + f.id + "\ndata: "
	}
	return [][]byte{[]byte(head), f.line(), []byte("\n")}
}

func (events) alive() []byte { return []byte(": ping\n\n") }

func (events) comeBack(ms int64) []byte { return fmt.Appendf(nil, "retry: %d\n\n", ms) }

func (s *Server) serveLines(w http.ResponseWriter, r *http.Request, q question) {
	s.serveResponse(w, r, q, "ndjson", "application/x-ndjson", lines{})
}

// serveEvents takes up where a browser's EventSource says that it was cut off.
// What it says goes before the query, which it repeats from its first time.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request, q question) {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		q.epoch, q.since = parseStateID(id)
	}
	s.serveResponse(w, r, q, "sse", "text/event-stream", events{})
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

func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request, q question, name, contentType string, f format) {
	client := clientOf(r)
	if err := s.enter(client); err != nil {
		s.refuse(w, err)
		return
	}
	defer s.leave(client)
	meter := s.instruments.meter(familyCountd, name)
	defer meter.open.Dec()
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold messages back
	response := &response{
		writer: w, control: http.NewResponseController(w), writeTimeout: s.options.WriteTimeout, next: make(chan *frame, 1), format: f,
	}
	if conn, ok := r.Context().Value(connection{}).(net.Conn); ok {
		response.raw = raw(conn)
	}
	err := meter.wrote(response.write()) // the header leaves before there is a message
	if err == nil {
		leave := s.watch(r.Context(), q, response)
		err = response.run(r.Context(), meter, s.options.PingInterval)
		response.end()
		leave()
		if hint := f.comeBack(s.comeBack()); hint != nil && errors.Is(err, errDraining) {
			_ = response.write(hint) // the client may be gone
		}
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("the client left")
	}
	s.ended(r.RemoteAddr, familyCountd, name, err)
}
