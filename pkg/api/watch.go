package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/countd/countd/pkg/counts"
)

// subprotocol is the websocket subprotocol of countd's own family.
const subprotocol = "v1.countd"

// own is the dialect of countd's own family.
type own struct{}

func (own) whole(part *counts.Snapshot) *frame { return snapshotFrame(part) }

func (own) change(part *counts.Snapshot, from, since uint64) (*frame, bool) {
	return deltaFrame(part, from, since)
}

// watch makes a client a member of the view that it asks for. It is sent a difference
// where the newest snapshot reaches back to what it holds, even when that is empty,
// because that says that nothing was missed; and otherwise a whole snapshot.
func (s *Server) watch(ctx context.Context, q question, o outlet) (leave func()) {
	m := &member{outlet: o, epoch: q.epoch, held: q.since, same: q.since}
	return s.views.join(ctx, newViewKey(familyCountd, q.selector, q.interval, ""), q.selector, own{}, m)
}

// serveWatch answers GET /api/v1/watch over the transport that the client asks
// for.
func (s *Server) serveWatch(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	q, err := s.ofQuery(query, paramResources, paramNamespaces, paramDebounce, paramEpoch, paramSince)
	if err == nil {
		err = s.unknown(q.selector.Resources, true)
	}
	switch {
	case err != nil:
		s.refuse(w, err)
	case websocket.IsWebSocketUpgrade(r):
		s.serveSocket(w, r, familyCountd, &s.watchUpgrader, func(socket *socket) conversation {
			c := &watchConversation{server: s, socket: socket}
			if len(query) > 0 {
				c.question = &q
			}
			return c
		})
	case accepts(r.Header, "Accept", "text/event-stream"):
		s.serveEvents(w, r, q)
	default:
		s.serveLines(w, r, q)
	}
}

// watchConversation is a conversation in countd's own family: one question, in the
// query or in the first message, and no more. A client that does not say what it
// wants gets everything.
type watchConversation struct {
	server   *Server
	socket   *socket
	question *question // of the query; nil where it asks nothing
	timer    *time.Timer

	mu     sync.Mutex
	asked  bool
	closed bool
	leave  func()
}

func (c *watchConversation) open(ctx context.Context) {
	if c.question != nil {
		c.ask(ctx, *c.question)
		return
	}
	all := question{interval: c.server.options.Debounce}
	c.timer = time.AfterFunc(c.server.options.AskTimeout, func() { c.ask(ctx, all) })
}

// ask reports whether the question is the first.
func (c *watchConversation) ask(ctx context.Context, q question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked || c.closed {
		return false
	}
	c.asked, c.leave = true, c.server.watch(ctx, q, c.socket)
	return true
}

func (c *watchConversation) hear(ctx context.Context, message []byte) error {
	q, err := c.server.ofMessage(message)
	if err == nil {
		err = c.server.unknown(q.selector.Resources, true)
	}
	c.mu.Lock()
	asked := c.asked
	c.mu.Unlock()
	switch {
	case asked:
		return badRequest("a stream has one question, and it was asked already")
	case err != nil:
		return err
	case !c.ask(ctx, q):
		return badRequest("the question came after %s, when everything was sent", c.server.options.AskTimeout)
	}
	return nil
}

func (c *watchConversation) close() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.leave != nil {
		c.leave()
	}
}
