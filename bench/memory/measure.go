package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countd/countd/pkg/counts"
)

// measured is what a run cost.
type measured struct {
	objects    int
	namespaces int
	events     int
	synced     time.Duration // until the first list was counted
	folded     time.Duration // until the changes were, too
	heap       int64         // bytes
	goroutines int
	rss, peak  int64 // bytes
}

const (
	lookEvery     = 50 * time.Millisecond
	progressEvery = 10 * time.Second
)

// measure runs a feeder until it has told of all events, checks the count, and
// measures.
func measure(ctx context.Context, f feeder, objects, events int) (m measured, err error) {
	before := heap()
	counter, err := counts.New(counts.Options{})
	if err != nil {
		return m, err
	}
	running, stop := context.WithCancel(ctx)
	group, running := errgroup.WithContext(running)
	group.Go(func() error { return counter.Run(running) })
	group.Go(func() error { return f.feed(running, counter) })

	m = measured{objects: objects, events: events}
	began := time.Now()
	if m.synced, err = await(running, counter, began, func() bool { return total(counter) == objects }); err == nil {
		m.folded, err = await(running, counter, began, func() bool {
			s := counter.Stats()
			return s.Events >= uint64(events) && s.Waiting == 0 && total(counter) == objects
		})
	}
	if err == nil {
		m.heap = heap() - before
		m.goroutines = runtime.NumGoroutine()
		m.namespaces = namespaces(counter)
		m.rss, m.peak, err = resident()
	}
	stop()
	if ended := group.Wait(); err == nil || errors.Is(err, context.Canceled) {
		if ended != nil && !errors.Is(ended, context.Canceled) {
			err = ended
		}
	}
	return m, err
}

// await returns how long after began done was true.
func await(ctx context.Context, c *counts.Counter, began time.Time, done func() bool) (time.Duration, error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	progress := time.NewTicker(progressEvery)
	defer progress.Stop()
	for !done() {
		select {
		case <-look.C:
		case <-progress.C:
			fmt.Fprintf(os.Stderr, "memory: %d events folded after %s\n", c.Stats().Events, time.Since(began).Round(time.Second))
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return time.Since(began), nil
}

func total(c *counts.Counter) (n int) {
	for r := range c.Snapshot().Resources() {
		n += r.Total().Count()
	}
	return n
}

func namespaces(c *counts.Counter) int {
	seen := make(map[string]bool)
	for r := range c.Snapshot().Resources() {
		for namespace := range r.Namespaces() {
			seen[namespace] = true
		}
	}
	return len(seen)
}

// heap returns the bytes of live objects. The first collection lets finalizers
// run, the second takes what they held.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// resident returns the resident memory of this process, now and at its most.
func resident() (now, peak int64, err error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, 0, fmt.Errorf("reading resident memory, which only Linux tells: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			now = kib << 10
		case "VmHWM:":
			peak = kib << 10
		}
	}
	return now, peak, nil
}

func (m measured) perObject() float64 { return float64(m.heap) / float64(m.objects) }

func (m measured) report(out io.Writer, kind string) {
	const mib = 1 << 20
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, format string, args ...any) {
		_, _ = fmt.Fprintf(table, name+"\t"+format+"\n", args...)
	}
	row("objects", "%d %ss in %d namespaces", m.objects, kind, m.namespaces)
	row("first list counted after", "%.1f s", m.synced.Seconds())
	row("all events folded after", "%.1f s, %d events", m.folded.Seconds(), m.events)
	row("live heap", "%.1f MiB", float64(m.heap)/mib)
	row("for each object", "%.1f bytes", m.perObject())
	row("resident memory", "%.1f MiB, at its most %.1f MiB", float64(m.rss)/mib, float64(m.peak)/mib)
	row("goroutines", "%d", m.goroutines)
	_ = table.Flush()
	_, _ = fmt.Fprintf(out, "RESULT bytes_per_object=%.1f objects=%d rss_mib=%.1f\n", m.perObject(), m.objects, float64(m.rss)/mib)
}
