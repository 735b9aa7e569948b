package cluster

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Lists take turns, so that neither the API server nor countd has to bear all of
// them at once. There are short turns, in which most lists end, and long ones:
//
//	short ── brings something, but lasts ──► long, or keeps the short one, or waits
//	  └───── silent ──► none: who hangs keeps nobody waiting
//	                      └── brings something after all ──► waits for a long one
//
// So at most shortTurns and longTurns lists bring objects at once, and short turns
// for small kinds become free however many large ones there are.
const (
	shortTurns = 8
	longTurns  = 4
	// mostKept is how many lists may keep their short turns beyond shortLasts. The
	// other short turns are always on the move.
	mostKept = 6
	// shortLasts is how long a list may be silent in a short turn, and after what
	// time one that is not is long. longLasts is the same for the silence in a
	// long turn, where a page may take its time; a streaming list that is silent
	// that long is given up.
	shortLasts = 3 * time.Second
	longLasts  = stallTime
	// manyLater is how much later than it did a list of many objects is taken to
	// have asked for a turn. A time and no rank, so that it cannot wait for ever.
	manyLater = 10 * time.Second
)

// turns is safe for concurrent use.
type turns struct {
	short, long *places
	kept        chan struct{} // holds one for each short turn that is kept
}

func newTurns() *turns {
	return &turns{short: &places{free: shortTurns}, long: &places{free: longTurns}, kept: make(chan struct{}, mostKept)}
}

// turn is a list's. Its list calls its methods; its alarm runs beside them.
type turn struct {
	turns  *turns
	report *report
	began  time.Time

	mu    sync.Mutex
	holds *places // nil while it has none
	keeps bool    // a short turn that has lasted too long
	alarm *time.Timer
}

// take waits for a short turn and says so on the board.
func (t *turns) take(ctx context.Context, r *report) (*turn, error) {
	asked := time.Now()
	if oftenMany[r.key] {
		asked = asked.Add(manyLater)
	}
	if err := t.short.take(ctx, asked); err != nil {
		return nil, err
	}
	r.began()
	n := &turn{turns: t, report: r, began: time.Now(), holds: t.short}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.alarm = time.AfterFunc(shortLasts, n.silent)
	return n, nil
}

// goesOn says that the list has brought something, and waits where it has to.
func (n *turn) goesOn(ctx context.Context) error {
	if n.mayGoOn() {
		return nil
	}
	n.report.waits()
	if err := n.turns.long.take(ctx, time.Now()); err != nil {
		return err
	}
	n.report.began()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hold(n.turns.long)
	return nil
}

// mayGoOn says whether the list has a turn to go on in. It has none after false.
func (n *turn) mayGoOn() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.holds == n.turns.long:
	case n.holds == n.turns.short && time.Since(n.began) < shortLasts:
	case n.turns.long.try():
		n.release()
		n.hold(n.turns.long)
		return true
	case n.keeps:
	case n.holds == n.turns.short && n.keep():
	default:
		n.release()
		return false
	}
	n.hold(n.holds)
	return true
}

func (n *turn) keep() bool {
	select {
	case n.turns.kept <- struct{}{}:
		n.keeps = true
	default:
	}
	return n.keeps
}

// hold has the alarm go off after a silence from now on.
func (n *turn) hold(p *places) {
	n.holds = p
	if p == n.turns.long {
		n.alarm.Reset(longLasts)
	} else {
		n.alarm.Reset(shortLasts)
	}
}

func (n *turn) silent() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.release()
}

// end may be called more than once.
func (n *turn) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.release()
}

func (n *turn) release() {
	n.alarm.Stop()
	if n.keeps {
		n.keeps = false
		<-n.turns.kept
	}
	if n.holds != nil {
		n.holds.give()
		n.holds = nil
	}
}

// places are a number of turns of one kind. It is safe for concurrent use.
type places struct {
	mu      sync.Mutex
	free    int
	waiting []*waiting // the next one first; empty while any is free
}

// waiting is who waits for a place.
type waiting struct {
	asked time.Time
	got   chan struct{} // closed under places.mu
}

// take waits for a place, before those that asked later.
func (p *places) take(ctx context.Context, asked time.Time) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return nil
	}
	w := &waiting{asked: asked, got: make(chan struct{})}
	at, _ := slices.BinarySearchFunc(p.waiting, w, func(x, y *waiting) int {
		if x.asked.After(y.asked) {
			return 1
		}
		return -1 // those that asked at the same moment go before it
	})
	p.waiting = slices.Insert(p.waiting, at, w)
	p.mu.Unlock()
	select {
	case <-w.got:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, w); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	} else {
		p.next() // it had got one at the same moment
	}
	return context.Cause(ctx)
}

// try takes a place if one is free.
func (p *places) try() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free == 0 {
		return false
	}
	p.free--
	return true
}

func (p *places) give() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next()
}

// next hands a place on.
func (p *places) next() {
	if len(p.waiting) == 0 {
		p.free++
		return
	}
	close(p.waiting[0].got)
	p.waiting = slices.Delete(p.waiting, 0, 1)
}
