package counts

import "maps"

// Summary says how many objects there are and how many of them are in which
// state. It is a plain value with a map in it: whoever holds it owns the map.
type Summary struct {
	// Count is the number of objects.
	Count int `json:"count,omitempty"`
	// States is the number of objects by state word. Objects with nothing to
	// say (active) are in Count alone.
	States map[string]int `json:"states,omitempty"`
	// Errors is the number of objects in error.
	Errors int `json:"errors,omitempty"`
	// Transitioning is the number of objects on their way to another state. An
	// object may be in error and transitioning at once.
	Transitioning int `json:"transitioning,omitempty"`
}

// DeepCopy returns a copy that shares nothing with s.
func (s Summary) DeepCopy() Summary {
	s.States = maps.Clone(s.States)
	return s
}

// ItemCount is the count of one resource: in all and, for a namespaced one, in
// each namespace that holds any.
type ItemCount struct {
	// Summary is always part of the JSON, even when it is empty: the Rancher
	// dashboard throws without it.
	Summary Summary `json:"summary"`
	// Namespaces has no entry for a namespace without objects.
	Namespaces map[string]Summary `json:"namespaces,omitempty"`
}

// DeepCopy returns a copy that shares nothing with c.
func (c ItemCount) DeepCopy() ItemCount {
	c.Summary = c.Summary.DeepCopy()
	c.Namespaces = maps.Clone(c.Namespaces)
	for namespace, summary := range c.Namespaces {
		c.Namespaces[namespace] = summary.DeepCopy()
	}
	return c
}

// Count is what Rancher's steve calls a count: one object that holds the counts
// of all resources by schema id.
type Count struct {
	ID     string               `json:"id"`
	Type   string               `json:"type"`
	Counts map[string]ItemCount `json:"counts"`
}

// NewCount returns a Count with the id and the type that steve gives it.
func NewCount(counts map[string]ItemCount) Count {
	return Count{ID: "count", Type: "count", Counts: counts}
}
