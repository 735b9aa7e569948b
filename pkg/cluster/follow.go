package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/countd/countd/pkg/counts"
)

// triggers are the resources whose changes change what discovery says.
var triggers = map[string]counts.Resource{
	"customresourcedefinitions.apiextensions.k8s.io": {Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions", Kind: "CustomResourceDefinition"},
	"apiservices.apiregistration.k8s.io":             {Group: "apiregistration.k8s.io", Version: "v1", Name: "apiservices", Kind: "APIService"},
}

// running is a resource that is being read.
type running struct {
	resource counts.Resource
	source   *counts.Source // nil for a trigger that is not counted
	report   *report
	stop     context.CancelFunc
	done     chan struct{}
}

// discover asks what there is to count and starts and stops feeds accordingly.
func (w *Watcher) discover(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	found, err := discover(asking, w.discovery, w.filter)
	if err != nil {
		return err
	}
	w.partial = len(found.failed) > 0
	for key, r := range w.running {
		if now, listed := found.countable[key]; listed && now.Namespaced == r.resource.Namespaced && now.Kind == r.resource.Kind {
			continue
		} else if !listed && w.stays(asking, r, found) {
			continue
		}
		if err := w.end(ctx, r); err != nil {
			return err
		}
	}
	fixed := found.excluded
	for _, r := range inOrder(found.countable) {
		err := w.begin(ctx, r)
		if errors.Is(err, counts.ErrTaken) {
			fixed[r.Key()] = counts.Status{Resource: r, Phase: counts.Excluded, Reason: "OtherSource", Message: "counted from another source"}
		} else if err != nil {
			return err
		}
	}
	for group, cause := range found.failed {
		fixed[counts.Resource{Group: group, Name: wholeGroup}.Key()] = undiscovered(group, cause)
	}
	w.board.set(fixed)
	for key, r := range triggers {
		if w.running[key] == nil {
			apart := newBoard(slog.New(slog.DiscardHandler)) // not counted, so not on the board
			if err := w.start(ctx, &running{resource: r, report: apart.report(r)}, uncounted{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// stays says whether a resource that discovery does not list is to be read on: one
// that is read for its events alone, one whose group could not be asked, and one
// that is counted and still served. While an API server starts, its discovery lacks the
// custom resources for a moment; taking it at its word is what makes counts go to
// 0 and come back (rancher/dashboard#16747).
func (w *Watcher) stays(ctx context.Context, r *running, found discovered) bool {
	key := r.resource.Key()
	if _, excluded := found.excluded[key]; excluded {
		return r.source == nil
	}
	if _, failed := found.failed[r.resource.Group]; failed {
		return true
	}
	return r.report.isCounted() && w.served(ctx, r.resource)
}

// served asks the resource's own path, and where that is forbidden, which it also is
// when there is no such resource, what its group and version have.
func (w *Watcher) served(ctx context.Context, r counts.Resource) bool {
	rd, err := w.clients.reader(r)
	if err != nil {
		return true // which says nothing of the resource
	}
	err = rd.probe(ctx)
	if !apierrors.IsForbidden(err) {
		return !apierrors.IsNotFound(err)
	}
	list, err := w.discovery.ServerResourcesForGroupVersionWithContext(ctx, schema.GroupVersion{Group: r.Group, Version: r.Version}.String())
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	return slices.ContainsFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Name == r.Name })
}

// begin sees to it that a resource is read, in the version that discovery says.
func (w *Watcher) begin(ctx context.Context, r counts.Resource) error {
	is := w.running[r.Key()]
	switch {
	case is == nil:
		source, err := w.counter.Source(ctx, r)
		if err != nil {
			return err
		}
		is = &running{source: source}
	case is.source == nil: // a trigger that could not be counted before
		source, err := w.counter.Source(ctx, r)
		if err != nil {
			return err
		}
		is.halt()
		is = &running{source: source}
	case is.resource.Version == r.Version:
		return nil
	default: // another version of the same objects: their count stays meanwhile
		is.halt()
		is.report.relisting(fmt.Errorf("it is now read as %s", r.Version))
		if err := is.source.Redefine(ctx, r); err != nil {
			return err
		}
	}
	is.resource, is.report = r, w.board.report(r)
	return w.start(ctx, is, is.source)
}

func (w *Watcher) start(ctx context.Context, is *running, to sink) error {
	key := is.resource.Key()
	rd, err := w.clients.reader(is.resource)
	if err != nil {
		return err
	}
	if _, ok := triggers[key]; ok {
		to = kicker{sink: to, kick: w.kick}
	}
	ctx, is.stop = context.WithCancel(ctx)
	is.done = make(chan struct{})
	w.running[key] = is
	read := func(ctx context.Context) { newWatchFeed(rd, to, is.report, w.turns).run(ctx) }
	if is.source != nil && is.resource.Namespaced {
		p := parts{reader: rd, source: is.source, report: is.report, turns: w.turns}
		if w.filter.namespaces != nil {
			named := func(ctx context.Context) ([]string, <-chan struct{}) { return w.filter.namespaces, ctx.Done() }
			read = func(ctx context.Context) { p.run(ctx, named) }
		} else {
			p.partly = true
			read = (&dividedFeed{resource: is.resource, parts: p, rights: w.rights}).run
		}
	}
	w.feeds.Go(func() {
		defer close(is.done)
		read(ctx)
	})
	return nil
}

// end stops reading a resource and takes it out of the counts.
func (w *Watcher) end(ctx context.Context, r *running) error {
	r.halt()
	delete(w.running, r.resource.Key())
	if r.source == nil {
		return nil
	}
	r.report.remove()
	return r.source.Close(ctx)
}

func (r *running) halt() {
	r.stop()
	<-r.done
}

// uncounted is the sink of a resource that is read for its events alone.
type uncounted struct{}

func (uncounted) Begin(context.Context) error                  { return nil }
func (uncounted) Put(context.Context, counts.Object) error     { return nil }
func (uncounted) Remove(context.Context, string, string) error { return nil }
func (uncounted) End(context.Context) error                    { return nil }

// kicker asks for discovery whenever something happens to the objects of a sink.
type kicker struct {
	sink
	kick chan<- struct{}
}

func (k kicker) Put(ctx context.Context, o counts.Object) error {
	defer k.now()
	return k.sink.Put(ctx, o)
}

func (k kicker) Remove(ctx context.Context, namespace, name string) error {
	defer k.now()
	return k.sink.Remove(ctx, namespace, name)
}

// End kicks too: a list finds what was deleted while nobody watched.
func (k kicker) End(ctx context.Context) error {
	defer k.now()
	return k.sink.End(ctx)
}

func (k kicker) now() {
	select {
	case k.kick <- struct{}{}:
	default: // it has been asked for already
	}
}
