package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

// socket is a websocket as a transport. The goroutine that serves the request
// reads from it, the one that runs the stream writes to it.
type socket struct {
	conn         *websocket.Conn
	writeTimeout time.Duration
	peerTimeout  time.Duration
	closeTimeout time.Duration
}

// send sets the deadline anew for each message: gorilla's stays where it is.
func (s *socket) send(f frame) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.writeTimeout)); err != nil {
		return err
	}
	return s.conn.WriteMessage(websocket.TextMessage, f.data)
}

func (s *socket) beat() error {
	return s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(s.writeTimeout))
}

// serveSocket upgrades a request and runs a conversation on the websocket until
// either side ends it.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request, f family, upgrader *websocket.Upgrader, run func(context.Context, *stream, <-chan []byte) error) {
	if err := s.enter(); err != nil {
		s.refuse(w, err)
		return
	}
	defer s.leave()
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered, or the client has left
	}
	socket := &socket{
		conn:         conn,
		writeTimeout: s.options.WriteTimeout,
		peerTimeout:  s.options.PeerTimeout,
		closeTimeout: s.closeTimeout(),
	}
	conn.SetReadLimit(s.options.MessageLimit)
	meter := s.instruments.meter(f, "websocket")
	defer meter.open.Dec()

	ctx, cancel := context.WithCancelCause(r.Context())
	// From its end on, both sides have a moment left to take leave; then a
	// write that is stuck and a peer that says nothing end too.
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(socket.closeTimeout, func() { _ = conn.Close() })
	})
	defer stop()
	messages := make(chan []byte)
	written := make(chan struct{})
	go func() {
		defer close(written)
		err := run(ctx, s.stream(socket, meter), messages)
		cancel(err)
		socket.takeLeave(err)
	}()
	cancel(socket.read(ctx, messages))
	<-written
	_ = conn.Close()
	s.ended(r, f, "websocket", context.Cause(ctx))
}

// read hands the client's messages over until it leaves, breaks a rule or falls
// silent. Once ctx has ended it goes on for a moment, without handing anything
// over, so that the client's answer to the close message is not met by a reset.
func (s *socket) read(ctx context.Context, messages chan<- []byte) error {
	alive := func() {
		_ = s.conn.SetReadDeadline(time.Now().Add(s.peerTimeout))
	}
	s.conn.SetPongHandler(func(string) error { alive(); return nil })
	s.conn.SetPingHandler(func(data string) error {
		alive()
		// It waits for a message that is being written; and like that one, it
		// may take its time: a write that fails ends the connection.
		_ = s.conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(s.writeTimeout))
		return nil
	})
	for {
		alive()
		kind, data, err := s.conn.ReadMessage()
		if err != nil {
			return fmt.Errorf("reading from the client: %w", err)
		}
		if kind != websocket.TextMessage {
			return s.close(websocket.CloseUnsupportedData, "want text messages")
		}
		if !utf8.Valid(data) { // gorilla does not look
			return s.close(websocket.CloseInvalidFramePayloadData, "text is not UTF-8")
		}
		select {
		case messages <- data:
		case <-ctx.Done():
		}
	}
}

// takeLeave tells the client why its stream ends, where it can still be told.
func (s *socket) takeLeave(cause error) {
	var refused *refusal
	switch {
	case errors.As(cause, &refused):
		if s.send(refused.frame()) == nil {
			_ = s.close(websocket.ClosePolicyViolation, refused.Reason)
		}
	case errors.Is(cause, errDraining):
		_ = s.close(websocket.CloseGoingAway, errDraining.Error())
	}
}

// close sends a close message and returns it as an error.
func (s *socket) close(code int, reason string) error {
	_ = s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(s.closeTimeout))
	return &websocket.CloseError{Code: code, Text: reason}
}

// upgrader returns an upgrader. Few bytes are read from a client, and a buffer
// to write with is only held while something is written.
func (s *Server) upgrader(subprotocols ...string) websocket.Upgrader {
	return websocket.Upgrader{
		HandshakeTimeout: readHeaderTimeout,
		ReadBufferSize:   512,
		WriteBufferSize:  1024,
		WriteBufferPool:  &s.writeBuffers,
		Subprotocols:     subprotocols,
		CheckOrigin:      func(*http.Request) bool { return true }, // the guard has
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			s.refuse(w, refuse(status, reasonOf(status), "%s", reason))
		},
	}
}

// reasonOf is Kubernetes' word for a status that an upgrade is refused with.
func reasonOf(status int) string {
	switch status {
	case http.StatusMethodNotAllowed:
		return "MethodNotAllowed"
	case http.StatusInternalServerError:
		return "InternalError"
	default:
		return "BadRequest"
	}
}
