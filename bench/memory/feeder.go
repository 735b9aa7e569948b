package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/pkg/cluster"
	"github.com/countd/countd/pkg/counts"
)

// feeder makes a counter count.
type feeder interface {
	// feed runs until ctx ends.
	feed(ctx context.Context, c *counts.Counter) error
}

// clusterFeeder reads from an API server, as countd does.
type clusterFeeder struct{ url string }

func (f clusterFeeder) feed(ctx context.Context, c *counts.Counter) error {
	watcher, err := cluster.New(cluster.Options{
		Config:  &rest.Config{Host: f.url},
		Counter: c,
		Log:     slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return watcher.Run(ctx)
}

// tallyFeeder tells the counter directly, with the states and the changes that
// the API server's objects have.
type tallyFeeder struct{ server apiserver.Options }

func (f tallyFeeder) feed(ctx context.Context, c *counts.Counter) error {
	source, err := c.Source(ctx, counts.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true})
	if err != nil {
		return err
	}
	if err := source.Begin(ctx); err != nil {
		return err
	}
	for i := range f.server.Objects {
		if err := source.Put(ctx, f.object(i, 0)); err != nil {
			return err
		}
	}
	if err := source.End(ctx); err != nil {
		return err
	}
	for i := range f.server.Changes {
		gone := f.object(i, 0)
		if err := source.Remove(ctx, gone.Namespace, gone.Name); err != nil {
			return err
		}
		if err := source.Put(ctx, f.object(f.server.Objects+i, 0)); err != nil {
			return err
		}
		if err := source.Put(ctx, f.object(f.server.Objects/2+i, 1)); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func (f tallyFeeder) object(number, change int) counts.Object {
	states := [...]counts.State{
		{Word: "running"}, {Word: "running"}, {Word: "running"}, {Word: "running"}, {Word: "running"}, {Word: "running"},
		{Word: "crashloopbackoff", Error: true}, {Word: "pending", Transitioning: true}, {Word: "succeeded"}, {Word: "unschedulable", Error: true},
	}
	return counts.Object{
		Namespace: "team-" + strconv.Itoa(number%f.server.Namespaces),
		Name:      fmt.Sprintf("app-%d-6d4b75c5f-%06x", number/20, number),
		State:     states[(number/f.server.Namespaces+change)%len(states)],
	}
}
