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

// parts reads a resource namespace by namespace, each with a list and a watch of its
// own, into parts of one source.
type parts struct {
	reader *reader
	source *counts.Source
	report *report
	turns  *turns
	// partly says that these are not all the namespaces that were to be counted.
	partly bool
}

// part is one namespace that is being read.
type part struct {
	stop context.CancelFunc
	done chan struct{}
}

// run reads the namespaces that where returns until ctx ends, and looks again
// whenever the channel that it returns is closed. It returns earlier where there is
// no namespace; what was read stays counted then.
func (p *parts) run(ctx context.Context, where func(context.Context) ([]string, <-chan struct{})) {
	p.report.inParts(p.partly)
	ctx, cancel := context.WithCancel(ctx)
	reading := make(map[string]*part)
	var opening sync.WaitGroup
	defer opening.Wait()
	defer func() {
		cancel()
		for _, r := range reading {
			<-r.done
		}
	}()
	for first := true; ; first = false {
		wanted, changed := where(ctx)
		if len(wanted) == 0 || p.end(ctx, reading, wanted) != nil {
			return
		}
		for _, namespace := range wanted {
			if reading[namespace] == nil {
				reading[namespace] = p.begin(ctx, namespace)
			}
		}
		if first {
			opening.Go(func() {
				if open(ctx, p.report) && p.source.End(ctx) == nil {
					p.report.show()
				}
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

func (p *parts) begin(ctx context.Context, namespace string) *part {
	f := newWatchFeed(p.reader.in(namespace), p.source.In(namespace), p.report.in(namespace), p.turns)
	ctx, cancel := context.WithCancel(ctx)
	r := &part{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		f.run(ctx)
	}()
	return r
}

// end ends the parts that are not wanted any more, those of an earlier run included.
func (p *parts) end(ctx context.Context, reading map[string]*part, wanted []string) error {
	for _, namespace := range p.report.namespaces() {
		if slices.Contains(wanted, namespace) {
			continue
		}
		if r := reading[namespace]; r != nil {
			r.stop()
			<-r.done
			delete(reading, namespace)
		}
		if err := p.source.In(namespace).Close(ctx); err != nil {
			return err
		}
		p.report.out(namespace)
	}
	return nil
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

// inParts says that the resource is read in parts, and whether those are all.
func (r *report) inParts(partly bool) {
	r.change(func(e *entry) { e.partly = partly })
}

// out takes the part of a namespace off.
func (r *report) out(namespace string) {
	r.change(func(e *entry) {
		delete(e.parts, namespace)
		e.gather()
	})
}

// namespaces are those of which there are parts, in order.
func (r *report) namespaces() (names []string) {
	r.change(func(e *entry) { names = slices.Sorted(maps.Keys(e.parts)) })
	return names
}

// whole says that the resource is not read in parts any more.
func (r *report) whole() {
	r.change(func(e *entry) { e.parts, e.partly, e.shown, e.Note = nil, false, false, "" })
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
	var notes, counted []string
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
			counted = append(counted, namespace)
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
	if e.partly {
		notes = slices.Insert(notes, 0, "may not be listed cluster-wide, counted in "+named(counted))
	}
	e.Note = strings.Join(notes, "; ")
}

// mostNamed is how many namespaces a note names.
const mostNamed = 10

func named(namespaces []string) string {
	switch more := len(namespaces) - mostNamed; {
	case len(namespaces) == 0:
		return "no namespace"
	case len(namespaces) == 1:
		return "namespace " + namespaces[0]
	case more > 0:
		return fmt.Sprintf("namespaces %s and %d more", strings.Join(namespaces[:mostNamed], ", "), more)
	}
	return "namespaces " + strings.Join(namespaces, ", ")
}
