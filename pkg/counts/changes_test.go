package counts

import (
	"testing"

	"pgregory.net/rapid"
)

// TestChangesMissNothing: what is said not to have changed has not, for any part and
// between any two snapshots.
func TestChangesMissNothing(t *testing.T) {
	check(t, func(t *rapid.T) *machine {
		m := driven(t)
		sel := rapid.SampledFrom([]Selector{
			{}, {Resources: []string{"pods"}}, {Namespaces: []string{"a"}}, {Namespaces: []string{"b", "never"}},
			{Resources: []string{"deployments.apps", "nodes"}, Namespaces: []string{"c"}},
		}).Draw(t, "selector")
		names := rapid.Bool().Draw(t, "namespaces")
		for i := range m.kept {
			for _, to := range m.kept[i:] {
				now, since := to.snapshot, m.kept[i].seq
				touched := now.Changes(since, names).Touch(sel)
				if !now.Reaches("test", since) {
					if !touched {
						t.Fatalf("from %d, which is forgotten, to %d nothing is said to have changed", since, now.Seq())
					}
					continue
				}
				patch, changed := now.Select(sel).AppendPatch(nil, since)
				steve := 0
				for range now.Select(sel).Changed(since, Steve) {
					steve++
				}
				if !touched && (changed || steve > 0) {
					t.Fatalf("from %d to %d nothing is said to have changed in %v, but %s has, and %d kinds in steve's reading", since, now.Seq(), sel, patch, steve)
				}
				if now.Seq() == since && touched {
					t.Fatalf("at %d something is said to have changed since", since)
				}
			}
		}
		return m
	})
}

// TestChangesElsewhereTouchNobody: a change in one namespace is none in another, nor
// one of another resource.
func TestChangesElsewhereTouchNobody(t *testing.T) {
	m := newMachine(10)
	for i, name := range []string{"pods", "secrets"} {
		r := Resource{Version: "v1", Name: name, Kind: name, Namespaced: true}
		m.tally.apply(event{op: opOpen, source: uint32(i + 1), resource: &r})
		m.tally.apply(event{op: opEnd, source: uint32(i + 1)})
	}
	since := m.tally.publish().Seq()
	m.tally.apply(event{op: opPut, source: 1, key: key{1}, namespace: "a"})
	changes := m.tally.publish().Changes(since, true)
	for _, test := range []struct {
		selector Selector
		want     bool
	}{
		{Selector{}, true},
		{Selector{Resources: []string{"pods"}}, true},
		{Selector{Resources: []string{"secrets"}}, false},
		{Selector{Namespaces: []string{"a", "b"}}, true},
		{Selector{Namespaces: []string{"b"}}, false},
		{Selector{Resources: []string{"secrets"}, Namespaces: []string{"a"}}, false},
	} {
		if got := changes.Touch(test.selector); got != test.want {
			t.Errorf("%+v: touched is %t", test.selector, got)
		}
	}
}
