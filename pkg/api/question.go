package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countd/countd/pkg/counts"
)

// question is what a client of countd's own family asks for.
type question struct {
	selector counts.Selector
	interval time.Duration
	// What a client that resumes holds; both zero for one that does not.
	epoch string
	since uint64
}

// maxName is the length of the longest name that Kubernetes gives a resource
// with its group, or a namespace.
const maxName = 253

// The parameters of a question, as a query and as a websocket's first message
// spell them.
const (
	paramResources  = "resources"
	paramNamespaces = "namespaces"
	paramDebounce   = "debounceMs"
	paramEpoch      = "epoch"
	paramSince      = "since"
)

// message is a question as a websocket's first message has it. Since a client
// may leave each field out, none of them is a plain value.
type message struct {
	Resources  []string `json:"resources"`
	Namespaces []string `json:"namespaces"`
	DebounceMs *int64   `json:"debounceMs"`
	Epoch      *string  `json:"epoch"`
	Since      *uint64  `json:"since"`
}

// ofMessage reads a question from a websocket's first message.
func (s *Server) ofMessage(data []byte) (question, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var m message
	if err := decoder.Decode(&m); err != nil {
		return question{}, badRequest("reading the question: %s", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return question{}, badRequest("reading the question: there is more than one JSON value")
	}
	return s.question(m)
}

// ofQuery reads a question from a query, of which only some parameters may be
// allowed.
func (s *Server) ofQuery(query url.Values, allowed ...string) (question, error) {
	var m message
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(allowed, name) {
			return question{}, badRequest("unknown parameter %.80q%s", name, didYouMean(name, allowed))
		}
		var err error
		switch name {
		case paramResources:
			m.Resources = split(query[name])
		case paramNamespaces:
			m.Namespaces = split(query[name])
		case paramDebounce:
			m.DebounceMs, err = one(query, name, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
		case paramEpoch:
			m.Epoch, err = one(query, name, func(s string) (string, error) { return s, nil })
		case paramSince:
			m.Since, err = one(query, name, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
		}
		if err != nil {
			return question{}, err
		}
	}
	return s.question(m)
}

// split takes lists that are separated by commas, repeated, or both.
func split(values []string) []string {
	list := []string{}
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" {
				list = append(list, name)
			}
		}
	}
	return list
}

func one[T any](query url.Values, name string, parse func(string) (T, error)) (*T, error) {
	if n := len(query[name]); n != 1 {
		return nil, badRequest("parameter %q is given %d times", name, n)
	}
	value, err := parse(query.Get(name))
	if err != nil {
		return nil, badRequest("parameter %q is %.80q, want a whole number", name, query.Get(name))
	}
	return &value, nil
}

// question checks a message and fills in what it leaves out.
func (s *Server) question(m message) (question, error) {
	q := question{interval: s.options.Debounce}
	q.selector.Resources = normal(m.Resources)
	q.selector.Namespaces = normal(m.Namespaces)
	if err := checkNames(paramResources, q.selector.Resources); err != nil {
		return q, err
	}
	if err := checkNames(paramNamespaces, q.selector.Namespaces); err != nil {
		return q, err
	}
	if m.DebounceMs != nil {
		lowest, highest := s.options.MinDebounce.Milliseconds(), s.options.MaxDebounce.Milliseconds()
		if *m.DebounceMs < lowest || *m.DebounceMs > highest {
			return q, badRequest("debounceMs is %d, want %d to %d", *m.DebounceMs, lowest, highest)
		}
		q.interval = time.Duration(*m.DebounceMs) * time.Millisecond
	}
	if (m.Epoch == nil) != (m.Since == nil) {
		return q, badRequest("epoch and since belong together: they say which state is held")
	}
	if m.Epoch != nil {
		q.epoch, q.since = *m.Epoch, *m.Since
	}
	return q, nil
}

// normal sorts names and takes duplicates out; nil, which means all, stays nil.
func normal(names []string) []string {
	if names == nil {
		return nil
	}
	sorted := slices.Sorted(slices.Values(names))
	if sorted == nil {
		return []string{}
	}
	return slices.Compact(sorted)
}

// checkNames refuses what cannot be a name in Kubernetes, and a list of none,
// which may be meant as everything or as nothing.
func checkNames(parameter string, names []string) error {
	if names != nil && len(names) == 0 {
		return badRequest("%s names none: leave it out to get all", parameter)
	}
	for _, name := range names {
		if name == "" || len(name) > maxName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
			return badRequest("%s has %.80q, which is not a name: want lower-case letters, digits, '-' and '.', at most %d", parameter, name, maxName)
		}
	}
	return nil
}
