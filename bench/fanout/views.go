package main

import (
	"context"
	"fmt"
	"time"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/fanout/subscriber"
)

// viewStep is what some creations cost while some views are open.
type viewStep struct {
	name          string
	open, changed int // views
	exact         int
	messages      int
	cpu           time.Duration
}

// audience is a connection on each of some views, each of which has every so manieth
// namespace. It is for one goroutine.
type audience struct {
	o      options
	views  int
	crowds []*subscriber.Crowd
}

// open opens more of the views.
func (a *audience) open(ctx context.Context, url string, views int) error {
	for v := len(a.crowds); v < views; v++ {
		q := subscriber.Question{URL: url, Family: subscriber.Countd, Debounce: a.o.debounce, Deflate: a.o.deflate}
		for n := v; n < a.o.server.Namespaces; n += a.views {
			q.Namespaces = append(q.Namespaces, apiserver.NamespaceName(n))
		}
		c := subscriber.NewCrowd(q, kind(subscriber.Countd))
		a.crowds = append(a.crowds, c)
		if err := c.Open(ctx, 1, 0); err != nil {
			return err
		}
	}
	return nil
}

func (a *audience) close() {
	for _, c := range a.crowds {
		c.Close()
	}
}

// await waits until each view is what is expected of its namespaces, and returns how many
// are.
func (a *audience) await(ctx context.Context, want *expected) (exact int, err error) {
	over := time.Now().Add(a.o.patience)
	for exact < len(a.crowds) && time.Now().Before(over) {
		part := &expected{namespaces: make(map[string]int)}
		for n := exact; n < a.o.server.Namespaces; n += a.views {
			name := apiserver.NamespaceName(n)
			part.namespaces[name] = want.namespaces[name]
			part.count += want.namespaces[name]
		}
		if a.crowds[exact].Holding(part.is(kind(subscriber.Countd))) == 1 {
			exact++
		} else if err := pause(ctx, lookEvery); err != nil {
			return exact, err
		}
	}
	return exact, nil
}

func (a *audience) messages() (n int) {
	for _, c := range a.crowds {
		n += c.Traffic().Messages
	}
	return n
}

func (o options) views(ctx context.Context) (*report, error) {
	few := o.connections / 100
	if few < 1 || o.server.Namespaces < o.connections {
		return nil, fmt.Errorf("%d views of %d namespaces: want 100 or more, and a namespace each", o.connections, o.server.Namespaces)
	}
	api, stop, err := o.host.Start(ctx, o.server.Args()...)
	if err != nil {
		return nil, err
	}
	defer stop()
	countd, err := o.startCountd(ctx, api)
	if err != nil {
		return nil, err
	}
	defer func() { _ = countd.stop() }()
	a := &audience{o: o, views: o.connections}
	defer a.close()
	steps := []viewStep{
		{name: "no view is open", changed: few},
		{name: "these are open", open: few, changed: few},
		{name: "all are open", open: o.connections, changed: few},
		{name: "all are open", open: o.connections, changed: 10 * few},
		{name: "all are open", open: o.connections, changed: o.connections},
	}
	want := o.expect()
	for i := range steps {
		if err := a.measure(ctx, api, countd, want, &steps[i]); err != nil {
			return nil, err
		}
	}
	return o.reportViews(steps), nil
}

// measure measures one step.
func (a *audience) measure(ctx context.Context, api string, countd measured, want *expected, s *viewStep) (err error) {
	if err := a.open(ctx, countd.url, s.open); err != nil {
		return err
	}
	if _, err := a.await(ctx, want); err != nil {
		return err
	}
	if err := pause(ctx, 2*a.o.debounce); err != nil {
		return err
	}
	before, err := countd.used()
	if err != nil {
		return err
	}
	messages := a.messages()
	w := a.o.writing(a.o.duration)
	w.namespaces = s.changed
	if _, err := w.do(ctx, api); err != nil {
		return err
	}
	want.wrote(w)
	if s.exact, err = a.await(ctx, want); err != nil {
		return err
	}
	after, err := countd.used()
	s.cpu, s.messages = after.CPU-before.CPU, a.messages()-messages
	return err
}

func (o options) reportViews(steps []viewStep) *report {
	r := new(report)
	seconds := o.duration.Seconds()
	r.row(fmt.Sprintf("%d views of %d namespaces each, %g creations a second", o.connections, o.server.Namespaces/o.connections, o.rate), "views that change", "exact", "messages a second", "CPU time a second")
	for _, s := range steps {
		r.row(s.name, fmt.Sprint(s.changed), fmt.Sprintf("%d/%d", s.exact, s.open), fmt.Sprintf("%.0f", float64(s.messages)/seconds), fmt.Sprintf("%.3f s", s.cpu.Seconds()/seconds))
	}
	alone, some, all := steps[1], steps[2], steps[len(steps)-1]
	changed := float64((all.cpu - some.cpu).Microseconds()) / float64(max(1, all.messages-some.messages))
	ticks := float64(o.duration) / float64(o.debounce)
	unchanged := float64((some.cpu - alone.cpu).Microseconds()) / float64(some.open-alone.open) / ticks
	r.row("CPU time of a view that changes, a tick", fmt.Sprintf("%.1f µs", changed))
	r.row("of one that does not", fmt.Sprintf("%.1f µs", unchanged))
	r.result("exact", "%d/%d", all.exact, all.open)
	r.result("us_per_changed_view", "%.1f", changed)
	r.result("us_per_unchanged_view", "%.1f", unchanged)
	return r
}
