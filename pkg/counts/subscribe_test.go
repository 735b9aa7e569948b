package counts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// start runs a counter for as long as the test does.
func start(t testing.TB) *Counter {
	t.Helper()
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return c
}

func source(t testing.TB, c *Counter, r Resource) *Source {
	t.Helper()
	s, err := c.Source(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	must(t, s.Begin(t.Context()))
	must(t, s.End(t.Context()))
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

var (
	podResource  = Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	nodeResource = Resource{Version: "v1", Name: "nodes", Kind: "Node"}
)

// holder is a subscriber that keeps what it received, and writes to all of it.
type holder struct {
	state map[string]ItemCount
	seq   uint64
}

func (h *holder) receive(t *testing.T, u Update) {
	t.Helper()
	if u.Seq < h.seq {
		t.Errorf("seq went back from %d to %d", h.seq, u.Seq)
	}
	h.seq = u.Seq
	if u.Full {
		h.state = make(map[string]ItemCount)
	}
	if h.state == nil {
		t.Error("first update is not full")
	}
	for key, item := range u.Counts {
		h.state[key] = item.DeepCopy()
		scribble(item)
	}
	for _, key := range u.Removed {
		delete(h.state, key)
	}
}

// scribble writes to every map of an item that was received.
func scribble(item ItemCount) {
	for namespace, s := range item.Namespaces {
		for word := range s.States {
			s.States[word] = -1
		}
		delete(item.Namespaces, namespace)
	}
	if item.Namespaces != nil {
		item.Namespaces["scribbled"] = Summary{Count: -1}
	}
	if item.Summary.States != nil {
		clear(item.Summary.States)
		item.Summary.States["scribbled"] = -1
	}
}

// TestSubscribeHasNoGap is part 4 of the oracle, under the race detector: writers
// write, subscribers come and go and write to all that they receive, and each
// one's first state plus its changes is the final state.
func TestSubscribeHasNoGap(t *testing.T) {
	c := start(t)
	const writers, objects = 4, 2000
	sources := make([]*Source, writers)
	for w := range sources {
		sources[w] = source(t, c, Resource{Version: "v1", Name: fmt.Sprintf("kind%ds", w), Kind: "Kind", Namespaced: w%2 == 0})
	}

	writing := make(chan struct{})
	var writersDone, readersDone sync.WaitGroup
	for w, s := range sources {
		writersDone.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range objects {
				name, namespace := fmt.Sprint(random.IntN(200)), fmt.Sprint(random.IntN(7))
				switch {
				case i == objects-1: // the last word is the same for all
					must(t, s.Put(t.Context(), Object{Namespace: "last", Name: "last", State: State{Word: "last"}}))
				case random.IntN(3) == 0:
					must(t, s.Remove(t.Context(), namespace, name))
				default:
					must(t, s.Put(t.Context(), Object{Namespace: namespace, Name: name, State: State{Word: fmt.Sprint(i % 5), Error: i%2 == 0}}))
				}
			}
			must(t, s.Sync(t.Context()))
		})
	}
	go func() {
		writersDone.Wait()
		close(writing)
	}()

	for range 50 {
		readersDone.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var h holder
			updates := c.Subscribe(ctx, SubscribeOptions{})
			for {
				select {
				case u := <-updates:
					h.receive(t, u)
					continue
				case <-writing:
				}
				break
			}
			for final := c.Snapshot(); h.seq < final.Seq(); {
				h.receive(t, <-updates)
			}
			if diff := cmp.Diff(plain(c.Snapshot()), h.state); diff != "" {
				t.Errorf("final state differs (-counter +subscriber):\n%s", diff)
			}
		})
	}
	readersDone.Wait()
}

// TestSlowSubscriberGetsTheNewest: while a subscriber does not receive, nothing
// waits for it and nothing piles up; then it gets one update, the newest.
func TestSlowSubscriberGetsTheNewest(t *testing.T) {
	c := start(t)
	s := source(t, c, podResource)
	updates := c.Subscribe(t.Context(), SubscribeOptions{})
	<-updates
	for i := range 1000 {
		must(t, s.Put(t.Context(), Object{Namespace: "a", Name: fmt.Sprint(i)}))
	}
	must(t, s.Sync(t.Context()))
	// One was on offer since the first change; what follows it is the newest.
	if u := <-updates; u.Counts["pods"].Summary.Count == 1000 {
		return
	}
	if u := <-updates; u.Counts["pods"].Summary.Count != 1000 {
		t.Fatalf("second update has %+v", u.Counts["pods"].Summary)
	}
}

// TestPacedSubscriberIsOfferedTheNewest: with a pace, what is on offer is replaced
// while it is not received, and it is the newest that is received in the end.
func TestPacedSubscriberIsOfferedTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Options{})
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var parts sync.WaitGroup
		parts.Go(func() { _ = c.Run(ctx) })
		s := source(t, c, podResource)
		updates := c.Subscribe(ctx, SubscribeOptions{Pace: func(ctx context.Context) error { return ctx.Err() }})
		<-updates
		for i := range 100 {
			must(t, s.Put(t.Context(), Object{Namespace: "a", Name: fmt.Sprint(i)}))
			must(t, s.Sync(t.Context()))
			synctest.Wait()
		}
		if u := <-updates; u.Counts["pods"].Summary.Count != 100 {
			t.Errorf("was offered %+v", u.Counts["pods"].Summary)
		}
		cancel()
		parts.Wait()
	})
}

// TestSourceThatWasClosedUnheardCountsNothing: a Close whose context is over frees
// the resource all the same, and a second Close does not free that of a successor.
func TestSourceThatWasClosedUnheardCountsNothing(t *testing.T) {
	c := start(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	one := Object{Namespace: "a", Name: "x"}
	for i := range 20 { // the closing may or may not be heard
		first := source(t, c, podResource)
		must(t, first.Put(t.Context(), one))
		_ = first.Close(over)
		second := source(t, c, podResource)
		must(t, second.Put(t.Context(), one))
		must(t, first.Put(t.Context(), Object{Namespace: "b", Name: "stranger"}))
		_ = first.Close(t.Context())
		if _, err := c.Source(t.Context(), podResource); !errors.Is(err, ErrTaken) {
			t.Fatalf("%d: a second source beside an open one: %v", i, err)
		}
		must(t, second.Sync(t.Context()))
		if got := c.Snapshot().Resource("pods").Total().Count(); got != 1 {
			t.Fatalf("%d: one object counts %d", i, got)
		}
		must(t, second.Close(t.Context()))
	}
}

func TestSubscriberOfANamespaceHearsNothingElse(t *testing.T) {
	c := start(t)
	pods, nodes := source(t, c, podResource), source(t, c, nodeResource)
	must(t, pods.Put(t.Context(), Object{Namespace: "a", Name: "x"}))
	must(t, pods.Sync(t.Context()))
	updates := c.Subscribe(t.Context(), SubscribeOptions{Selector: Selector{Namespaces: []string{"a"}}})
	first := <-updates
	want := map[string]ItemCount{"pods": {Summary: Summary{Count: 1}, Namespaces: map[string]Summary{"a": {Count: 1}}}}
	if diff := cmp.Diff(want, first.Counts); diff != "" {
		t.Error(diff)
	}
	for i := range 100 {
		must(t, pods.Put(t.Context(), Object{Namespace: "b", Name: fmt.Sprint(i)}))
		must(t, nodes.Put(t.Context(), Object{Name: fmt.Sprint(i)}))
	}
	must(t, pods.Sync(t.Context()))
	must(t, pods.Remove(t.Context(), "a", "x"))
	second := <-updates
	if diff := cmp.Diff(map[string]ItemCount{"pods": {}}, second.Counts); diff != "" {
		t.Error(diff)
	}
}

func TestRoundIsOneStep(t *testing.T) {
	c := start(t)
	s := source(t, c, podResource)
	for _, name := range []string{"a", "b"} {
		must(t, s.Put(t.Context(), Object{Namespace: "n", Name: name}))
	}
	must(t, s.Sync(t.Context()))
	before := c.Snapshot()

	// A round that is cut short publishes nothing, however much it has put.
	must(t, s.Begin(t.Context()))
	must(t, s.Put(t.Context(), Object{Namespace: "n", Name: "never"}))
	must(t, s.Sync(t.Context()))
	if now := c.Snapshot(); now != before {
		t.Errorf("a round under way was published: %s", now.AppendJSON(nil))
	}

	must(t, s.Begin(t.Context()))
	for _, name := range []string{"b", "c", "d"} {
		must(t, s.Put(t.Context(), Object{Namespace: "n", Name: name}))
	}
	must(t, s.End(t.Context()))
	after := c.Snapshot()
	if after.Seq() != before.Seq()+1 {
		t.Errorf("round took %d snapshots", after.Seq()-before.Seq())
	}
	if got := after.Resource("pods").Total().Count(); got != 3 {
		t.Errorf("counted %d, want 3", got)
	}
}

func TestWordsAreBounded(t *testing.T) {
	c := start(t)
	s := source(t, c, podResource)
	words := []string{strings.Repeat("x", MaxWordBytes+1), "line\nbreak", "\xff", "active", ""}
	for i := range 100 {
		words = append(words, fmt.Sprintf("word%02d", i))
	}
	for i, word := range words {
		must(t, s.Put(t.Context(), Object{Namespace: "a", Name: fmt.Sprint(i), State: State{Word: word}}))
	}
	must(t, s.Sync(t.Context()))
	got := c.Snapshot().Resource("pods").ItemCount().Summary
	if len(got.States) != MaxWords {
		t.Errorf("%d words, want %d", len(got.States), MaxWords)
	}
	if want := len(words) - 2 - (MaxWords - 1); got.States["other"] != want {
		t.Errorf("%d others, want %d", got.States["other"], want)
	}
}

func TestResourceHasOneSourceAtATime(t *testing.T) {
	c := start(t)
	s := source(t, c, podResource)
	if _, err := c.Source(t.Context(), podResource); err == nil {
		t.Error("a second source was opened")
	}
	must(t, s.Close(t.Context()))
	if c.Snapshot().Resource("pods") != nil {
		t.Error("pods are still there")
	}
	again := source(t, c, podResource)
	must(t, s.Put(t.Context(), Object{Namespace: "a", Name: "late"})) // of the one that was closed
	must(t, again.Sync(t.Context()))
	if got := c.Snapshot().Resource("pods").Total().Count(); got != 0 {
		t.Errorf("counted %d of a closed source", got)
	}
}

// TestC19FloodIsBounded: events that come faster than they can be folded wait
// where they come from; what is queued is bounded.
func TestC19FloodIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Options{})
		must(t, err)
		s, err := c.Source(t.Context(), podResource)
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var sources sync.WaitGroup
		for range 4 {
			sources.Go(func() {
				for s.Put(ctx, Object{Namespace: "a", Name: "x"}) == nil {
				}
			})
		}
		synctest.Wait() // nobody folds: all of them wait
		if got := c.Stats().Waiting; got != queued {
			t.Errorf("%d events are queued, want %d", got, queued)
		}
		cancel()
		sources.Wait()
	})
}

// TestC6EmptyNamespaceIsGone: with its last object, a namespace's entry goes.
func TestC6EmptyNamespaceIsGone(t *testing.T) {
	c := start(t)
	s := source(t, c, podResource)
	for _, namespace := range []string{"a", "b"} {
		must(t, s.Put(t.Context(), Object{Namespace: namespace, Name: "x", State: State{Word: "failed", Error: true}}))
	}
	must(t, s.Remove(t.Context(), "a", "x"))
	must(t, s.Remove(t.Context(), "a", "x"))
	must(t, s.Sync(t.Context()))
	one := Summary{Count: 1, Errors: 1, States: map[string]int{"failed": 1}}
	want := ItemCount{Summary: one, Namespaces: map[string]Summary{"b": one}}
	if diff := cmp.Diff(want, c.Snapshot().Resource("pods").ItemCount()); diff != "" {
		t.Error(diff)
	}
}

// TestWhatCameBeforeARoundIsNotWithheld: an event and the begin of a round that may
// never end are folded in one go; the event is shown all the same (R5).
func TestWhatCameBeforeARoundIsNotWithheld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Options{})
		must(t, err)
		s, err := c.Source(t.Context(), podResource)
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var parts sync.WaitGroup
		parts.Go(func() { must(t, s.End(t.Context())) })
		synctest.Wait() // End is queued, and waits for somebody to fold it
		must(t, s.Put(t.Context(), Object{Namespace: "a", Name: "x"}))
		must(t, s.Begin(t.Context()))
		parts.Go(func() { _ = c.Run(ctx) })
		synctest.Wait()
		if got := c.Snapshot().Resource("pods").Total().Count(); got != 1 {
			t.Errorf("counted %d, want 1", got)
		}
		cancel()
		parts.Wait()
	})
}
