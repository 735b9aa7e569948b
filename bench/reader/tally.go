package reader

import (
	"context"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/pkg/counts"
)

// Tally is countd's core alone, told of objects and changes like those of an API
// server with the same options.
type Tally struct {
	tallied
	options apiserver.Options
	listed  chan struct{}
	relist  chan apiserver.Moment
}

// NewTally returns a reader that reads from nowhere.
func NewTally(o apiserver.Options) (*Tally, error) {
	counter, err := counts.New(counts.Options{})
	return &Tally{tallied: tallied{counter: counter}, options: o, listed: make(chan struct{}), relist: make(chan apiserver.Moment)}, err
}

// Run counts until ctx ends.
func (t *Tally) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return t.counter.Run(ctx) })
	group.Go(func() error { return t.feed(ctx) })
	return group.Wait()
}

// Listed says whether the first round has ended.
func (t *Tally) Listed() bool {
	select {
	case <-t.listed:
		return true
	default:
		return false
	}
}

// Moment is that after the changes.
func (t *Tally) Moment(context.Context) (apiserver.Moment, error) {
	return apiserver.Moment{Objects: t.options.Objects, Events: t.options.Objects + 3*t.options.Changes}, nil
}

// Expire has a round begin that lacks some objects.
func (t *Tally) Expire(ctx context.Context, gone int) (apiserver.Moment, error) {
	n := t.options.Objects - gone
	m := apiserver.Moment{Objects: n, Events: n}
	select {
	case t.relist <- m:
		return m, nil
	case <-ctx.Done():
		return m, context.Cause(ctx)
	}
}

func (t *Tally) feed(ctx context.Context) error {
	source, err := t.counter.Source(ctx, counts.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true})
	if err != nil {
		return err
	}
	if err := t.round(ctx, source, 0, t.options.Objects); err != nil {
		return err
	}
	close(t.listed)
	for i := range t.options.Changes {
		gone := t.object(i, 0)
		if err := source.Remove(ctx, gone.Namespace, gone.Name); err != nil {
			return err
		}
		if err := source.Put(ctx, t.object(t.options.Objects+i, 0)); err != nil {
			return err
		}
		if err := source.Put(ctx, t.object(t.options.Objects/2+i, 1)); err != nil {
			return err
		}
	}
	for {
		select {
		case m := <-t.relist:
			last := t.options.Objects + t.options.Changes
			if err := t.round(ctx, source, last-m.Objects, last); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// round tells of all objects with numbers from one to another, excluded.
func (t *Tally) round(ctx context.Context, source *counts.Source, from, to int) error {
	if err := source.Begin(ctx); err != nil {
		return err
	}
	for i := from; i < to; i++ {
		if err := source.Put(ctx, t.object(i, 0)); err != nil {
			return err
		}
	}
	return source.End(ctx)
}

func (t *Tally) object(number, change int) counts.Object {
	states := [...]counts.State{
		{Word: "running"}, {Word: "running"}, {Word: "running"}, {Word: "running"}, {Word: "running"}, {Word: "running"},
		{Word: "crashloopbackoff", Error: true}, {Word: "pending", Transitioning: true}, {Word: "succeeded"}, {Word: "unschedulable", Error: true},
	}
	return counts.Object{
		Namespace: "team-" + strconv.Itoa(number%t.options.Namespaces),
		Name:      fmt.Sprintf("app-%06d-6d4b75c5f-%06x", number/20, number),
		State:     states[(number/t.options.Namespaces+change)%len(states)],
	}
}
