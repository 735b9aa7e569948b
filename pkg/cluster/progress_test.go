package cluster

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/countd/countd/pkg/counts"
)

// TestProgressIsLogged: how many resources are ready of how many, how many objects
// were read, and which lists are under way, the largest first.
func TestProgressIsLogged(t *testing.T) {
	var lines strings.Builder
	b := newBoard(slog.New(slog.NewTextHandler(&lines, nil)))
	report := func(name string) *report { return b.report(counts.Resource{Name: name}) }
	report("nodes").ready()
	report("leases") // waits for its turn
	report("secrets").failed(errors.New("gone"))
	b.set(map[string]counts.Status{
		"bindings": {Resource: counts.Resource{Name: "bindings"}, Phase: counts.Excluded},
		"*.x":      undiscovered("x", errors.New("gone")),
	})
	for name, read := range map[string]int{"events": 300, "pods": 1200, "services": 0} {
		r := report(name)
		r.began()
		r.reading()
		r.read(read)
	}
	relisted := report("jobs")
	relisted.ready()
	relisted.relisting(errors.New("gone"))
	relisted.began()
	relisted.read(100) // in the snapshot already

	b.logProgress(40)
	want := `msg="reading the cluster" ready=1 of=8 objects=1540 waiting=1 reading=4 among="pods: 1200; events: 300; jobs: 100; services: 0"`
	if !strings.Contains(lines.String(), want) {
		t.Errorf("logged %s, want %s", lines.String(), want)
	}
}
