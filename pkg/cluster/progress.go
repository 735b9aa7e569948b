package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countd/countd/pkg/counts"
)

const (
	// progressEvery is how often the log tells how far the first reading has come.
	progressEvery = 10 * time.Second
	// progressShown is how many of the resources that are read it names.
	progressShown = 5
)

// logProgress logs how far the first reading has come: counted is the number of
// objects in the snapshot. It names the lists that are under way, the largest
// first, because those are what a person waits for.
func (b *board) logProgress(counted int) {
	var reading []counts.Status
	of, ready, waiting := 0, 0, 0
	b.mu.Lock()
	for _, e := range b.entries {
		switch {
		case e.Phase == counts.Excluded:
			continue
		case e.Phase == counts.Ready:
			ready++
		case e.Phase == counts.Syncing && e.waiting:
			waiting++
		case e.Phase == counts.Syncing:
			reading = append(reading, e.Status)
		}
		of++
		if !e.Counted {
			counted += e.Read
		}
	}
	b.mu.Unlock()
	slices.SortFunc(reading, func(x, y counts.Status) int {
		return cmp.Or(cmp.Compare(y.Read, x.Read), cmp.Compare(x.Resource.Key(), y.Resource.Key()))
	})
	names := make([]string, 0, progressShown)
	for _, s := range reading[:min(len(reading), progressShown)] {
		names = append(names, fmt.Sprintf("%s: %d", s.Resource.Key(), s.Read))
	}
	b.log.Info("reading the cluster", "ready", ready, "of", of, "objects", counted,
		"waiting", waiting, "reading", len(reading), "among", strings.Join(names, "; "))
}

// objects is how many objects a snapshot counts.
func objects(s *counts.Snapshot) (n int) {
	for c := range s.Resources() {
		n += c.Total().Count()
	}
	return n
}
