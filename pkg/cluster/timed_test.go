package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countd/countd/internal/decode"
	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/pkg/counts"
)

// notes is a sink that notes what it takes.
type notes struct {
	mu    sync.Mutex
	taken []string
	err   error
}

func (n *notes) note(what string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken = append(n.taken, what)
	return n.err
}

func (n *notes) Begin(context.Context) error { return n.note("begin") }
func (n *notes) End(context.Context) error   { return n.note("end") }

func (n *notes) Put(_ context.Context, o counts.Object) error {
	return n.note("put " + o.Name + " " + o.State.Word)
}

func (n *notes) Remove(_ context.Context, _, name string) error { return n.note("remove " + name) }

// took takes what was noted since it was last asked.
func (n *notes) took(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	if diff := cmp.Diff(want, n.taken); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	n.taken = nil
}

// fail makes all that follows fail.
func (n *notes) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

// waits is an object that is in the state "waits", for a time, and then in others,
// each for as long.
func waits(name string, each time.Duration, then ...string) *decode.Object {
	o := &decode.Object{Object: counts.Object{Name: name, State: counts.State{Word: "waits"}}}
	at := time.Now()
	next := &o.Next
	for _, word := range then {
		at = at.Add(each)
		*next = &state.Next{At: at, Reading: state.Reading{State: counts.State{Word: word}}}
		next = &(*next).Reading.Next
	}
	return o
}

func inTime(t *testing.T, f func(*testing.T, *timed, *notes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := new(notes)
		s := newTimed(n)
		defer s.stop()
		f(t, s, n)
	})
}

// TestStateChangesInItsTime: without an event, at the moment that was said, and in order.
func TestStateChangesInItsTime(t *testing.T) {
	inTime(t, func(t *testing.T, s *timed, n *notes) {
		ctx := t.Context()
		must(t, s.put(ctx, waits("slow", time.Hour, "failed")))
		must(t, s.put(ctx, waits("quick", time.Minute, "one", "two")))
		n.took(t, "put slow waits", "put quick waits")
		time.Sleep(time.Minute)
		n.took(t, "put quick one")
		time.Sleep(time.Minute)
		n.took(t, "put quick two")
		time.Sleep(2 * time.Hour)
		n.took(t, "put slow failed")
		if len(s.waiting) != 0 || len(s.order) != 0 {
			t.Errorf("%d and %d are kept", len(s.waiting), len(s.order))
		}
	})
}

// TestEventTakesThePlaceOfWhatWasToCome: of an object that changed or went.
func TestEventTakesThePlaceOfWhatWasToCome(t *testing.T) {
	inTime(t, func(t *testing.T, s *timed, n *notes) {
		ctx := t.Context()
		for _, name := range []string{"changed", "deleted", "again"} {
			must(t, s.put(ctx, waits(name, time.Minute, "failed")))
		}
		time.Sleep(time.Second)
		must(t, s.put(ctx, waits("changed", 0)))
		must(t, s.remove(ctx, "", "deleted"))
		must(t, s.put(ctx, waits("again", time.Minute, "failed")))
		n.took(t, "put changed waits", "put deleted waits", "put again waits", "put changed waits", "remove deleted", "put again waits")
		time.Sleep(59 * time.Second)
		n.took(t)
		time.Sleep(time.Second)
		n.took(t, "put again failed")
	})
}

// TestNoMomentComesInARound: an object that a list has not told yet may be gone. What the
// round has not put is dropped at its end, and the others have their moment then.
func TestNoMomentComesInARound(t *testing.T) {
	inTime(t, func(t *testing.T, s *timed, n *notes) {
		ctx := t.Context()
		must(t, s.put(ctx, waits("gone", time.Minute, "failed")))
		must(t, s.begin(ctx))
		must(t, s.put(ctx, waits("there", time.Minute, "failed")))
		time.Sleep(time.Hour)
		n.took(t, "put gone waits", "begin", "put there waits")
		must(t, s.end(ctx))
		n.took(t, "end", "put there failed")
	})
}

// TestNothingIsPutAfterTheEnd: neither of the feed nor of the sink.
func TestNothingIsPutAfterTheEnd(t *testing.T) {
	inTime(t, func(t *testing.T, s *timed, n *notes) {
		must(t, s.put(t.Context(), waits("a", time.Minute, "failed")))
		s.stop()
		time.Sleep(time.Hour)
		n.took(t, "put a waits")
	})
	inTime(t, func(t *testing.T, s *timed, n *notes) {
		must(t, s.put(t.Context(), waits("a", time.Minute, "failed", "failed again")))
		n.fail(errors.New("ended"))
		time.Sleep(time.Hour)
		n.took(t, "put a waits", "put a failed")
	})
}
