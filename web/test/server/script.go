package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/countd/countd/pkg/counts"
)

// command is one line of a test.
type command struct {
	// Do is "begin" (a resource is discovered), "end" (its first list is
	// complete), "put", "remove", "close" (it is no longer served), "phase" (of
	// Status, kept until the next), "settle", "cut" (all connections are lost,
	// and new ones too until "mend") or "mend".
	Do       string
	Resource counts.Resource
	Objects  []counts.Object
	Status   counts.Status
}

// script carries out what a test says. It is owned by the goroutine that reads
// it; only the board is shared.
type script struct {
	counter *counts.Counter
	sources map[string]*counts.Source
	board   board
	settled chan struct{}
	line    *line
}

func newScript(counter *counts.Counter) *script {
	return &script{
		counter: counter,
		sources: make(map[string]*counts.Source),
		board:   board{entries: make(map[string]counts.Status)},
		settled: make(chan struct{}),
	}
}

func (s *script) do(ctx context.Context, text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var c command
	if err := decoder.Decode(&c); err != nil {
		return fmt.Errorf("reading a command: %w", err)
	}
	switch c.Do {
	case "settle":
		close(s.settled)
		return nil
	case "cut":
		s.line.cut()
		return nil
	case "mend":
		s.line.mend()
		return nil
	case "phase":
		s.board.set(c.Resource, c.Status)
		return nil
	case "begin":
		s.board.set(c.Resource, counts.Status{Phase: counts.Syncing})
		source, err := s.counter.Source(ctx, c.Resource)
		if err != nil {
			return err
		}
		s.sources[c.Resource.Key()] = source
		return source.Begin(ctx)
	}
	source := s.sources[c.Resource.Key()]
	if source == nil {
		return fmt.Errorf("%s has no source", c.Resource.Key())
	}
	return s.feed(ctx, source, c)
}

func (s *script) feed(ctx context.Context, source *counts.Source, c command) error {
	switch c.Do {
	case "end":
		s.board.set(c.Resource, counts.Status{Phase: counts.Ready, Counted: true})
		return source.End(ctx)
	case "put":
		for _, o := range c.Objects {
			if err := source.Put(ctx, o); err != nil {
				return err
			}
		}
		return source.Sync(ctx)
	case "remove":
		for _, o := range c.Objects {
			if err := source.Remove(ctx, o.Namespace, o.Name); err != nil {
				return err
			}
		}
		return source.Sync(ctx)
	case "close":
		s.board.remove(c.Resource)
		delete(s.sources, c.Resource.Key())
		return source.Close(ctx)
	default:
		return errors.New("unknown command " + c.Do)
	}
}

// board has the status of each resource. It is safe for concurrent use.
type board struct {
	mu      sync.Mutex
	entries map[string]counts.Status
}

func (b *board) set(r counts.Resource, status counts.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	status.Resource = r
	status.Since = time.Now()
	b.entries[r.Key()] = status
}

func (b *board) remove(r counts.Resource) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.entries, r.Key())
}

func (b *board) all() []counts.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]counts.Status, 0, len(b.entries))
	for _, status := range b.entries {
		all = append(all, status)
	}
	return all
}
