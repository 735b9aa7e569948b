package cluster

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/countd/countd/internal/decode"
)

// timed is a sink that takes objects, and takes them again by itself when their state
// changes without an event, because time passes. Whatever an event says of an
// object in the meantime takes the place of what was to come.
//
// It keeps nothing of objects that do not change so, which are nearly all. It is safe
// for concurrent use.
type timed struct {
	sink sink

	mu      sync.Mutex      // held while the sink takes something, so that it takes all in order
	ctx     context.Context //nolint:containedctx // the one that was put with last
	waiting map[objectKey]*moment
	order   moments
	timer   *time.Timer // nil: never used
	round   int         // the number of the last one
	inRound bool        // it has begun and not ended
	stopped bool
}

type objectKey struct{ namespace, name string }

// moment is when an object is put again.
type moment struct {
	object *decode.Object // as it will be then
	at     time.Time
	round  int // in which it was last put
	index  int // in the heap
}

func newTimed(s sink) *timed {
	return &timed{sink: s, waiting: make(map[objectKey]*moment)}
}

// begin begins a round. Until it ends no moment comes: an object that was not put
// in the round yet may be gone.
func (t *timed) begin(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.round++
	t.inRound = true
	return t.sink.Begin(ctx)
}

// end ends a round. What was not put in it is gone.
func (t *timed) end(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.sink.End(ctx); err != nil {
		return err
	}
	t.inRound = false
	for key, m := range t.waiting {
		if m.round != t.round {
			t.forget(key)
		}
	}
	t.arm()
	return nil
}

func (t *timed) put(ctx context.Context, o *decode.Object) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx = ctx
	return t.take(ctx, o)
}

func (t *timed) remove(ctx context.Context, namespace, name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(objectKey{namespace, name})
	return t.sink.Remove(ctx, namespace, name)
}

// stop makes sure that nothing more is put.
func (t *timed) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
}

// take is put, with the lock held.
func (t *timed) take(ctx context.Context, o *decode.Object) error {
	key := objectKey{o.Namespace, o.Name}
	t.forget(key)
	if o.Next != nil {
		m := &moment{object: o.At(o.Next), at: o.Next.At, round: t.round}
		t.waiting[key] = m
		heap.Push(&t.order, m)
		t.arm()
	}
	return t.sink.Put(ctx, o.Object)
}

func (t *timed) forget(key objectKey) {
	if m, ok := t.waiting[key]; ok {
		delete(t.waiting, key)
		heap.Remove(&t.order, m.index)
	}
}

// arm sets the timer to the next moment.
func (t *timed) arm() {
	if len(t.order) == 0 || t.inRound || t.stopped {
		return
	}
	wait := time.Until(t.order[0].at)
	if t.timer == nil {
		t.timer = time.AfterFunc(wait, t.due)
		return
	}
	t.timer.Reset(wait)
}

// due puts all whose moment has come.
func (t *timed) due() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for now := time.Now(); len(t.order) > 0 && !t.inRound && !t.stopped && !t.order[0].at.After(now); {
		t.stopped = t.take(t.ctx, t.order[0].object) != nil // the sink has ended
	}
	t.arm()
}

// moments are a heap, the first one on top.
type moments []*moment

func (m moments) Len() int           { return len(m) }
func (m moments) Less(i, j int) bool { return m[i].at.Before(m[j].at) }

func (m moments) Swap(i, j int) {
	m[i], m[j] = m[j], m[i]
	m[i].index, m[j].index = i, j
}

func (m *moments) Push(x any) {
	one, _ := x.(*moment)
	one.index = len(*m)
	*m = append(*m, one)
}

func (m *moments) Pop() any {
	last := len(*m) - 1
	one := (*m)[last]
	(*m)[last] = nil
	*m = (*m)[:last]
	return one
}
