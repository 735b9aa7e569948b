package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/pkg/debounce"
)

// Why streams end, besides what transports and clients have to say.
var (
	errDraining = errors.New("the server shuts down")
	errSlow     = errors.New("the client accepted nothing for too long")
)

// transport carries messages to one client. Only the goroutine that runs its
// stream may call it. What it returns ends the stream.
type transport interface {
	// send writes one message. It fails when the client does not accept it
	// within the write timeout.
	send(frame) error
	// beat writes what shows that both sides are alive, where there is such a
	// thing.
	beat() error
}

// conversation is what is said on a stream: one of the two families. Only the
// goroutine that runs the stream may call it.
type conversation interface {
	// open is called once, before anything else.
	open(ctx context.Context, s *stream)
	// hear takes in what the client says and returns what to answer.
	hear(ctx context.Context, message []byte) ([]frame, error)
	// beat returns what the family itself sends as a sign of life.
	beat() []frame
}

// subscriber is what a client has asked for, with its cursor.
type subscriber interface {
	// update returns what brings the client from what it holds to now, and
	// nothing where it holds that already. Only the goroutine that runs the
	// stream may call it.
	update(now *counts.Snapshot) []frame
}

// stream is what is sent to one client. It is owned by the goroutine that calls
// run; followers only reach it through ready.
type stream struct {
	counter   *counts.Counter
	transport transport
	meter     *meter
	interval  time.Duration // between two beats

	ready     chan subscriber // unbuffered: there is no queue (R4)
	followers sync.WaitGroup
}

func (s *Server) stream(t transport, m *meter) *stream {
	return &stream{
		counter:   s.options.Counter,
		transport: t,
		meter:     m,
		interval:  s.options.PingInterval,
		ready:     make(chan subscriber),
	}
}

// run writes to the client until ctx ends, the client is gone or too slow, or
// the conversation is over, and returns which it was.
func (s *stream) run(ctx context.Context, c conversation, messages <-chan []byte) error {
	defer s.followers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beat := time.NewTicker(s.interval)
	defer beat.Stop()
	c.open(ctx, s)
	for {
		var frames []frame
		var end error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case sub := <-s.ready:
			frames = sub.update(s.counter.Snapshot())
			s.meter.flushed(len(frames) > 0)
		case m := <-messages:
			frames, end = c.hear(ctx, m)
		case <-beat.C:
			frames, end = c.beat(), s.wrote(s.transport.beat())
		}
		for _, f := range frames {
			if err := s.send(f); err != nil {
				return err
			}
		}
		if end != nil {
			return end
		}
	}
}

func (s *stream) send(f frame) error {
	if err := s.wrote(s.transport.send(f)); err != nil {
		return err
	}
	s.meter.sent(len(f.data))
	return nil
}

// wrote says why a write to the client failed, if it did.
func (s *stream) wrote(err error) error {
	var timeout net.Error // of the connection, or gorilla's own
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		s.meter.slow.Inc()
		return errSlow
	case err != nil:
		return fmt.Errorf("writing to the client: %w", err)
	default:
		return nil
	}
}

// follow makes the stream update a subscriber: first when begin returns, then
// whenever there is a newer snapshot, at most once an interval, until stop is
// called or ctx ends. The follower only waits. It holds no snapshot while it
// does, because one that is old is dear to keep and of no use.
func (s *stream) follow(ctx context.Context, sub subscriber, interval time.Duration, begin func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	s.meter.subscriptions.Inc()
	s.followers.Go(func() {
		defer s.meter.subscriptions.Dec()
		defer cancel()
		if begin(ctx) != nil {
			return // ctx has ended
		}
		newer := func() (struct{}, <-chan struct{}) {
			_, newer := s.counter.Latest()
			return struct{}{}, newer
		}
		// The only error is the end of ctx, which whoever ended it knows.
		_ = debounce.Run(ctx, interval, newer, func(struct{}) error {
			select {
			case s.ready <- sub:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	return cancel
}

// atOnce is the begin of a subscriber that waits for nothing.
func atOnce(context.Context) error { return nil }
