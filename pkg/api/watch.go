package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/countd/countd/pkg/counts"
)

// subprotocol is the websocket subprotocol of countd's own family.
const subprotocol = "v1.countd"

// watch is the one subscription of a stream in countd's own family. It is owned
// by the goroutine that runs the stream.
type watch struct {
	question question
	begun    bool // something was sent

	// The cursor: the client holds the state of held, which is also that of
	// every seq up to same. Differences are made from same, because the
	// snapshot may no longer reach back to held when nothing that the client
	// asked for has changed for long.
	epoch      string
	held, same uint64
}

func newWatch(q question) *watch {
	return &watch{question: q, epoch: q.epoch, held: q.since, same: q.since}
}

func (w *watch) open(ctx context.Context, s *stream) {
	s.follow(ctx, w, w.question.interval, atOnce)
}

func (w *watch) hear(context.Context, []byte) ([]frame, error) {
	return nil, badRequest("a stream has one question, and it was asked already")
}

func (w *watch) beat() []frame { return nil }

// update returns a difference where the snapshot reaches back to what the client
// holds, and otherwise a whole snapshot. A client that resumes gets a difference
// even when it is empty: it says that nothing was missed.
func (w *watch) update(now *counts.Snapshot) []frame {
	part := now.Select(w.question.selector)
	first := !w.begun
	w.begun = true
	if !now.Reaches(w.epoch, w.same) {
		w.epoch, w.held, w.same = now.Epoch(), now.Seq(), now.Seq()
		return []frame{snapshotFrame(part)}
	}
	f, changed := deltaFrame(part, w.held, w.same)
	w.same = now.Seq()
	if !changed && !first {
		return nil
	}
	w.held = now.Seq()
	return []frame{f}
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
		s.serveSocket(w, r, familyCountd, &s.watchUpgrader, func(ctx context.Context, stream *stream, messages <-chan []byte) error {
			if len(query) == 0 {
				if q, err = s.ask(ctx, messages); err != nil {
					return err
				}
			}
			return stream.run(ctx, newWatch(q), messages)
		})
	case accepts(r.Header, "Accept", "text/event-stream"):
		s.serveEvents(w, r, q)
	default:
		s.serveLines(w, r, q)
	}
}

// ask waits for a websocket's first message. A client that does not say what it
// wants gets everything.
func (s *Server) ask(ctx context.Context, messages <-chan []byte) (question, error) {
	timer := time.NewTimer(s.options.AskTimeout)
	defer timer.Stop()
	select {
	case m := <-messages:
		q, err := s.ofMessage(m)
		if err == nil {
			err = s.unknown(q.selector.Resources, true)
		}
		return q, err
	case <-timer.C:
		return question{interval: s.options.Debounce}, nil
	case <-ctx.Done():
		return question{}, context.Cause(ctx)
	}
}
