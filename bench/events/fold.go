package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/pkg/counts"
)

const (
	// tick is how many events make part of one snapshot.
	tick = 100
	// Kinds and namespaces of the small cluster.
	smallKinds, smallNamespaces = 100, 100
)

// folded is what an event takes of the core.
type folded struct {
	One, Many cost // of one kind a tick, of a hundred
	Small     cost // of a hundred, in the small cluster
}

type cost struct {
	Microseconds float64
	// Uncollected is without the garbage collector, which is off meanwhile.
	Uncollected float64
	Bytes       float64 // allocated
	// Snapshots that were published for each tick: 1.
	Snapshots float64
}

// fold measures pkg/counts.
func (o options) fold(ctx context.Context) (f folded, err error) {
	o.setGC()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if f.Small, _, err = o.foldIn(ctx, min(smallKinds, o.kinds), min(smallNamespaces, o.folded)); err != nil {
		return f, err
	}
	f.Many, f.One, err = o.foldIn(ctx, o.kinds, o.folded)
	return f, err
}

// foldIn measures in one cluster: events of many kinds, and of one.
func (o options) foldIn(ctx context.Context, kinds, namespaces int) (many, one cost, err error) {
	ctx, stop := context.WithCancel(ctx)
	counter, err := counts.New(counts.Options{})
	if err != nil {
		stop()
		return many, one, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = counter.Run(ctx) // it ends with the context, as it should
	}()
	defer func() {
		stop()
		<-ended
	}()
	c := &cluster{counter: counter}
	for n := range namespaces {
		c.namespaces = append(c.namespaces, fmt.Sprintf("namespace-%04d", n))
	}
	for k := range kinds {
		if err := c.add(ctx, counts.Resource{Group: "example.com", Version: "v1", Name: fmt.Sprintf("kind%03ds", k), Kind: "Kind", Namespaced: true}); err != nil {
			return many, one, err
		}
	}
	if many, err = o.costOf(ctx, c, min(tick, kinds)); err != nil {
		return many, one, err
	}
	one, err = o.costOf(ctx, c, 1)
	return many, one, err
}

// costOf is the median of runs with events of so many kinds.
func (o options) costOf(ctx context.Context, c *cluster, kinds int) (cost, error) {
	var times, uncollected, sizes []float64
	ticks := o.events / tick
	snapshots := c.counter.Stats().Snapshots
	for range o.runs {
		took, allocated, err := c.run(ctx, ticks, kinds)
		if err != nil {
			return cost{}, err
		}
		times, sizes = append(times, took), append(sizes, allocated)
		percent := debug.SetGCPercent(-1)
		took, _, err = c.run(ctx, ticks, kinds)
		debug.SetGCPercent(percent)
		if err != nil {
			return cost{}, err
		}
		uncollected = append(uncollected, took)
	}
	snapshots = c.counter.Stats().Snapshots - snapshots
	return cost{median(times), median(uncollected), median(sizes), float64(snapshots) / float64(2*ticks*o.runs)}, nil
}

// cluster has an object of each kind in each namespace.
type cluster struct {
	counter    *counts.Counter
	sources    []*counts.Source
	namespaces []string
	done       int // events
}

func (c *cluster) add(ctx context.Context, r counts.Resource) error {
	source, err := c.counter.Source(ctx, r)
	if err != nil {
		return err
	}
	c.sources = append(c.sources, source)
	for _, namespace := range c.namespaces {
		if err := source.Put(ctx, counts.Object{Namespace: namespace, Name: "x", State: counts.State{Word: "running"}}); err != nil {
			return err
		}
	}
	return source.End(ctx)
}

// run returns the microseconds and bytes that an event takes.
func (c *cluster) run(ctx context.Context, ticks, kinds int) (took, allocated float64, err error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := process.CPUTime()
	for range ticks {
		if err := c.change(ctx, kinds); err != nil {
			return 0, 0, err
		}
	}
	took = micros(process.CPUTime()-began, ticks*tick)
	runtime.ReadMemStats(&after)
	return took, float64(after.TotalAlloc-before.TotalAlloc) / float64(ticks*tick), nil
}

// change is one tick: so many objects of the first kinds in turn get another state.
func (c *cluster) change(ctx context.Context, kinds int) error {
	for range tick {
		n := c.done / kinds // of its kind
		state := counts.State{Word: "failed", Error: true}
		if n/len(c.namespaces)%2 == 1 {
			state = counts.State{Word: "running"}
		}
		object := counts.Object{Namespace: c.namespaces[n%len(c.namespaces)], Name: "x", State: state}
		if err := c.sources[c.done%kinds].Put(ctx, object); err != nil {
			return err
		}
		c.done++
	}
	return c.sources[0].Sync(ctx)
}
