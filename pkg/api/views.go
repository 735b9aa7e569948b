package api

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/pkg/debounce"
)

// views are those that have members. It is safe for concurrent use.
type views struct {
	counter     *counts.Counter
	instruments *instruments
	running     sync.WaitGroup

	mu    sync.Mutex
	byKey map[viewKey]*shared
	paces map[time.Duration]*pace
}

// viewKey is what makes subscriptions the same. Once there are rights, they belong
// in it: all fields of it decide what a client is sent, and nothing else does.
type viewKey struct {
	family                family
	resources, namespaces string // "*", which is no name, for all
	interval              time.Duration
	echo                  string // what comes back in each message, in steve's family
}

func newViewKey(f family, sel counts.Selector, interval time.Duration, echo string) viewKey {
	join := func(names []string) string {
		if names == nil {
			return "*"
		}
		return strings.Join(names, ",")
	}
	return viewKey{f, join(sel.Resources), join(sel.Namespaces), interval, echo}
}

// shared is a view with the number of its members.
type shared struct {
	*view
	members int
	stop    context.CancelFunc
}

func newViews(counter *counts.Counter, i *instruments) *views {
	return &views{counter: counter, instruments: i, byKey: make(map[viewKey]*shared), paces: make(map[time.Duration]*pace)}
}

// join makes a client a member of the view of a key, which begins with its first
// member and ends with its last. leave must be called once.
func (v *views) join(ctx context.Context, key viewKey, sel counts.Selector, d dialect, m *member) (leave func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.byKey[key]
	if !ok {
		// It outlives the client that is its first member.
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		s = &shared{view: newView(v.counter, sel, d, v.instruments.viewMeter(key.family)), stop: stop}
		v.byKey[key] = s
		v.instruments.views.WithLabelValues(string(key.family)).Inc()
		v.pace(ctx, key.interval).add(s.view)
		v.running.Go(func() { s.run(ctx) })
	}
	s.members++
	s.join(m)
	v.instruments.subscriptions.WithLabelValues(string(key.family)).Inc()
	return func() { v.leave(key, s, m) }
}

func (v *views) leave(key viewKey, s *shared, m *member) {
	s.view.leave(m)
	v.instruments.subscriptions.WithLabelValues(string(key.family)).Dec()
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.members--; s.members > 0 {
		return
	}
	s.stop()
	delete(v.byKey, key)
	v.instruments.views.WithLabelValues(string(key.family)).Dec()
	if p := v.paces[key.interval]; p.remove(s.view) {
		p.stop()
		delete(v.paces, key.interval)
	}
}

// pace returns the pace of an interval. The mutex is held.
func (v *views) pace(ctx context.Context, interval time.Duration) *pace {
	p, ok := v.paces[interval]
	if !ok {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		p = &pace{counter: v.counter, interval: interval, stop: stop, last: v.counter.Snapshot().Seq(), views: make(map[*view]struct{})}
		v.paces[interval] = p
		v.running.Go(func() { p.run(ctx) })
	}
	return p
}

// pace is the debouncer of all views with the same interval. At a change it works
// out once what has changed, by name, and tells those views that it concerns: one
// that it does not concern costs a look at its names.
type pace struct {
	counter  *counts.Counter
	interval time.Duration
	stop     context.CancelFunc

	mu    sync.Mutex
	views map[*view]struct{}
	named int    // of those, how many have named namespaces
	last  uint64 // the views have been told of all changes up to here
}

func (p *pace) run(ctx context.Context) {
	newer := func() (struct{}, <-chan struct{}) {
		_, newer := p.counter.Latest()
		return struct{}{}, newer
	}
	// The only error is the end of ctx, which whoever ended it knows.
	_ = debounce.Run(ctx, p.interval, newer, func(struct{}) error { p.flush(); return nil })
}

func (p *pace) flush() {
	now := p.counter.Snapshot()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Seq() == p.last {
		return
	}
	changes := now.Changes(p.last, p.named > 0)
	for v := range maps.Keys(p.views) {
		if changes.Touch(v.selector) {
			v.changed(p.last)
		} else {
			v.meter.flushed(false)
		}
	}
	p.last = now.Seq()
}

// add must come before the view has members: they are then brought to a state that
// is no older than what the view will be told of.
func (p *pace) add(v *view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.views[v] = struct{}{}
	if v.selector.Namespaces != nil {
		p.named++
	}
}

// remove reports whether the view was the last.
func (p *pace) remove(v *view) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.views, v)
	if v.selector.Namespaces != nil {
		p.named--
	}
	return len(p.views) == 0
}
