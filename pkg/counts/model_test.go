package counts

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// model is the brute-force recount: it keeps every object and counts them all,
// each time that it is asked.
type model struct {
	resources map[string]*modelResource // open ones, by key
}

type modelResource struct {
	resource Resource
	source   uint32
	parts    bool // it is read namespace by namespace
	divided  bool // it has had a part since
	seen     bool // a round has ended
	held     bool // nothing is published until the whole's End
	read     map[string]*modelRound
}

// modelRound is what is read of a resource, or of one namespace of it.
type modelRound struct {
	objects objects
	round   objects // what the round under way has put; nil outside
	visible objects // what readers may see: objects as of no round
	part    bool    // of a resource that is read in parts: there is a part
}

// objects are states in both readings by namespace and name.
type objects map[[2]string]both

type both [readings]State

// at returns the round that has a namespace.
func (r *modelResource) at(namespace string) *modelRound {
	if !r.parts {
		namespace = ""
	}
	if r.read[namespace] == nil {
		r.read[namespace] = &modelRound{objects: make(objects), visible: make(objects)}
	}
	return r.read[namespace]
}

func (r *modelResource) visible() objects {
	all := make(objects)
	for _, round := range r.read {
		maps.Copy(all, round.visible)
	}
	return all
}

// regroup makes the resource one that is read in parts, or as a whole.
func (r *modelResource) regroup(parts bool) {
	if r.parts == parts {
		return
	}
	before := r.read
	r.parts, r.divided, r.read = parts, false, make(map[string]*modelRound)
	for _, round := range before {
		for name, states := range round.objects {
			r.at(name[0]).objects[name] = states
		}
		for name, states := range round.visible {
			r.at(name[0]).visible[name] = states
		}
	}
}

func (r *modelResource) begin(at *modelRound) {
	at.round = make(objects)
	at.part, r.divided, r.held = r.parts, r.parts, r.held || !r.parts
}

// see makes visible what is.
func (r *modelResource) see() {
	for _, round := range r.read {
		if round.round == nil && !r.held {
			round.visible = maps.Clone(round.objects)
		}
	}
}

// counted is a count in both readings.
type counted [readings]ItemCount

func (m *model) count() map[string]counted {
	out := make(map[string]counted)
	for key, r := range m.resources {
		if r.seen {
			out[key] = recount(r.resource, r.visible())
		}
	}
	return out
}

func recount(r Resource, of objects) (item counted) {
	for name, states := range of {
		for reading, state := range states {
			add := addTo
			if Reading(reading) == Steve {
				add = addToSteve
			}
			i := &item[reading]
			i.Summary = add(i.Summary, state)
			if r.Namespaced {
				if i.Namespaces == nil {
					i.Namespaces = make(map[string]Summary)
				}
				i.Namespaces[name[0]] = add(i.Namespaces[name[0]], state)
			}
		}
	}
	return item
}

func addTo(s Summary, state State) Summary {
	s.Count++
	if state.Error {
		s.Errors++
	}
	if state.Transitioning {
		s.Transitioning++
	}
	if state.Word != "" && state.Word != "active" {
		if s.States == nil {
			s.States = make(map[string]int)
		}
		s.States[state.Word]++
	}
	return s
}

// addToSteve counts as steve does, which has two words of its own.
func addToSteve(s Summary, state State) Summary {
	switch {
	case state.Error:
		state.Word = "error"
	case state.Transitioning:
		state.Word = "in-progress"
	default:
		state.Word = ""
	}
	return addTo(s, state)
}

// plain returns a snapshot as plain values, made by walking what it shows.
func plain(s *Snapshot) map[string]ItemCount {
	out := make(map[string]ItemCount)
	for c := range s.Resources() {
		out[c.Key()] = c.ItemCount()
	}
	return out
}

// inBoth is plain in both readings.
func inBoth(s *Snapshot) map[string]counted {
	out := make(map[string]counted)
	for c := range s.Resources() {
		out[c.Key()] = counted{c.ItemCount(), c.SteveItemCount()}
	}
	return out
}

// kept is a snapshot with the bytes that it had when it was made.
type kept struct {
	snapshot *Snapshot
	json     string
	plain    map[string]counted
	seq      uint64
}

// machine drives a tally and the model side by side.
type machine struct {
	tally *tally
	model model
	next  uint32
	hash  hasher
	kept  []kept
	steps int // how many were made
}

var (
	testResources = []Resource{
		{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true},
		{Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", Namespaced: true},
		{Version: "v1", Name: "nodes", Kind: "Node"},
	}
	testStates = []State{
		{}, {Word: "active"}, {Word: "running"}, {Word: "failed", Error: true},
		{Word: "pending", Transitioning: true}, {Word: "failed", Error: true, Transitioning: true},
		{Word: "failed"}, {Error: true},
	}
)

func newMachine(remember int) *machine {
	m := &machine{tally: newTally("test", remember), model: model{resources: make(map[string]*modelResource)}, hash: newHasher()}
	m.kept = []kept{{m.tally.snapshot(), "{}", map[string]counted{}, 0}}
	return m
}

func (m *machine) apply(r *modelResource, e event) {
	e.source = r.source
	m.tally.apply(e)
}

// operations is how many random operations each property is checked with, at least
// (make soak-model).
var operations = flag.Int("operations", 0, "random operations that each property of the model is checked with; 0 for rapid's number of checks")

// check checks a property, which returns the machine that it drove, as often as
// rapid is told to, and again until there were enough operations.
func check(t *testing.T, property func(*rapid.T) *machine) {
	t.Helper()
	done := 0
	for again := true; again; again = done < *operations {
		rapid.Check(t, func(t *rapid.T) { done += property(t).steps })
	}
	t.Logf("%d random operations", done)
}

// step does one random thing to both.
func (m *machine) step(t *rapid.T) {
	m.steps++
	resource := rapid.SampledFrom(testResources).Draw(t, "resource")
	key := resource.Key()
	r, open := m.model.resources[key]
	if !open {
		if rapid.Bool().Draw(t, "scope changes") {
			resource.Namespaced = !resource.Namespaced
		}
		m.publish(t) // as Counter does before an event that withholds
		m.next++
		r = &modelResource{resource: resource, source: m.next, held: true, read: make(map[string]*modelRound)}
		r.parts = resource.Namespaced && rapid.Bool().Draw(t, "in parts")
		m.model.resources[key] = r
		m.apply(r, event{op: opOpen, resource: &resource})
		return
	}
	name := [2]string{"", rapid.SampledFrom([]string{"v", "w", "x", "y", "z"}).Draw(t, "name")}
	if r.resource.Namespaced {
		name[0] = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "namespace")
	}
	at := r.at(name[0])
	k := m.hash.key(name[0], name[1])
	switch rapid.SampledFrom([]string{"put", "put", "put", "put", "again", "remove", "remove", "begin", "end", "end", "show", "end of part", "regroup", "close", "redefine", "stranger"}).Draw(t, "action") {
	case "put":
		states := both{rapid.SampledFrom(testStates).Draw(t, "state")}
		states[Steve] = states[Own]
		if rapid.Bool().Draw(t, "steve reads otherwise") {
			states[Steve] = rapid.SampledFrom(testStates).Draw(t, "steve's state")
		}
		m.put(r, at, name, states)
	case "again": // a duplicate delivery
		states, ok := at.objects[name]
		if !ok {
			return
		}
		m.put(r, at, name, states)
	case "remove": // of one that may not be there
		delete(at.objects, name)
		if at.round != nil {
			delete(at.round, name)
		}
		m.apply(r, event{op: opRemove, key: k})
	case "begin": // may cut a round short
		m.publish(t)
		r.begin(at)
		m.apply(r, event{op: opBegin, part: r.parts, namespace: name[0]})
	case "end": // may have had no begin
		if at.round != nil {
			at.objects, at.round = at.round, nil
		}
		at.part, r.divided = r.parts, r.parts
		if !r.parts {
			r.seen, r.held = true, false
		}
		m.apply(r, event{op: opEnd, part: r.parts, namespace: name[0]})
	case "show": // a resource that is read in parts is published from now on
		if !r.parts {
			return
		}
		r.seen, r.held = true, false
		maps.DeleteFunc(r.read, func(_ string, of *modelRound) bool { return r.divided && !of.part })
		m.apply(r, event{op: opEnd})
	case "end of part":
		if !r.parts {
			return
		}
		*at = modelRound{objects: make(objects), visible: at.visible}
		m.apply(r, event{op: opClose, part: true, namespace: name[0]})
	case "regroup": // by the first round that is read so
		if !r.resource.Namespaced {
			return
		}
		m.publish(t)
		r.regroup(!r.parts)
		at = r.at(name[0])
		r.begin(at)
		m.apply(r, event{op: opBegin, part: r.parts, namespace: name[0]})
	case "close":
		delete(m.model.resources, key)
		m.apply(r, event{op: opClose})
		return
	case "redefine":
		r.resource.Version = rapid.SampledFrom([]string{"v1", "v2"}).Draw(t, "version")
		changed := r.resource
		m.apply(r, event{op: opDefine, resource: &changed})
	case "stranger": // a source that was closed speaks
		m.tally.apply(event{op: opPut, source: 0, key: k, namespace: name[0]})
	}
	r.see()
}

func (m *machine) put(r *modelResource, at *modelRound, name [2]string, states both) {
	at.objects[name] = states
	if at.round != nil {
		at.round[name] = states
	}
	o := Object{State: states[Own]}
	if states[Steve] != states[Own] {
		o.Steve = &states[Steve]
	}
	m.apply(r, event{op: opPut, key: m.hash.key(name[0], name[1]), namespace: name[0], word: o.State.Word, flags: flagsOf(o)})
}

// publish publishes and checks all that must hold of a snapshot.
func (m *machine) publish(t *rapid.T) {
	last := m.kept[len(m.kept)-1]
	next := m.tally.publish()
	want := m.model.count()
	if next == nil {
		if diff := cmp.Diff(want, inBoth(last.snapshot)); diff != "" {
			t.Fatalf("a change was not published (-recount +snapshot):\n%s", diff)
		}
		return
	}
	if diff := cmp.Diff(want, inBoth(next)); diff != "" {
		t.Fatalf("snapshot %d is not the recount (-recount +snapshot):\n%s", next.Seq(), diff)
	}
	body := string(next.AppendJSON(nil))
	if next.Seq() != last.seq+1 || (body == last.json && cmp.Equal(want, last.plain)) {
		t.Fatalf("seq %d after %d although the counts went from %s to %s", next.Seq(), last.seq, last.json, body)
	}
	for reading := range Reading(readings) {
		checkInvariants(t, want, reading)
		checkChanged(t, last, next, want, reading)
	}
	m.kept = append(m.kept, kept{next, body, want, next.Seq()})
}

func checkInvariants(t *rapid.T, counts map[string]counted, in Reading) {
	for key, c := range counts {
		item, total := c[in], 0
		for namespace, s := range item.Namespaces {
			total += s.Count
			if s.Count <= 0 {
				t.Fatalf("%s: namespace %s has %d", key, namespace, s.Count)
			}
		}
		if item.Namespaces != nil && total != item.Summary.Count {
			t.Fatalf("%s: namespaces hold %d of %d", key, total, item.Summary.Count)
		}
	}
}

// checkChanged checks that a resource whose counts changed in one reading is said to
// have, and that one of which nothing changed is not.
func checkChanged(t *rapid.T, last kept, next *Snapshot, want map[string]counted, in Reading) {
	said := make(map[string]bool)
	for c := range next.Changed(last.seq, in) {
		said[c.Key()] = true
		was, had := last.plain[c.Key()]
		before := last.snapshot.Resource(c.Key())
		if is, has := want[c.Key()]; had && has && cmp.Equal(was[in], is[in]) && before.Resource() == c.Resource() {
			t.Fatalf("%s is said to have changed in reading %d", c.Key(), in)
		}
	}
	for key, is := range want {
		if was, had := last.plain[key]; !said[key] && !(had && cmp.Equal(was[in], is[in])) {
			t.Fatalf("%s changed in reading %d and is not said to", key, in)
		}
	}
}

// driven is a machine after random steps, with what it published on the way.
func driven(t *rapid.T) *machine {
	m := newMachine(rapid.SampledFrom([]int{1, 4, 1000}).Draw(t, "remember"))
	for range rapid.IntRange(1, 120).Draw(t, "steps") {
		m.step(t)
		if rapid.IntRange(0, 2).Draw(t, "publish") == 0 {
			m.publish(t)
		}
	}
	m.publish(t)
	return m
}

// TestTallyIsARecount is part 1 of the oracle: after any order of events, a
// snapshot is what a recount of all objects gives, and no snapshot that was
// handed out earlier has changed.
func TestTallyIsARecount(t *testing.T) {
	check(t, func(t *rapid.T) *machine {
		m := driven(t)
		for _, k := range m.kept {
			if got := string(k.snapshot.AppendJSON(nil)); got != k.json {
				t.Fatalf("snapshot %d changed after it was handed out:\nwas %s\nis  %s", k.seq, k.json, got)
			}
		}
		return m
	})
}

// TestDiffRebuilds is part 2 of the oracle: the difference from any earlier seq
// to any later snapshot, applied with a merge-patch library that is not ours,
// rebuilds the later one; and so do the differences chained.
func TestDiffRebuilds(t *testing.T) {
	check(t, func(t *rapid.T) *machine {
		m := driven(t)
		selectors := []Selector{{}, {Resources: []string{"pods", "nodes"}}, {Namespaces: []string{"a", "c", "never"}}, {Resources: []string{"deployments.apps"}, Namespaces: []string{"b"}}}
		sel := rapid.SampledFrom(selectors).Draw(t, "selector")
		reached := 0
		for i := range m.kept {
			at := i
			state := string(m.kept[i].snapshot.Select(sel).AppendJSON(nil))
			for j := i; j < len(m.kept); j++ {
				to := m.kept[j].snapshot
				if !to.Reaches("test", m.kept[at].seq) {
					break
				}
				reached++
				if rapid.Bool().Draw(t, "lags") && j < len(m.kept)-1 {
					continue
				}
				patch, changed := to.Select(sel).AppendPatch(nil, m.kept[at].seq)
				if !changed && string(patch) != "{}" {
					t.Fatalf("patch %s is said to be empty", patch)
				}
				state = merge(t, state, patch)
				want := string(to.Select(sel).AppendJSON(nil))
				if diff := cmp.Diff(decode(t, want), decode(t, state)); diff != "" {
					t.Fatalf("from %d to %d by %s (-snapshot +rebuilt):\n%s", m.kept[at].seq, to.Seq(), patch, diff)
				}
				at = j
			}
		}
		if reached < len(m.kept) {
			t.Fatalf("only %d of %d differences could be asked for: each snapshot reaches itself", reached, len(m.kept))
		}
		return m
	})
}

func merge(t *rapid.T, state string, patch []byte) string {
	merged, err := jsonpatch.MergePatch([]byte(state), patch)
	if err != nil {
		t.Fatalf("merging %s into %s: %v", patch, state, err)
	}
	return string(merged)
}

func decode(t *rapid.T, s string) (v any) {
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("decoding %s: %v", s, err)
	}
	return v
}

// TestSelectIsARecount checks that a narrowed snapshot is the recount of the
// objects in those namespaces.
func TestSelectIsARecount(t *testing.T) {
	check(t, func(t *rapid.T) *machine {
		m := newMachine(1000)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			m.step(t)
		}
		m.publish(t)
		namespaces := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "d"})).Draw(t, "namespaces")
		if namespaces == nil {
			namespaces = []string{}
		}
		want := make(map[string]counted)
		for key, r := range m.model.resources {
			if !r.seen || !r.resource.Namespaced {
				continue
			}
			in := make(objects)
			for name, state := range r.visible() {
				for _, namespace := range namespaces {
					if name[0] == namespace {
						in[name] = state
					}
				}
			}
			want[key] = recount(r.resource, in)
		}
		got := inBoth(m.kept[len(m.kept)-1].snapshot.Select(Selector{Namespaces: namespaces}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("namespaces %v (-recount +selected):\n%s", namespaces, diff)
		}
		return m
	})
}

func ExampleSnapshot_AppendPatch() {
	m := newMachine(10)
	pods := Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	m.tally.apply(event{op: opOpen, source: 1, resource: &pods})
	for i, namespace := range []string{"a", "a", "b"} {
		m.tally.apply(event{op: opPut, source: 1, key: key{uint32(i)}, namespace: namespace, word: "running"})
	}
	m.tally.apply(event{op: opEnd, source: 1})
	before := m.tally.publish()
	fmt.Println(string(before.AppendJSON(nil)))
	m.tally.apply(event{op: opRemove, source: 1, key: key{2}})
	m.tally.apply(event{op: opPut, source: 1, key: key{0}, namespace: "a", word: "failed", flags: recordError})
	patch, _ := m.tally.publish().AppendPatch(nil, before.Seq())
	fmt.Println(string(patch))
	// Output:
	// {"pods":{"kind":"Pod","version":"v1","namespaced":true,"summary":{"count":3,"states":{"running":3}},"namespaces":{"a":{"count":2,"states":{"running":2}},"b":{"count":1,"states":{"running":1}}}}}
	// {"pods":{"summary":{"count":2,"errors":1,"states":{"running":1,"failed":1}},"namespaces":{"a":{"errors":1,"states":{"running":1,"failed":1}},"b":null}}}
}
