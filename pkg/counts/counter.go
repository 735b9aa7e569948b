package counts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

var (
	// ErrStopped is returned to a Source whose Counter no longer runs.
	ErrStopped = errors.New("counter has stopped")
	// ErrTaken is returned to who opens a second Source for a resource.
	ErrTaken = errors.New("the resource has a source already")
)

// Options are the settings of a Counter. The zero value is ready to use.
type Options struct {
	// Epoch names this run of the counter to readers. Default: eight random
	// letters and digits. Set it only where a test needs to know it.
	Epoch string
	// Remember is how many removals (of namespaces from a resource, and of
	// resources) a snapshot still tells readers who are behind. Some 200 bytes
	// each; who is further behind gets a whole snapshot. Default: 32,768.
	Remember int
}

const (
	defaultRemember = 32_768
	// queued events keep the tally busy while sources decode, and bounded: a
	// source that is faster than the tally waits for it.
	queued = 1024
)

// Counter counts. It is safe for concurrent use.
type Counter struct {
	events  chan event
	stopped chan struct{}
	hasher  hasher
	tally   *tally // owned by Run
	latest  atomic.Pointer[Snapshot]
	stats   stats

	mu     sync.Mutex
	open   map[string]uint32 // the id of the source that a resource has, by key
	lastID uint32
}

// New returns a counter that counts once [Counter.Run] is called.
func New(o Options) (*Counter, error) {
	if o.Remember < 0 {
		return nil, fmt.Errorf("counts: Options.Remember is %d, must not be negative", o.Remember)
	}
	if o.Remember == 0 {
		o.Remember = defaultRemember
	}
	if o.Epoch == "" {
		o.Epoch = strings.ToLower(rand.Text()[:8])
	}
	c := &Counter{
		events:  make(chan event, queued),
		stopped: make(chan struct{}),
		hasher:  newHasher(),
		tally:   newTally(o.Epoch, o.Remember),
		open:    make(map[string]uint32),
	}
	c.latest.Store(c.tally.snapshot())
	return c, nil
}

// Snapshot returns the newest snapshot. It never blocks.
func (c *Counter) Snapshot() *Snapshot { return c.latest.Load() }

// Latest returns the newest snapshot and a channel that is closed as soon as
// there is a newer one. It never blocks.
func (c *Counter) Latest() (*Snapshot, <-chan struct{}) {
	s := c.latest.Load()
	return s, s.newer
}

// Run folds what the sources say until ctx ends, and returns the cause. It must
// be called once.
func (c *Counter) Run(ctx context.Context) error {
	defer close(c.stopped)
	var done []chan struct{}
	for {
		select {
		case e := <-c.events:
			done = c.fold(e, done)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		// Whatever else has come in meanwhile makes part of the same snapshot.
		for waiting := len(c.events); waiting > 0; waiting-- {
			done = c.fold(<-c.events, done)
		}
		c.publish()
		for _, d := range done {
			close(d)
		}
		clear(done)
		done = done[:0]
	}
}

func (c *Counter) fold(e event, done []chan struct{}) []chan struct{} {
	if e.op.withholds() {
		c.publish() // what was said before must not wait for the round's end
	}
	c.tally.apply(e)
	c.stats.events.Add(1)
	if e.done != nil {
		done = append(done, e.done)
	}
	return done
}

func (c *Counter) publish() {
	if next := c.tally.publish(); next != nil {
		c.stats.snapshots.Add(1)
		close(c.latest.Swap(next).newer)
	}
}

// Stats are what a Counter has done since it was made.
type Stats struct {
	Events    uint64 // folded
	Snapshots uint64 // published
	Waiting   int    // events that are not folded yet
}

type stats struct{ events, snapshots atomic.Uint64 }

// Stats returns what the counter has done so far. It never blocks.
func (c *Counter) Stats() Stats {
	return Stats{
		Events:    c.stats.events.Load(),
		Snapshots: c.stats.snapshots.Load(),
		Waiting:   len(c.events),
	}
}
