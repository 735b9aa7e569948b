package main

import (
	"maps"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/fanout/subscriber"
)

// expected is the ConfigMaps that there are. It is for one goroutine.
type expected struct {
	count      int
	namespaces map[string]int
}

// expect returns those that are there at first.
func (o options) expect() *expected {
	e := &expected{namespaces: make(map[string]int)}
	for i := range o.server.Objects {
		e.add(i % o.server.Namespaces)
	}
	return e
}

func (e *expected) add(namespace int) {
	e.count++
	e.namespaces[apiserver.NamespaceName(namespace)]++
}

// wrote adds what was written.
func (e *expected) wrote(w writing) {
	for i := range w.number {
		e.add(w.namespace(i))
	}
}

// is says whether a state is exactly what is expected. It is of the moment in which it
// is asked for.
func (e *expected) is(kind string) func(*subscriber.State) bool {
	want := subscriber.Kind{Count: e.count, Namespaces: maps.Clone(e.namespaces)}
	return func(s *subscriber.State) bool {
		got := s.Kinds[kind]
		return got.Count == want.Count && maps.Equal(got.Namespaces, want.Namespaces)
	}
}

// kind is what a family calls ConfigMaps.
func kind(family string) string {
	return map[string]string{subscriber.Countd: "configmaps", subscriber.Steve: "configmap"}[family]
}

// crowd returns nobody, who will ask a server for the counts of all.
func (o options) crowd(url, family string) *subscriber.Crowd {
	return subscriber.NewCrowd(subscriber.Question{URL: url, Family: family, Debounce: o.debounce, Deflate: o.deflate}, kind(family))
}
