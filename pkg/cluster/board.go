package cluster

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/countd/countd/pkg/counts"
)

// board has the status of each resource. It is safe for concurrent use.
type board struct {
	log     *slog.Logger
	now     func() time.Time
	changed chan struct{} // holds one: a phase has changed
	trouble string        // what logTrouble logged; owned by its caller

	mu      sync.Mutex
	entries map[string]*entry
}

type entry struct {
	counts.Status
	waiting  bool      // for a turn to list
	odd      bool      // an object was met whose state cannot be read
	progress time.Time // when the list that is under way last brought something

	parts  map[string]*entry // by namespace, of a resource that is read so
	partly bool              // those are not all that were to be counted
	shown  bool              // the parts are in the snapshot
}

// awaited says that a list may still bring the resource's first count.
func (e *entry) awaited(now time.Time) bool {
	return e.Phase == counts.Syncing && (e.waiting || now.Sub(e.progress) < settlePatience)
}

func newBoard(log *slog.Logger) *board {
	return &board{log: log, now: time.Now, changed: make(chan struct{}, 1), entries: make(map[string]*entry)}
}

// all returns the status of all resources in the order of their keys.
func (b *board) all() []counts.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]counts.Status, 0, len(b.entries))
	for _, e := range b.entries {
		out = append(out, e.Status)
	}
	slices.SortFunc(out, func(x, y counts.Status) int { return cmp.Compare(x.Resource.Key(), y.Resource.Key()) })
	return out
}

// settled says whether of each resource it is known whether it is counted: one
// whose list is under way keeps it open for as long as the list brings
// something, and one that is silent for longer than settlePatience does not.
func (b *board) settled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.awaited(b.now()) {
			return false
		}
	}
	return true
}

// set puts entries that no feed reports on, in place of those that it put before:
// what is excluded, and groups that could not be discovered.
func (b *board) set(fixed map[string]counts.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.entries, func(key string, e *entry) bool {
		_, stays := fixed[key]
		return !stays && (e.Phase == counts.Excluded || e.Resource.Name == wholeGroup)
	})
	for key, status := range fixed {
		if e, ok := b.entries[key]; ok && e.Phase == status.Phase && e.Message == status.Message {
			continue
		}
		status.Since = b.now()
		b.entries[key] = &entry{Status: status}
		b.signal()
	}
}

// report is how a feed reports on its resource.
type report struct {
	board *board
	key   string
	part  string // the namespace that it is about; empty for the resource
}

func (b *board) report(r counts.Resource) *report {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := r.Key()
	if e, ok := b.entries[key]; ok && e.Phase != counts.Excluded {
		e.Resource = r // another version; its history goes on
	} else {
		now := b.now()
		b.entries[key] = &entry{Status: counts.Status{Resource: r, Phase: counts.Syncing, Since: now}, waiting: true, progress: now}
	}
	return &report{board: b, key: key}
}

// remove takes the resource off the board.
func (r *report) remove() {
	r.board.mu.Lock()
	defer r.board.mu.Unlock()
	delete(r.board.entries, r.key)
	r.board.signal()
}

func (r *report) change(f func(*entry)) (before, after counts.Status) {
	r.board.mu.Lock()
	defer r.board.mu.Unlock()
	e, ok := r.board.entries[r.key]
	if !ok {
		return before, after // removed meanwhile
	}
	before = e.Status
	if r.part == "" {
		f(e)
	} else if part, ok := e.parts[r.part]; ok {
		f(part)
		e.gather()
	}
	if e.Phase != before.Phase {
		e.Since = r.board.now()
	}
	return before, e.Status
}

// began says that it is a list's turn.
func (r *report) began() {
	r.change(func(e *entry) { e.waiting, e.progress = false, r.board.now() })
}

// waits says that the list that is under way waits for a turn to go on.
func (r *report) waits() {
	r.change(func(e *entry) { e.waiting = true })
}

// relisting says that the counts follow nothing until a list has ended. A resource
// that fails goes on failing until then.
func (r *report) relisting(why error) {
	before, after := r.change(func(e *entry) {
		e.waiting = true
		if e.Phase == counts.Ready {
			e.Phase, e.Reason, e.Message = counts.Syncing, "Relisting", why.Error()
		}
	})
	r.board.told(r.key, before, after)
}

// odd says that an object is counted without its state. It is logged once a
// resource: there may be as many as there are objects.
func (r *report) odd(err error) {
	first := false
	r.change(func(e *entry) { first, e.odd = !e.odd, true })
	if first {
		r.board.log.Warn("objects are counted without their state", "resource", r.key, "first", err)
	}
}

// reading says that a list has begun; read is called as it goes on.
func (r *report) reading() {
	r.change(func(e *entry) { e.Read, e.progress = 0, r.board.now() })
}

func (r *report) read(n int) {
	r.change(func(e *entry) { e.Read, e.progress = n, r.board.now() })
}

// ready says that a round has ended and its numbers are in the snapshot.
func (r *report) ready() {
	before, after := r.change(func(e *entry) {
		e.Phase, e.Counted, e.Reason, e.Message = counts.Ready, true, "", ""
		e.Rounds++
	})
	r.board.told(r.key, before, after)
}

// resumed says that the watch goes on where it ended.
func (r *report) resumed() {
	before, after := r.change(func(e *entry) {
		e.Restarts++
		if e.Counted {
			e.Phase, e.Reason, e.Message = counts.Ready, "", ""
		}
	})
	r.board.told(r.key, before, after)
}

// note says what is unusual.
func (r *report) note(text string) {
	before, _ := r.change(func(e *entry) { e.Note = text })
	if before.Note != text {
		r.board.log.Info("resource is read in another way", "resource", r.key, "note", text)
	}
}

func (r *report) isReady() bool { return r.status().Phase == counts.Ready }

func (r *report) isCounted() bool { return r.status().Counted }

func (r *report) status() counts.Status {
	r.board.mu.Lock()
	defer r.board.mu.Unlock()
	if e, ok := r.board.entries[r.key]; ok {
		return e.Status
	}
	return counts.Status{}
}

// failed says why the resource could not be read. It is retried.
func (r *report) failed(err error) {
	reason := apierrors.ReasonForError(err)
	before, after := r.change(func(e *entry) {
		e.Errors++
		e.Phase = counts.Failing
		if reason == metav1.StatusReasonForbidden || reason == metav1.StatusReasonUnauthorized {
			e.Phase = counts.Forbidden
		}
		e.Reason, e.Message = string(reason), err.Error()
		if reason == metav1.StatusReasonUnknown {
			e.Reason = "Failed"
		}
	})
	r.board.told(r.key, before, after)
}

// told passes a change of phase on.
func (b *board) told(key string, before, after counts.Status) {
	if before.Phase == after.Phase {
		return
	}
	b.log.Debug("resource", "resource", key, "phase", after.Phase, "before", before.Phase, "reason", after.Reason, "error", after.Message)
	b.signal()
}

func (b *board) signal() {
	select {
	case b.changed <- struct{}{}:
	default: // it has been said and not been heard yet
	}
}

// troubleShown is how many of the resources in trouble a log line names.
const troubleShown = 3

// logTrouble logs which resources are not followed, when that is not what it
// logged before: one line, because an API server that is away is one trouble and
// not one a resource.
func (b *board) logTrouble() {
	var names, reasons []string
	for _, s := range b.all() {
		if s.Phase == counts.Forbidden || s.Phase == counts.Failing {
			names = append(names, s.Resource.Key())
			reasons = append(reasons, s.Resource.Key()+": "+s.Message)
		}
	}
	now := strings.Join(names, " ")
	switch {
	case now == b.trouble:
	case now == "":
		b.log.Info("all resources are followed again")
	default:
		b.log.Warn("resources are not followed: they are not counted, or their counts are stale",
			"number", len(names), "among", strings.Join(reasons[:min(len(reasons), troubleShown)], "; "))
	}
	b.trouble = now
}

// wholeGroup stands for the resources of a group that could not be discovered.
const wholeGroup = "*"

func undiscovered(group string, cause error) counts.Status {
	return counts.Status{
		Resource: counts.Resource{Group: group, Name: wholeGroup, Kind: wholeGroup},
		Phase:    counts.Failing,
		Reason:   "DiscoveryFailed",
		Message:  fmt.Sprintf("the API server cannot say which resources this group has: %v", cause),
	}
}
