package subscriber

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// State is the counts that a client holds. It is immutable, and one for all that hold the
// same.
type State struct {
	// Kinds by their keys: Kubernetes' name in countd's own family, the schema id in
	// steve's.
	Kinds map[string]Kind

	epoch string
	seq   uint64
}

// Kind is the counts of one kind.
type Kind struct {
	// Count is of all.
	Count int
	// Namespaces that have some.
	Namespaces map[string]int
}

// Count is how many objects of a kind there are.
func (s *State) Count(kind string) int {
	if s == nil {
		return 0
	}
	return s.Kinds[kind].Count
}

// number is a number of a merge patch: absent, null, or a value.
type number struct {
	given bool
	value int
}

// UnmarshalJSON is called for null too.
func (n *number) UnmarshalJSON(b []byte) error {
	n.given = true
	if string(b) == "null" {
		return nil
	}
	return json.Unmarshal(b, &n.value)
}

type summary struct {
	Count number `json:"count"`
}

// patched returns a number after a patch.
func (n number) patched(before int) int {
	if n.given {
		return n.value
	}
	return before
}

// item is the counts of a kind, or a patch of them; a namespace that is nil is gone.
type item struct {
	Summary    summary             `json:"summary"`
	Namespaces map[string]*summary `json:"namespaces"`
}

// kind returns what a patch makes of the counts of a kind.
func (i *item) kind(before Kind) Kind {
	after := Kind{Count: i.Summary.Count.patched(before.Count), Namespaces: maps.Clone(before.Namespaces)}
	if after.Namespaces == nil {
		after.Namespaces = make(map[string]int, len(i.Namespaces))
	}
	for name, s := range i.Namespaces {
		if s == nil {
			delete(after.Namespaces, name)
		} else {
			after.Namespaces[name] = s.Count.patched(after.Namespaces[name])
		}
	}
	return after
}

// then returns the state that a client holds who held another and is sent a message.
func (s *State) then(family string, text []byte) (*State, error) {
	if family == Steve {
		return s.thenSteve(text)
	}
	var m struct {
		Type, Epoch, Reason, Message string
		From, Seq                    uint64
		Resources                    map[string]*item
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	next := &State{Kinds: make(map[string]Kind), epoch: m.Epoch, seq: m.Seq}
	switch {
	case m.Type == "snapshot":
	case m.Type != "delta":
		return nil, fmt.Errorf("a message of type %q: %s: %s", m.Type, m.Reason, m.Message)
	case s == nil || s.epoch != m.Epoch || s.seq != m.From:
		return nil, errors.New("a difference to what the client does not hold")
	default:
		maps.Copy(next.Kinds, s.Kinds)
	}
	next.merge(m.Resources)
	return next, nil
}

// merge takes a patch into a state that nobody has seen.
func (s *State) merge(patch map[string]*item) {
	for key, i := range patch {
		if i == nil {
			delete(s.Kinds, key)
		} else {
			s.Kinds[key] = i.kind(s.Kinds[key])
		}
	}
}

// thenSteve takes in each kind as a whole.
func (s *State) thenSteve(text []byte) (*State, error) {
	var m struct {
		Name string
		Data struct {
			Error  string
			Counts map[string]*item
		}
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	switch m.Name {
	case "ping", "resource.start":
		return s, nil
	case "resource.change":
	default:
		return nil, fmt.Errorf("a message %q: %s", m.Name, m.Data.Error)
	}
	next := &State{Kinds: make(map[string]Kind)}
	if s != nil {
		maps.Copy(next.Kinds, s.Kinds)
	}
	for key := range m.Data.Counts {
		delete(next.Kinds, key)
	}
	next.merge(m.Data.Counts)
	return next, nil
}
