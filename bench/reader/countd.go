package reader

import (
	"context"
	"log/slog"
	"os"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/pkg/cluster"
	"github.com/countd/countd/pkg/counts"
)

// countd is countd's counting half.
type countd struct {
	tallied
	watcher *cluster.Watcher
}

func newCountd(config *rest.Config) (*countd, error) {
	counter, err := counts.New(counts.Options{})
	if err != nil {
		return nil, err
	}
	watcher, err := cluster.New(cluster.Options{
		Config:  config,
		Counter: counter,
		Log:     slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	return &countd{tallied: tallied{counter: counter}, watcher: watcher}, err
}

// Run counts until ctx ends.
func (c *countd) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.counter.Run(ctx) })
	group.Go(func() error { return c.watcher.Run(ctx) })
	return group.Wait()
}

// Listed says whether the watcher has settled.
func (c *countd) Listed() bool {
	select {
	case <-c.watcher.Settled():
		return true
	default:
		return false
	}
}

// Holds says whether the counts are those of a moment.
func (c *countd) Holds(m apiserver.Moment) bool { return c.Listed() && c.tallied.Holds(m) }

// tallied is what a counter has counted.
type tallied struct {
	counter *counts.Counter
	before  uint64 // events of the moments before
}

// Holds says whether all events of a moment are folded and the counts are right.
func (t *tallied) Holds(m apiserver.Moment) bool {
	s := t.counter.Stats()
	holds := s.Events >= t.before+uint64(m.Events) && s.Waiting == 0 && t.Objects() == m.Objects
	if holds {
		t.before = s.Events
	}
	return holds
}

// Objects is the sum of all counts.
func (t *tallied) Objects() (n int) {
	for r := range t.counter.Snapshot().Resources() {
		n += r.Total().Count()
	}
	return n
}
