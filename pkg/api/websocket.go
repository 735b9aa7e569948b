package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"
)

// upgrader returns an upgrader. Few bytes are read from a client, and gorilla writes
// nothing but the handshake and what it says of broken frames.
func (s *Server) upgrader(subprotocols ...string) websocket.Upgrader {
	return websocket.Upgrader{
		HandshakeTimeout:  s.options.HandshakeTimeout,
		ReadBufferSize:    256,
		WriteBufferSize:   256,
		WriteBufferPool:   &s.writeBuffers,
		Subprotocols:      subprotocols,
		EnableCompression: true,
		CheckOrigin:       func(*http.Request) bool { return true }, // the guard has
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

// detached is, in a request's context, the context that its stream may live on in
// when its handler has returned.
type detached struct{}

// serveSocket upgrades a request and holds a conversation on the websocket until
// either side ends it. Where the server runs by itself it returns at once, because
// net/http keeps some 12 KiB for a handler that does not.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request, f family, upgrader *websocket.Upgrader, converse func(*socket) conversation) {
	client := clientOf(r)
	if err := s.enter(client); err != nil {
		var why *refusal
		if errors.As(err, &why) && why.Code == http.StatusTooManyRequests {
			s.turnAway(w, r, f, upgrader, why)
		} else {
			s.refuse(w, err)
		}
		return
	}
	wire := &wire{}
	conn, err := upgrader.Upgrade(hijacker{w, wire}, r, nil)
	if err != nil {
		s.leave(client)
		return // the upgrader has answered, or the client has left
	}
	socket := s.newSocket(conn, wire, s.instruments.meter(f, "websocket"))
	ctx, ok := r.Context().Value(detached{}).(context.Context) //nolint:contextcheck // it is the context that the request's came from
	if !ok {
		ctx = r.Context()
	}
	remote, ended := r.RemoteAddr, make(chan struct{})
	go func() {
		defer s.leave(client)
		defer close(ended)
		reason := socket.serve(ctx, converse(socket))
		s.ended(remote, f, "websocket", reason)
	}()
	if !ok {
		<-ended
	}
}

// hijacker hands gorilla a connection on which it cannot write into a message that
// is under way.
type hijacker struct {
	http.ResponseWriter
	wire *wire
}

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.wire.Conn = conn
	return h.wire, buffers, err
}

// wire is a connection as gorilla sees it.
type wire struct {
	net.Conn
	socket   *socket // nil during the handshake
	deflates bool    // the handshake says so
}

func (w *wire) Write(b []byte) (int, error) {
	if w.socket == nil {
		w.deflates = bytes.Contains(b, []byte("\r\nSec-WebSocket-Extensions: permessage-deflate;"))
		return w.Conn.Write(b)
	}
	return len(b), w.socket.control(b)
}

// SetWriteDeadline is gorilla's. Once there is a socket, it sets its own.
func (w *wire) SetWriteDeadline(t time.Time) error {
	if w.socket == nil {
		return w.Conn.SetWriteDeadline(t)
	}
	return nil
}

// conversation is what a client says on a websocket, in one of the two families.
// Only the goroutine that reads from the client calls it.
type conversation interface {
	// open is called once, before anything else.
	open(ctx context.Context)
	// hear takes in what the client says. An error ends the conversation; the
	// client is told of a refusal.
	hear(ctx context.Context, message []byte) error
	// close ends all subscriptions. It is called once, after everything else.
	close()
}

// socket is the server's side of a websocket. One goroutine reads from it, for as
// long as it is open. There is none that writes: whoever has a message writes it as
// far as the kernel takes it at once, and only for the rest, where the client is
// slow, there is a goroutine, while it waits.
type socket struct {
	turn
	server *Server
	meter  *meter
	conn   *websocket.Conn
	wire   *wire
	raw    rawConn // nil where writing always waits
	beats  []byte  // what shows that both sides are alive, as it is sent
	beat   *time.Timer
	rate   *rate.Limiter         // of what the client says
	cause  atomic.Pointer[error] // why it ended, where the client's side does not say
	leaves atomic.Bool           // it has said, or is about to say, that it ends
}

func (s *Server) newSocket(conn *websocket.Conn, w *wire, m *meter) *socket {
	socket := &socket{server: s, meter: m, conn: conn, wire: w, raw: raw(w.Conn), beats: s.pings[m.family], rate: s.rates()}
	w.socket = socket
	return socket
}

// serve holds the conversation and returns why it ended. When it returns, nothing
// of the socket goes on.
func (s *socket) serve(ctx context.Context, c conversation) error {
	defer s.meter.open.Dec()
	// From the end of ctx on, both sides have a moment left to take leave.
	stop := context.AfterFunc(ctx, func() { s.takeLeave(context.Cause(ctx)) })
	defer stop()
	s.mu.Lock()
	s.beat = time.AfterFunc(s.server.options.PingInterval, s.sayAlive)
	s.mu.Unlock()
	defer s.beat.Stop()
	c.open(ctx)
	err := s.read(ctx, c)
	if cause := s.cause.Load(); cause != nil {
		err = *cause
	}
	_ = s.wire.Close()
	s.end()
	c.close()
	s.turn.ended()
	return err
}

// fail ends the connection without another word.
func (s *socket) fail(reason error) {
	s.cause.CompareAndSwap(nil, &reason)
	s.end()
	_ = s.wire.Close()
}

// send is an outlet's.
func (s *socket) send(f *frame) {
	b := f.text()
	if s.wire.deflates {
		b = f.compressed(&s.server.deflaters)
	}
	s.begin(b, len(f.data()))
}

// begin writes what the kernel takes at once, and has the rest written. The turn is
// taken, and is given back when all is written.
func (s *socket) begin(b []byte, message int) {
	if s.raw == nil {
		go s.finish(b, message)
		return
	}
	n, err := s.server.attempts.attempt(s.raw, b)
	switch {
	case err != nil:
		s.wrote(err, 0)
	case n < len(b):
		go s.finish(b[n:], message)
	default:
		s.wrote(nil, message)
	}
}

// finish writes as long as the client takes, at most the write timeout.
func (s *socket) finish(b []byte, message int) {
	s.wrote(s.write(b, s.server.options.WriteTimeout), message)
}

// write waits until all is written. The turn is taken.
func (s *socket) write(b []byte, timeout time.Duration) error {
	conn := s.wire.Conn
	if err := conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := conn.Write(b); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{}) // an attempt fails on one that is over
}

// wrote gives the turn back.
func (s *socket) wrote(err error, message int) {
	if err = s.meter.wrote(err); err != nil {
		s.fail(err)
	} else if message > 0 {
		s.meter.sent(message)
	}
	s.give()
}

// say sends messages, one after the other, when what is being written is written,
// unless still says then that they are no longer wanted. It may wait for the client.
func (s *socket) say(still func() bool, frames ...*frame) {
	for _, f := range frames {
		if !s.wait() {
			return
		}
		if !still() {
			s.give()
			return
		}
		s.finish(f.text(), len(f.data()))
	}
}

func always() bool { return true }

// control writes a control message between two others. It may wait for the client.
func (s *socket) control(b []byte) error {
	if !s.wait() {
		return net.ErrClosed
	}
	err := s.write(b, s.server.options.WriteTimeout)
	s.wrote(err, 0)
	return err
}

// sayAlive sends a sign of life, unless a message is being written, which is one, and
// looks whether the client gives any.
func (s *socket) sayAlive() {
	if !s.meter.lives(s.raw, s.server.options.PingInterval) {
		s.fail(errGone)
		return
	}
	if s.try() {
		s.begin(s.beats, 0)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.beat.Reset(s.server.options.PingInterval)
	}
}

// read hands the client's messages over until it leaves, breaks a rule or falls
// silent. When the conversation has ended it goes on for a moment, so that the
// client's answer to the close message is not met by a reset.
func (s *socket) read(ctx context.Context, c conversation) error {
	alive := func() { _ = s.conn.SetReadDeadline(time.Now().Add(s.server.options.PeerTimeout)) }
	s.conn.SetReadLimit(s.server.options.MessageLimit)
	s.conn.SetPongHandler(func(string) error { alive(); return s.mayTalk() })
	s.conn.SetPingHandler(func(data string) error {
		alive()
		if err := s.mayTalk(); err != nil {
			return err
		}
		_ = s.control(controlFrame(websocket.PongMessage, []byte(data)))
		return nil
	})
	s.conn.SetCloseHandler(func(code int, _ string) error {
		if !s.leaves.Swap(true) {
			_ = s.control(controlFrame(websocket.CloseMessage, websocket.FormatCloseMessage(code, "")))
		}
		return nil
	})
	for {
		alive()
		err := s.hear(ctx, c)
		if err == nil {
			continue
		}
		var refused *refusal
		var broken *websocket.CloseError
		switch {
		case errors.As(err, &refused):
			s.takeLeave(err)
		case errors.As(err, &broken) && !s.leaves.Load():
			s.close(err, broken.Code, broken.Text)
		case errors.As(err, &broken), isNet(err):
			return err
		case errors.Is(err, websocket.ErrReadLimit):
			s.server.instruments.limited.WithLabelValues(limitMessageBytes).Inc()
			s.leaves.Store(true) // gorilla has told the client
		default: // gorilla has told the client
			s.leaves.Store(true)
		}
		s.linger()
		return err
	}
}

// linger lets the client read what it was told last: a connection that is closed
// while there is something to be read from it is reset. It ends when the client
// does, or when its time is over.
func (s *socket) linger() {
	_ = s.wire.SetReadDeadline(time.Now().Add(s.server.closeTimeout()))
	_, _ = io.Copy(io.Discard, s.wire)
}

// isNet says whether an error is one of the network, not of what came over it.
func isNet(err error) bool {
	var failed net.Error
	return errors.As(err, &failed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// hear reads one message and hands it over.
func (s *socket) hear(ctx context.Context, c conversation) error {
	kind, reader, err := s.conn.NextReader()
	if err != nil {
		return err
	}
	if kind != websocket.TextMessage {
		return &websocket.CloseError{Code: websocket.CloseUnsupportedData, Text: "want text messages"}
	}
	// gorilla's limit is for what comes over the wire, which may be compressed.
	limit := s.server.options.MessageLimit
	data, err := io.ReadAll(io.LimitReader(reader, limit+1))
	switch {
	case err != nil:
		return err
	case int64(len(data)) > limit:
		s.server.instruments.limited.WithLabelValues(limitMessageBytes).Inc()
		return &websocket.CloseError{Code: websocket.CloseMessageTooBig}
	case !utf8.Valid(data): // gorilla does not look
		return &websocket.CloseError{Code: websocket.CloseInvalidFramePayloadData, Text: "text is not UTF-8"}
	}
	if s.leaves.Load() {
		return nil
	}
	if err := s.mayTalk(); err != nil {
		return err
	}
	return c.hear(ctx, data)
}

// mayTalk refuses a client that says too much, pings and pongs included.
func (s *socket) mayTalk() error {
	if s.rate.Allow() {
		return nil
	}
	s.server.instruments.limited.WithLabelValues(limitMessageRate).Inc()
	return tooMany("more than %g messages a second", s.server.options.MessageRate)
}

// takeLeave tells the client why its stream ends, where it can still be told.
func (s *socket) takeLeave(cause error) {
	var refused *refusal
	switch {
	case errors.As(cause, &refused):
		s.close(cause, websocket.ClosePolicyViolation, refused.Reason, refused.frame())
	case errors.Is(cause, errDraining):
		s.close(cause, websocket.CloseGoingAway, s.server.goingAway())
	default:
		s.fail(cause)
	}
}

// close says something and then that the connection ends, for which there is a
// moment; then it is cut.
func (s *socket) close(cause error, code int, reason string, frames ...*frame) {
	if s.leaves.Swap(true) {
		return
	}
	s.cause.CompareAndSwap(nil, &cause)
	time.AfterFunc(s.server.closeTimeout(), func() { s.fail(cause) })
	s.say(always, frames...)
	_ = s.control(controlFrame(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason)))
}
