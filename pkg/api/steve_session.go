package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/countd/countd/pkg/counts"
)

// steveCooling is the least time between two errors that end the same
// subscription. The dashboard subscribes again at once after a resource.stop,
// and would otherwise spin. Only a subscription that can stand, and was ended
// once, stands again at once: the dashboard would be blind meanwhile.
const steveCooling = 10 * time.Second

// steveSession is the conversation of a stream in steve's family. It is owned by
// the goroutine that runs the stream.
type steveSession struct {
	stream  *stream
	options *Options
	ended   *prometheus.CounterVec
	// What was subscribed to, that which an error ended less than steveCooling
	// ago included, so that a client cannot make it grow beyond its bound.
	subscriptions map[subscription]*steveSubscription
}

func (s *Server) newSteveSession() *steveSession {
	return &steveSession{
		options:       &s.options,
		ended:         s.instruments.ended,
		subscriptions: make(map[subscription]*steveSubscription),
	}
}

func (s *steveSession) open(_ context.Context, stream *stream) { s.stream = stream }

// beat returns steve's own ping. The dashboard does not see the websocket's.
func (s *steveSession) beat() []frame {
	return []frame{echo{}.frame("ping", map[string]string{"version": s.options.Version})}
}

func (s *steveSession) hear(ctx context.Context, message []byte) ([]frame, error) {
	ask, err := parseSteveAsk(message)
	switch {
	case err != nil:
		return []frame{ask.failure(err.Error())}, nil
	case ask.stop:
		return s.stop(ask), nil
	default:
		return s.start(ctx, ask), nil
	}
}

func (s *steveSession) stop(ask steveAsk) (frames []frame) {
	for key, sub := range s.subscriptions {
		if sub.over() || !ask.stops(key) {
			continue
		}
		frames = append(frames, sub.frame(resourceStop, nil))
		sub.cancel()
		sub.end("")
		delete(s.subscriptions, key)
	}
	return frames
}

// start subscribes. One that stands already stays as it is, and one that was
// ended by an error a moment ago has to wait. Whether it may stand at all is
// found out when its time has come.
func (s *steveSession) start(ctx context.Context, ask steveAsk) []frame {
	for key, sub := range s.subscriptions {
		if sub.over() && time.Since(sub.endedAt) >= steveCooling {
			delete(s.subscriptions, key)
		}
	}
	last, cooling := s.subscriptions[ask.subscription]
	if cooling && !last.over() {
		return nil
	}
	if !cooling && len(s.subscriptions) >= s.options.MaxSubscriptions {
		// No stop after it, or the client would ask again at once.
		return []frame{ask.failure(fmt.Sprintf("too many subscriptions, at most %d a connection", s.options.MaxSubscriptions))}
	}
	sub := newSteveSubscription(ask, s.ended)
	if cooling {
		sub.failures = last.failures
	}
	begin := s.settled
	switch {
	case cooling && (sub.fault != "" || sub.failures > 1):
		begin = until(last.endedAt.Add(steveCooling))
	case sub.fault != "":
		begin = atOnce
	default:
		sub.told = true
	}
	interval := s.options.Debounce
	if ask.debounce > 0 { // the dashboard would not understand a refusal
		interval = min(max(ask.debounce, s.options.MinDebounce), s.options.MaxDebounce)
	}
	s.subscriptions[ask.subscription] = sub
	sub.cancel = s.stream.follow(ctx, sub, interval, begin)
	if !sub.told {
		return nil
	}
	// At once, even while counts are gathered and the first change has to wait: a
	// dashboard whose connection breaks asks again only for what was started.
	return []frame{sub.frame(resourceStart, nil)}
}

// settled waits until the counts are complete: the dashboard would show kinds
// that are still being counted as empty. One kind that hangs must not keep all
// others from it, so it does not wait for ever.
func (s *steveSession) settled(ctx context.Context) error {
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

// steveSubscription is one subscription, with its cursor. It is owned by the
// goroutine that runs the stream.
type steveSubscription struct {
	echo
	selector counts.Selector
	changes  bool   // mode resource.changes: only that there are changes
	fault    string // why it cannot stand
	ended    *prometheus.CounterVec
	cancel   func()

	told     bool   // the client was told that it stands
	started  bool   // it was told all there is
	since    uint64 // the client knows what there was at this seq
	failures int    // errors that ended it, none longer than steveCooling after the last
	endedAt  time.Time
}

func newSteveSubscription(ask steveAsk, ended *prometheus.CounterVec) *steveSubscription {
	sub := &steveSubscription{echo: ask.echo, changes: ask.mode == resourceChanges, ended: ended}
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

// end ends the subscription, with a reason where it was not the client's wish.
func (s *steveSubscription) end(reason string) {
	s.endedAt = time.Now()
	if reason != "" {
		s.ended.WithLabelValues(reason).Inc()
	}
}

// fail ends the subscription with an error that the client is told.
func (s *steveSubscription) fail(reason, text string) []frame {
	s.cancel()
	s.end(reason)
	s.failures++
	return []frame{s.failure(text), s.frame(resourceStop, nil)}
}

// update returns a whole change first, and then changes of the kinds that changed,
// each as a whole. The first has the kinds that are gone too, as far as they are
// remembered: the client may know them from before, and never forgets one.
func (s *steveSubscription) update(now *counts.Snapshot) (frames []frame) {
	switch {
	case s.over(): // its last signal crossed its end
		return nil
	case s.fault != "":
		return s.fail("not-found", s.fault)
	case s.started && !now.Reaches(now.Epoch(), s.since):
		return s.fail("too-old", "too old: more has changed than is remembered")
	}
	if !s.told {
		s.told = true
		frames = append(frames, s.frame(resourceStart, nil))
	}
	count := changedSince(now.Select(s.selector), s.since)
	if len(count.Counts) > 0 || !s.started {
		frames = append(frames, s.change(count))
	}
	s.started, s.since = true, now.Seq()
	return frames
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

func (s *steveSubscription) change(count steveCount) frame {
	if s.changes {
		return s.frame(resourceChanges, nil)
	}
	return s.frame(resourceChange, count)
}

// serveSubscribe answers GET /v1/subscribe. Its query, in which the dashboard
// numbers its sockets, is ignored.
func (s *Server) serveSubscribe(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) {
		s.refuse(w, badRequest("%s is a websocket", r.URL.Path))
		return
	}
	s.serveSocket(w, r, familySteve, &s.steveUpgrader, func(ctx context.Context, stream *stream, messages <-chan []byte) error {
		return stream.run(ctx, s.newSteveSession(), messages)
	})
}
