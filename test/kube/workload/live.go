package workload

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// settle is how long a new Pod is creating, an old one terminating, and a Job
// running.
const settle = 3 * time.Second

// Live changes the cluster at the rate until ctx ends, which is no error. What
// others change is left alone: an object that is gone or new is passed by.
func (w *Workload) Live(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.runaway(groupCtx) })
	group.Go(func() error { return w.churn(groupCtx) })
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return nil // a request that ctx cut off is not worth an error
}

// churn makes one change a tick, and those that follow from earlier ones.
func (w *Workload) churn(ctx context.Context) error {
	interval := time.Duration(float64(time.Second) / w.options.Rate)
	c := &churner{
		writer: w.writer,
		source: newSource(w.options.Seed, uint64(len(w.plans))+1),
		plans:  w.plans,
		settle: max(1, int(settle/interval)),
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := c.step(ctx); err != nil {
			return fmt.Errorf("changing the workload: %w", err)
		}
	}
}

// churner is owned by the goroutine that steps it. It decides by what it made,
// not by what it reads, so that a seed always gives the same changes.
type churner struct {
	writer writer
	source source
	plans  []plan
	settle int // ticks
	tick   int
	named  int // names given out
	later  []followUp

	lastPreview plan
}

// followUp is a change that ends an earlier one, at its tick.
type followUp struct {
	tick int
	do   func(context.Context) error
}

func (c *churner) step(ctx context.Context) error {
	c.tick++
	for len(c.later) > 0 && c.later[0].tick <= c.tick {
		do := c.later[0].do
		c.later = c.later[1:]
		if err := ignoreOthers(do(ctx)); err != nil {
			return err
		}
	}
	return ignoreOthers(c.change(ctx))
}

// after keeps followUps in order of their ticks, for all wait equally long.
func (c *churner) after(do func(context.Context) error) {
	c.later = append(c.later, followUp{tick: c.tick + c.settle, do: do})
}

func (c *churner) name(kind string) string {
	c.named++
	return fmt.Sprintf("%s-live-%d", kind, c.named)
}

// ignoreOthers passes by what comes of other people's changes.
func ignoreOthers(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
