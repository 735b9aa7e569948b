package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/countd/countd/pkg/counts"
)

// pair is how many pods there are in the namespaces a and b.
type pair [2]int

// churn creates and deletes pods without pause, and knows what there was at each
// seq from its own books.
type churn struct {
	*source
	counter *counts.Counter
	objects [2]map[int]bool
	history map[uint64]pair // to be read once run has returned
}

func newChurn(f *fixture, p *source) *churn {
	return &churn{source: p, counter: f.counter, objects: [2]map[int]bool{{}, {}}, history: map[uint64]pair{}}
}

func (c *churn) run(stop <-chan struct{}) {
	random := rand.New(rand.NewPCG(27, 0))
	c.note()
	for {
		select {
		case <-stop:
			return
		default:
		}
		n, name := random.IntN(2), random.IntN(40)
		if namespace := string(rune('a' + n)); c.objects[n][name] {
			delete(c.objects[n], name)
			c.remove(namespace, fmt.Sprint(name))
		} else {
			c.objects[n][name] = true
			c.put(namespace, fmt.Sprint(name))
		}
		c.note()
	}
}

func (c *churn) note() {
	c.history[c.counter.Snapshot().Seq()] = pair{len(c.objects[0]), len(c.objects[1])}
}

// sighting is what a subscription was told.
type sighting struct {
	asked  uint64 // the newest seq before it asked
	seqs   []uint64
	states []pair
}

// check holds that each state was one that was, no older than the subscription,
// in order. Messages of steve's family have no seq: for them the oldest state
// that fits is taken, which is complete.
func (s sighting) check(history map[uint64]pair, last uint64) error {
	at := s.asked
	for i, state := range s.states {
		if s.seqs != nil {
			if s.seqs[i] < at {
				return fmt.Errorf("state %d is of seq %d, after %d", i, s.seqs[i], at)
			}
			at = s.seqs[i]
			if history[at] != state {
				return fmt.Errorf("state %d is said to be %v at seq %d, which was %v", i, state, at, history[at])
			}
			continue
		}
		for ; history[at] != state; at++ {
			if at > last {
				return fmt.Errorf("states %v: the one numbered %d never was, since seq %d", s.states, i, s.asked)
			}
		}
	}
	return nil
}

// pairOf reads the pods of a resource's counts; ok is false where none are there.
func pairOf(t testing.TB, item json.RawMessage) pair {
	t.Helper()
	var counts counts.ItemCount
	must(t, json.Unmarshal(item, &counts))
	p := pair{counts.Namespaces["a"].Count, counts.Namespaces["b"].Count}
	if p[0]+p[1] != counts.Summary.Count {
		t.Errorf("the namespaces' sum is not the total in %s", item) // C5
	}
	return p
}

// TestC27EachSubscriptionIsExactFromTheFirstStateOn subscribes 10,000 times, in
// both families and over each transport, while objects come and go without
// pause. Each subscription's first state and the next are states that were.
func TestC27EachSubscriptionIsExactFromTheFirstStateOn(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Debounce = time.Millisecond; o.MaxSubscriptions = 100; o.PeerTimeout = time.Hour })
	c := newChurn(f, f.source(pods))
	stop := make(chan struct{})
	var churning, subscribing sync.WaitGroup
	churning.Go(func() { c.run(stop) })

	var mu sync.Mutex
	var sightings []sighting
	note := func(s sighting) {
		mu.Lock()
		defer mu.Unlock()
		sightings = append(sightings, s)
	}
	for range 60 { // 6,000
		subscribing.Go(func() { steveSightings(f, 100, note) })
	}
	for i := range 4 { // 4,000
		subscribing.Go(func() {
			for j := range 1000 {
				note(ownSighting(f, []string{"ndjson", "sse", "websocket"}[(i+j)%3]))
			}
		})
	}
	subscribing.Wait()
	close(stop)
	churning.Wait()
	last := f.counter.Snapshot().Seq()
	if len(sightings) != 10_000 {
		t.Errorf("%d subscriptions", len(sightings))
	}
	for _, s := range sightings {
		if err := s.check(c.history, last); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d states came and went meanwhile", last)
}

// steveSightings makes a number of subscriptions on one connection, each of which
// is stopped once it was told two states.
func steveSightings(f *fixture, number int, note func(sighting)) {
	socket := f.dial("/v1/subscribe")
	defer func() { _ = socket.Close() }()
	socket.SetPingHandler(func(string) error { return nil }) // the answer could meet a message
	// A pipe holds nothing: who speaks and listens by turns may find the
	// server speaking too.
	say := make(chan string, 2*number)
	defer close(say)
	go func() {
		for text := range say {
			_ = socket.WriteMessage(websocket.TextMessage, []byte(text))
		}
	}()
	all := make(map[string]*sighting)
	ask := func(i int) string {
		// What makes them different is only that they are.
		mode := fmt.Sprintf("mode%d", i)
		all[mode] = &sighting{asked: f.counter.Snapshot().Seq()}
		return fmt.Sprintf(`{"resourceType":"count","mode":%q}`, mode)
	}
	told := 0
	say <- ask(0)
	for asked := 1; told < number; {
		text := socket.hear()
		var m struct {
			Name, Mode string
			Data       struct{ Counts map[string]json.RawMessage }
		}
		must(f.t, json.Unmarshal([]byte(text), &m))
		item, ok := m.Data.Counts["pod"]
		if m.Name == resourceStart && asked < number {
			say <- ask(asked)
			asked++
		}
		s := all[m.Mode]
		if !ok || len(s.states) == 2 {
			continue
		}
		s.states = append(s.states, pairOf(f.t, item))
		if len(s.states) == 2 {
			told++
			note(*s)
			say <- fmt.Sprintf(`{"resourceType":"count","mode":%q,"stop":true}`, m.Mode)
		}
	}
}

// ownSighting subscribes until it was told two states.
func ownSighting(f *fixture, transport string) sighting {
	s := sighting{asked: f.counter.Snapshot().Seq()}
	next, hangUp := f.messages("/api/v1/watch?resources=pods", transport)
	defer hangUp()
	var held mirror
	for len(s.states) < 2 {
		message, err := next()
		must(f.t, err)
		must(f.t, held.apply(message))
		var resources map[string]json.RawMessage
		must(f.t, json.Unmarshal(held.resources, &resources))
		s.seqs = append(s.seqs, held.seq)
		s.states = append(s.states, pairOf(f.t, resources["pods"]))
	}
	return s
}

// TestC1EverySubscriberEndsExact: debounce 5 ms, two websockets of each family,
// four writers, under the race detector.
func TestC1EverySubscriberEndsExact(t *testing.T) {
	const writers, objects = 4, 10_000
	f := newFixture(t, func(o *Options) { o.Debounce = 5 * time.Millisecond })
	var sources []*source
	for w := range writers { // each has a kind: a source is spoken to by one at a time
		sources = append(sources, f.source(counts.Resource{Version: "v1", Name: fmt.Sprintf("kind%ds", w), Kind: fmt.Sprint("Kind", w), Namespaced: true}))
	}
	var done sync.WaitGroup
	for range 2 {
		steve := f.dial("/v1/subscribe")
		steve.say(askCount)
		done.Go(func() {
			held := map[string]json.RawMessage{}
			for !complete(t, held, objects, writers) {
				var m struct {
					Data struct{ Counts map[string]json.RawMessage }
				}
				must(t, json.Unmarshal([]byte(steve.hear()), &m))
				maps.Copy(held, m.Data.Counts)
			}
		})
		own := f.dial("/api/v1/watch?debounceMs=5")
		done.Go(func() {
			var held mirror
			resources := map[string]json.RawMessage{}
			for !complete(t, resources, objects, writers) {
				must(t, held.apply(own.hear()))
				must(t, json.Unmarshal(held.resources, &resources))
			}
		})
	}
	var ready atomic.Int64
	for w, s := range sources {
		done.Go(func() {
			ready.Add(1)
			for ready.Load() < writers {
				runtime.Gosched()
			}
			for i := range objects {
				must(t, s.Put(t.Context(), counts.Object{Namespace: fmt.Sprint("ns", i%10), Name: fmt.Sprint(w, i)}))
			}
		})
	}
	done.Wait()
}

// complete says whether each of some kinds has all its objects, and holds that
// none has more.
func complete(t testing.TB, held map[string]json.RawMessage, objects, kinds int) bool {
	full := 0
	for id, raw := range held {
		var item counts.ItemCount
		must(t, json.Unmarshal(raw, &item))
		if item.Summary.Count > objects {
			t.Errorf("%s has %d", id, item.Summary.Count)
		}
		sum := 0
		for _, s := range item.Namespaces {
			sum += s.Count
		}
		if strings.Contains(strings.ToLower(id), "kind") && item.Summary.Count == objects && sum == objects {
			full++
		}
	}
	return full == kinds
}
