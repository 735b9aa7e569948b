package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/countd/countd/pkg/counts"
)

// gatePoll is how often it is looked whether all parts of a resource are known.
const gatePoll = 100 * time.Millisecond

// validNamespaces returns names in order, each once.
func validNamespaces(names []string) ([]string, error) {
	for _, name := range names {
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return nil, fmt.Errorf("namespace %q: %s", name, strings.Join(wrong, ", "))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

// startParts reads a resource namespace by namespace, each with a list and a watch of
// its own, into parts of one source.
func (w *Watcher) startParts(ctx context.Context, is *running, rd *reader) {
	feeds := make([]feed, len(w.filter.namespaces))
	for i, namespace := range w.filter.namespaces {
		feeds[i] = newWatchFeed(rd.in(namespace), is.source.In(namespace), is.report.in(namespace), w.turns)
	}
	w.feeds.Go(func() {
		defer close(is.done)
		var parts sync.WaitGroup
		for _, f := range feeds {
			parts.Go(func() { f.run(ctx) })
		}
		if open(ctx, is.report) && is.source.End(ctx) == nil {
			is.report.show()
		}
		parts.Wait()
	})
}

// open waits until of each part of a resource it is known whether it is counted, and
// one of them is: it says whether that came to pass. Until then nothing of the
// resource is published, so that nobody sees its parts come in one after the other.
func open(ctx context.Context, r *report) bool {
	poll := time.NewTicker(gatePoll)
	defer poll.Stop()
	for !r.partsKnown() {
		select {
		case <-ctx.Done():
			return false
		case <-poll.C:
		}
	}
	return true
}

// in returns the report on one namespace of the resource. From then on the resource's
// own status is gathered from those of its parts.
func (r *report) in(namespace string) *report {
	r.change(func(e *entry) {
		part, ok := e.parts[namespace]
		if !ok {
			part = &entry{Status: counts.Status{Phase: counts.Syncing, Since: r.board.now()}}
			if e.parts == nil {
				e.parts = make(map[string]*entry)
			}
			e.parts[namespace] = part
		}
		if part.Phase == counts.Ready { // read anew, in another version
			part.Phase = counts.Syncing
		}
		part.waiting, part.progress = true, r.board.now()
		e.gather()
	})
	return &report{board: r.board, key: r.key, part: namespace}
}

// partsKnown says that no part is still awaited, and that one is counted.
func (r *report) partsKnown() bool {
	r.board.mu.Lock()
	defer r.board.mu.Unlock()
	e, ok := r.board.entries[r.key]
	if !ok {
		return false // removed meanwhile
	}
	counted := false
	for _, part := range e.parts {
		if part.awaited(r.board.now()) {
			return false
		}
		counted = counted || part.Phase == counts.Ready
	}
	return counted
}

// show says that the parts are in the snapshot.
func (r *report) show() {
	before, after := r.change(func(e *entry) {
		e.shown = true
		e.gather()
	})
	r.board.told(r.key, before, after)
}

// gather makes the status of a resource from those of its parts: as long as nothing
// is shown it is that of the part that is furthest behind, then that of one whose
// counts are stale, and otherwise ready, with a note of the parts that are not counted.
func (e *entry) gather() {
	var problem, absent *counts.Status
	e.Read, e.Rounds, e.Restarts, e.Errors, e.Note, e.waiting = 0, 0, 0, 0, "", false
	ready, awaited := false, false
	var notes []string
	for _, namespace := range slices.Sorted(maps.Keys(e.parts)) {
		part := e.parts[namespace]
		e.Read += part.Read
		e.Rounds, e.Restarts, e.Errors = e.Rounds+part.Rounds, e.Restarts+part.Restarts, e.Errors+part.Errors
		e.waiting = e.waiting || part.waiting
		if part.progress.After(e.progress) {
			e.progress = part.progress
		}
		if part.Note != "" {
			notes = append(notes, "namespace "+namespace+": "+part.Note)
		}
		said := part.Status
		if said.Message != "" {
			said.Message = "namespace " + namespace + ": " + said.Message
		}
		switch {
		case part.Phase == counts.Ready:
			ready = true
		case part.Counted && problem == nil:
			problem = &said
		case !part.Counted:
			awaited = awaited || part.Phase == counts.Syncing
			notes = append(notes, "not counted: namespace "+namespace+" ("+string(part.Phase)+" "+part.Reason+")")
			if absent == nil {
				absent = &said
			}
		}
	}
	e.Phase, e.Reason, e.Message = counts.Syncing, "", ""
	switch {
	case e.shown && problem != nil:
		e.Phase, e.Reason, e.Message = problem.Phase, problem.Reason, problem.Message
	case e.shown && ready:
		e.Phase, e.Counted = counts.Ready, true
	case !ready && !awaited && absent != nil:
		e.Phase, e.Reason, e.Message = absent.Phase, absent.Reason, absent.Message
	}
	e.Note = strings.Join(notes, "; ")
}
