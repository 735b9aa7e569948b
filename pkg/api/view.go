package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/countd/countd/pkg/counts"
)

// keepFrames is how long a view keeps the messages of a state that nobody has been
// sent since. While clients come in numbers, a state is then encoded once; for a
// view that is at rest, nothing is kept.
const keepFrames = 10 * time.Second

// maxChanges is how many differences to one state a view keeps. There are more where
// clients resume from as many states; the rest are made for one client each.
const maxChanges = 256

// A member's index before its view has seen it, and after it has forgotten it.
const (
	unknown = -1
	gone    = -2
)

// dialect makes the messages of one kind of subscription. It is immutable.
type dialect interface {
	// whole returns all of a part of a snapshot.
	whole(part *counts.Snapshot) *frame
	// change returns what brings a client to a part of a snapshot from what it
	// holds, from, which is the same as what there was at since; and whether
	// there is any difference.
	change(part *counts.Snapshot, from, since uint64) (f *frame, changed bool)
}

// view is what all subscriptions share that ask for the same. It is owned by the
// goroutine that runs it; others reach it through join, leave, want and changed,
// which do not block.
type view struct {
	counter  *counts.Counter
	selector counts.Selector
	dialect  dialect
	meter    viewMeter
	wake     chan struct{} // of capacity one

	members []*member
	// What a member that is not behind holds is what there was at checked.
	checked uint64
	latest  *edition // nil where none is kept

	mu                 sync.Mutex
	wanting, departing []*member
	due                bool   // something may have changed
	same               uint64 // nothing had, up to here; where due
}

// edition is the state of a view at one seq, with the messages that lead to it.
type edition struct {
	seq      uint64
	complete *frame
	changes  map[uint64]change // by the seq that a client holds
}

type change struct {
	frame *frame
	any   bool
}

func newView(counter *counts.Counter, selector counts.Selector, d dialect, m viewMeter) *view {
	return &view{counter: counter, selector: selector, dialect: d, meter: m, wake: make(chan struct{}, 1)}
}

// join makes a client a member, to be served at once. It belongs to the view from
// then on.
func (v *view) join(m *member) {
	m.view, m.behind, m.index = v, true, unknown
	v.want(m)
}

// want has a member served, again or for the first time.
func (v *view) want(m *member) {
	v.mu.Lock()
	if !m.wants {
		m.wants = true
		v.wanting = append(v.wanting, m)
	}
	v.mu.Unlock()
	v.rouse()
}

// leave takes a member out. Nothing is sent to it any more.
func (v *view) leave(m *member) {
	m.outlet.dismiss(m)
	v.mu.Lock()
	v.departing = append(v.departing, m)
	v.mu.Unlock()
	v.rouse()
}

// changed says that something may have changed after the given seq, and that
// nothing had before.
func (v *view) changed(same uint64) {
	v.mu.Lock()
	if !v.due {
		v.due, v.same = true, same
	}
	v.mu.Unlock()
	v.rouse()
}

func (v *view) rouse() {
	select {
	case v.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// run serves the members until ctx ends.
func (v *view) run(ctx context.Context) {
	forget := time.NewTimer(keepFrames)
	defer forget.Stop()
	for {
		select {
		case <-v.wake:
			v.serve()
			if v.latest != nil {
				forget.Reset(keepFrames)
			}
		case <-forget.C:
			v.latest = nil
		case <-ctx.Done():
			return
		}
	}
}

// serve brings those to the newest state who want it, and all where it is due.
// Whoever asks while a state is being encoded waits for it, and is then served
// together with all others who have: so nobody is sent a state that is older than
// its question, and a storm of clients costs few encodings.
func (v *view) serve() {
	v.mu.Lock()
	wanting, departing, due, same := v.wanting, v.departing, v.due, v.same
	v.wanting, v.departing, v.due = nil, nil, false
	for _, m := range wanting {
		m.wants = false
	}
	v.mu.Unlock()

	for _, m := range wanting {
		if m.index == unknown {
			m.index = len(v.members)
			v.members = append(v.members, m)
		}
	}
	for _, m := range departing {
		v.remove(m)
	}
	if !due && len(wanting) == 0 {
		return
	}
	// The snapshot is not kept: one that is old is dear to keep and of no use.
	now := v.counter.Snapshot()
	s := serving{view: v, now: now}
	if v.latest == nil || v.latest.seq != now.Seq() {
		v.latest = &edition{seq: now.Seq()}
	}
	served := wanting
	if due {
		v.checked = max(v.checked, same)
		served = v.members
	}
	for _, m := range slices.Backward(served) { // some may be removed
		if m.index >= 0 {
			s.serve(m)
		}
	}
	if due {
		v.checked = now.Seq()
	}
	v.meter.flushed(s.sent)
}

func (v *view) remove(m *member) {
	if m.index < 0 {
		return
	}
	last := len(v.members) - 1
	v.members[m.index] = v.members[last]
	v.members[m.index].index = m.index
	v.members[last] = nil
	v.members = v.members[:last]
	if cap(v.members) > 4*last+64 {
		v.members = slices.Clip(slices.Clone(v.members))
	}
	m.index = gone
}

// serving is one look at a view's members.
type serving struct {
	view *view
	now  *counts.Snapshot
	part *counts.Snapshot // of now; made when it is needed
	sent bool

	// Most members hold the same: the difference for the last of them.
	any  bool
	held uint64
	last change
}

func (s *serving) serve(m *member) {
	same := m.same
	if !m.behind {
		same = max(same, s.view.checked)
	}
	if !m.outlet.take(m) { // nothing is made for a client that cannot take it
		m.same, m.behind = same, true
		return
	}
	f, changed := (*frame)(nil), true
	switch reaches := s.now.Reaches(m.epoch, same); {
	case reaches:
		f, changed = s.change(m.held, same)
	case m.begun && m.lost != nil:
		m.outlet.give()
		s.view.remove(m)
		m.lost()
		return
	default:
		f = s.whole()
	}
	m.same, m.behind = s.now.Seq(), false
	if !changed && m.begun { // one that resumes is told even that nothing was missed
		m.outlet.give()
		return
	}
	m.epoch, m.held, m.begun, s.sent = s.now.Epoch(), s.now.Seq(), true, true
	m.outlet.send(f)
}

func (s *serving) whole() *frame {
	e := s.view.latest
	if e.complete == nil {
		e.complete = s.view.dialect.whole(s.selected())
		s.view.meter.encoded()
	}
	return e.complete
}

// change returns the difference between what there is and what a client holds,
// which is the same for all who hold the same.
func (s *serving) change(held, same uint64) (*frame, bool) {
	if s.any && s.held == held {
		return s.last.frame, s.last.any
	}
	e := s.view.latest
	c, ok := e.changes[held]
	if !ok {
		c.frame, c.any = s.view.dialect.change(s.selected(), held, same)
		s.view.meter.encoded()
		if e.changes == nil {
			e.changes = make(map[uint64]change)
		}
		if len(e.changes) < maxChanges {
			e.changes[held] = c
		}
	}
	s.any, s.held, s.last = true, held, c
	return c.frame, c.any
}

func (s *serving) selected() *counts.Snapshot {
	if s.part == nil {
		s.part = s.now.Select(s.view.selector)
	}
	return s.part
}
