package debounce

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// level is a value that can be set, as a Source.
type level struct {
	mu    sync.Mutex
	value int
	newer chan struct{}
}

func newLevel() *level { return &level{newer: make(chan struct{})} }

func (l *level) set(v int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value = v
	close(l.newer)
	l.newer = make(chan struct{})
}

func (l *level) latest() (int, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.newer
}

type flushed struct {
	At    time.Duration
	Value int
}

// record runs a debouncer over changes, each at its time after the start, with
// flushes that block for as long as stall says. It returns the flushes.
func record(changes []time.Duration, interval time.Duration, stall func(int) time.Duration) []flushed {
	var out []flushed
	ctx, cancel := context.WithCancel(context.Background())
	start := time.Now()
	l := newLevel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = Run(ctx, interval, l.latest, func(v int) error {
			out = append(out, flushed{time.Since(start), v})
			time.Sleep(stall(len(out)))
			return nil
		})
	}()
	synctest.Wait()
	for i, at := range changes {
		time.Sleep(at - time.Since(start))
		l.set(i + 1)
		synctest.Wait()
	}
	time.Sleep(time.Hour) // fake time: whatever is pending is flushed
	cancel()
	<-done
	return out
}

func noStall(int) time.Duration { return 0 }

func TestFirstAtOnceThenOneAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		got := record([]time.Duration{1000 * ms, 1010 * ms, 1020 * ms, 1030 * ms, 5000 * ms}, 100*ms, noStall)
		want := []flushed{{0, 0}, {1000 * ms, 1}, {1100 * ms, 4}, {5000 * ms, 5}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestDebounceKeepsTheLast is part 3 of the oracle: whatever the times of the
// changes and of the reader's stalls are, flushes are an interval apart, values
// never go back, and the last change is flushed no later than an interval after
// it, or as soon as the reader's stall is over.
func TestDebounceKeepsTheLast(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		interval := time.Duration(rapid.IntRange(0, 50).Draw(rt, "interval")) * time.Millisecond
		gaps := rapid.SliceOfN(rapid.IntRange(0, 80), 1, 40).Draw(rt, "gaps")
		stalls := rapid.SliceOfN(rapid.IntRange(0, 120), 1, 8).Draw(rt, "stalls")
		changes := make([]time.Duration, len(gaps))
		at := time.Duration(0)
		for i, gap := range gaps {
			at += time.Duration(gap) * time.Millisecond
			changes[i] = at
		}
		stall := func(n int) time.Duration { return time.Duration(stalls[n%len(stalls)]) * time.Millisecond }

		var got []flushed
		synctest.Test(t, func(*testing.T) { got = record(changes, interval, stall) })

		for i := 1; i < len(got); i++ {
			if gap := got[i].At - got[i-1].At; gap < interval {
				rt.Errorf("flushes %v and %v are %v apart, the interval is %v", got[i-1], got[i], gap, interval)
			}
			if got[i].Value <= got[i-1].Value {
				rt.Errorf("flush %v after %v brings nothing newer", got[i], got[i-1])
			}
		}
		last, before := got[len(got)-1], flushed{}
		if len(got) > 1 {
			before = got[len(got)-2]
		}
		if last.Value != len(changes) {
			rt.Fatalf("last flush is %v, want value %d", last, len(changes))
		}
		free := before.At + max(interval, stall(len(got)-1))
		if latest := max(changes[len(changes)-1], free); last.At > latest {
			rt.Errorf("last change was flushed at %v, want at %v at the latest", last.At, latest)
		}
	})
}

func TestFlushErrorEndsRun(t *testing.T) {
	want := errors.New("socket closed")
	got := Run(t.Context(), time.Second, newLevel().latest, func(int) error { return want })
	if !errors.Is(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEndOfContextEndsRunWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := errors.New("server drains")
		ctx, cancel := context.WithCancelCause(t.Context())
		l := newLevel()
		done := make(chan error)
		go func() { done <- Run(ctx, time.Hour, l.latest, func(int) error { return nil }) }()
		synctest.Wait()
		l.set(1) // now it waits for the interval
		synctest.Wait()
		cancel(want)
		if got := <-done; !errors.Is(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
