package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/countd/countd/pkg/counts"
)

// steveCooling is the least time between two errors that end the same
// subscription. The dashboard subscribes again at once after a resource.stop,
// and would otherwise spin. Only a subscription that can stand, and was ended
// once, stands again at once: the dashboard would be blind meanwhile.
const steveCooling = 10 * time.Second

// steveSession is the conversation on a websocket in steve's family.
type steveSession struct {
	server  *Server
	socket  *socket
	worker  bool           // the client is the dashboard's worker, see steve.worker
	waiting sync.WaitGroup // goroutines of subscriptions that do not stand yet, or no longer

	mu sync.Mutex
	// What was subscribed to, that which an error ended less than steveCooling
	// ago included, so that a client cannot make it grow beyond its bound.
	subscriptions map[subscription]*steveSubscription
	closed        bool
}

func (s *Server) newSteveSession(socket *socket) *steveSession {
	return &steveSession{server: s, socket: socket, subscriptions: make(map[subscription]*steveSubscription)}
}

func (s *steveSession) open(context.Context) {}

func (s *steveSession) close() {
	s.mu.Lock()
	s.closed = true
	var leaves []func()
	for _, sub := range s.subscriptions {
		leaves = append(leaves, sub.end(time.Now()))
	}
	s.mu.Unlock()
	for _, leave := range leaves {
		leave()
	}
	s.waiting.Wait()
}

func (s *steveSession) hear(ctx context.Context, message []byte) error {
	ask, err := parseSteveAsk(message)
	switch {
	case err != nil:
		s.socket.say(always, ask.failure(err.Error()))
	case ask.stop:
		s.stop(ask)
	default:
		s.start(ctx, ask)
	}
	return nil
}

func (s *steveSession) stop(ask steveAsk) {
	var stopped []*frame
	var leaves []func()
	s.mu.Lock()
	for key, sub := range s.subscriptions {
		if sub.over() || !ask.stops(key) {
			continue
		}
		leaves = append(leaves, sub.end(time.Now()))
		stopped = append(stopped, sub.frame(resourceStop, nil))
		delete(s.subscriptions, key)
	}
	s.mu.Unlock()
	for _, leave := range leaves { // before it is said: no change follows
		leave()
	}
	s.socket.say(always, stopped...)
}

// start subscribes. One that stands already stays as it is, and one that was
// ended by an error a moment ago has to wait. Whether it may stand at all is
// found out when its time has come.
func (s *steveSession) start(ctx context.Context, ask steveAsk) {
	sub, begin, refused := s.admit(ask)
	switch {
	case refused != nil:
		s.socket.say(always, refused)
		return
	case sub == nil:
		return
	case sub.told:
		// At once, even while counts are gathered and the first change has to
		// wait: a dashboard whose connection breaks asks again only for what was
		// started.
		s.socket.say(always, sub.frame(resourceStart, nil))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if begin == nil {
		s.join(ctx, sub)
		return
	}
	ctx, sub.cancel = context.WithCancel(ctx)
	s.waiting.Go(func() {
		if begin(ctx) == nil {
			s.stand(ctx, sub)
		}
	})
}

// admit takes a subscription in, unless it stands already or is one too many. It
// returns what has to be waited for before it stands.
func (s *steveSession) admit(ask steveAsk) (sub *steveSubscription, begin func(context.Context) error, refused *frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, sub := range s.subscriptions {
		if sub.over() && time.Since(sub.endedAt) >= steveCooling {
			delete(s.subscriptions, key)
		}
	}
	last, cooling := s.subscriptions[ask.subscription]
	limit := s.server.options.MaxSubscriptions
	switch {
	case cooling && !last.over():
		return nil, nil, nil
	case !cooling && len(s.subscriptions) >= limit:
		s.server.instruments.limited.WithLabelValues(limitSubscriptions).Inc()
		// No stop after it, or the client would ask again at once.
		return nil, nil, ask.failure(fmt.Sprintf("too many subscriptions, at most %d a connection", limit))
	}
	sub = newSteveSubscription(ask, s.interval(ask.debounce))
	if cooling {
		sub.failures = last.failures
	}
	switch {
	case cooling && (sub.fault != "" || sub.failures > 1):
		begin = until(last.endedAt.Add(steveCooling))
	case sub.fault != "":
		begin = atOnce
	default:
		sub.told = true
		if !s.server.settled() {
			begin = s.server.awaitSettled
		}
	}
	s.subscriptions[ask.subscription] = sub
	return sub, begin, nil
}

// interval keeps what is asked for within the limits: the dashboard would not
// understand a refusal.
func (s *steveSession) interval(asked time.Duration) time.Duration {
	o := &s.server.options
	if asked <= 0 {
		return o.Debounce
	}
	return min(max(asked, o.MinDebounce), o.MaxDebounce)
}

// stand begins a subscription that had to wait, or says why it cannot stand.
func (s *steveSession) stand(ctx context.Context, sub *steveSubscription) {
	if sub.fault != "" {
		s.fail(sub, "not-found", sub.fault)
		return
	}
	if !sub.told {
		s.socket.say(func() bool { return !s.isOver(sub) }, sub.frame(resourceStart, nil))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.join(ctx, sub)
}

func (s *steveSession) isOver(sub *steveSubscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sub.over()
}

// join makes the subscription a member of its view. The mutex is held.
func (s *steveSession) join(ctx context.Context, sub *steveSubscription) {
	if s.closed || sub.over() {
		return
	}
	m := &member{outlet: s.socket, lost: func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed { // the view must not wait for the client
			s.waiting.Go(func() { s.fail(sub, "too-old", "too old: more has changed than is remembered") })
		}
	}}
	d := steve{sub.echo, sub.changes, s.worker}
	sub.leave = s.server.views.join(ctx, newViewKey(familySteve, sub.selector, sub.interval, d.key()), sub.selector, d, m)
}

// fail ends the subscription with an error that the client is told.
func (s *steveSession) fail(sub *steveSubscription, reason, text string) {
	s.mu.Lock()
	if sub.over() {
		s.mu.Unlock()
		return
	}
	leave := sub.end(time.Now())
	sub.failures++
	s.mu.Unlock()
	leave()
	s.server.instruments.ended.WithLabelValues(reason).Inc()
	s.socket.say(always, sub.failure(text), sub.frame(resourceStop, nil))
}

// awaitSettled waits until the counts are complete: the dashboard would show kinds
// that are still being counted as empty. One kind that hangs must not keep all
// others from it, so it does not wait for ever.
func (s *Server) awaitSettled(ctx context.Context) error {
	timer := time.NewTimer(s.options.StartTimeout)
	defer timer.Stop()
	select {
	case <-s.options.Settled:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func until(t time.Time) func(context.Context) error {
	return func(ctx context.Context) error {
		timer := time.NewTimer(time.Until(t))
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// atOnce waits for nothing.
func atOnce(context.Context) error { return nil }

// steveSubscription is one subscription. It is guarded by the session's mutex.
type steveSubscription struct {
	echo
	selector counts.Selector
	interval time.Duration
	changes  bool   // mode resource.changes: only that there are changes
	fault    string // why it cannot stand
	told     bool   // the client is told that it stands before it has to wait

	cancel   func() // of what it waits for
	leave    func() // its view; nil where it is in none
	failures int    // errors that ended it, none longer than steveCooling after the last
	endedAt  time.Time
}

func newSteveSubscription(ask steveAsk, interval time.Duration) *steveSubscription {
	sub := &steveSubscription{echo: ask.echo, interval: interval, changes: ask.mode == resourceChanges}
	if ask.namespace != "" {
		sub.selector.Namespaces = []string{ask.namespace}
	}
	switch {
	case ask.resourceType != countType:
		sub.fault = fmt.Sprintf("failed to find schema %.80q", ask.resourceType)
	case ask.id != "" && ask.id != countType:
		sub.fault = fmt.Sprintf("%s %.80q not found", countType, ask.id)
	}
	return sub
}

// over says that the subscription has ended.
func (s *steveSubscription) over() bool { return !s.endedAt.IsZero() }

// end ends the subscription and returns what takes it out of its view, which is to
// be called without the mutex.
func (s *steveSubscription) end(now time.Time) (leave func()) {
	s.endedAt = now
	if s.cancel != nil {
		s.cancel()
	}
	leave, s.leave = s.leave, nil
	if leave == nil {
		return func() {}
	}
	return leave
}

// steve is the dialect of steve's family: a whole change first, and then changes of
// the kinds that changed, each as a whole. The first has the kinds that are gone
// too, as far as they are remembered: the client may know them from before, and
// never forgets one.
type steve struct {
	echo
	changes bool // mode resource.changes
	// The dashboard's worker takes changes in every five seconds, and of all that
	// came meanwhile only the last: so each has all kinds, as the first has.
	worker bool
}

func (s steve) key() string {
	if s.worker {
		return s.echo.key() + ",worker"
	}
	return s.echo.key()
}

func (s steve) whole(part *counts.Snapshot) *frame {
	if s.changes {
		return s.frame(resourceChanges, nil)
	}
	return s.frame(resourceChange, changedSince(part, 0))
}

func (s steve) change(part *counts.Snapshot, _, since uint64) (*frame, bool) {
	if s.changes {
		for range part.Changed(since, counts.Steve) {
			return s.frame(resourceChanges, nil), true
		}
		return nil, false
	}
	count := changedSince(part, since)
	if len(count.Counts) == 0 {
		return nil, false
	}
	if s.worker {
		count = changedSince(part, 0)
	}
	return s.frame(resourceChange, count), true
}

// changedSince are the counts of the kinds that changed, whole. Two resources may
// be of one kind, for instance while one takes the other's place: that one is gone
// says nothing of a kind that another still serves.
func changedSince(part *counts.Snapshot, since uint64) steveCount {
	count, gone := newSteveCount(), false
	for c := range part.Changed(since, counts.Steve) {
		count.add(c)
		gone = gone || c.Gone()
	}
	if gone {
		for c := range part.Resources() {
			if _, told := count.Counts[c.Resource().SchemaID()]; told {
				count.add(c)
			}
		}
	}
	return count
}

// workerSockets is where the numbers begin that the dashboard's worker gives to its
// sockets, the time in milliseconds. Its pages count theirs from one.
const workerSockets = 1_000_000_000_000

// serveSubscribe answers GET /v1/subscribe. Its query, in which the dashboard
// numbers its sockets, tells who asks.
func (s *Server) serveSubscribe(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) {
		s.refuse(w, badRequest("%s is a websocket", r.URL.Path))
		return
	}
	s.serveSocket(w, r, familySteve, &s.steveUpgrader, func(socket *socket) conversation {
		session := s.newSteveSession(socket)
		number, err := strconv.ParseInt(r.URL.Query().Get("sockId"), 10, 64)
		session.worker = err == nil && number >= workerSockets
		return session
	})
}
