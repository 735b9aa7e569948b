package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/bench/reader"
)

// measured is what one reader cost. All memory is in bytes. Starting is from the
// start to the first rest, Relisting from 410 to the second.
type measured struct {
	Reader     string
	Objects    int
	Listed     time.Duration // until the first list was complete
	Read       time.Duration // until everything was
	Relisted   time.Duration // from 410 until everything was read again
	Heap       int64         // live at rest, less what it was before
	HeapAfter  int64         // the same after the relist
	Idle       int64         // of the heap in use at rest, before collections
	InUse      int64         // the same after them
	StartPeak  int64         // of the heap in use, while starting
	RelistPeak int64         // of the heap in use, while relisting
	Resident   int64         // at rest, before collections
	RSSPeak    int64         // of resident memory, in all
	StartCPU   time.Duration // until the first rest
	RelistCPU  time.Duration // of the relist
}

// moments are an API server, or what stands for one.
type moments interface {
	Moment(ctx context.Context) (apiserver.Moment, error)
	Expire(ctx context.Context, gone int) (apiserver.Moment, error)
}

const (
	lookEvery     = 20 * time.Millisecond
	progressEvery = 10 * time.Second
	// lostInGap is one object of how many that goes while nobody watches.
	lostInGap = 1000
)

// measure runs a reader, which begin makes, until it has read everything, measures
// it at rest, has it list anew and measures it again.
func measure(ctx context.Context, begin func() (reader.Reader, moments, error), rest time.Duration) (m measured, err error) {
	before := live()
	began := time.Now()
	peak := newPeak()
	defer peak.stop()
	r, server, err := begin()
	if err != nil {
		return m, err
	}
	running, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stop(fmt.Errorf("reading: %w", r.Run(running)))
	}()
	defer func() {
		stop(nil)
		<-ended
	}()

	now, err := server.Moment(running)
	if err != nil {
		return m, err
	}
	m.Objects = now.Objects
	if m.Listed, err = await(running, began, r.Listed); err != nil {
		return m, err
	}
	if m.Read, err = await(running, began, func() bool { return r.Holds(now) }); err != nil {
		return m, err
	}
	var used process.Usage
	if used, err = resting(running, rest); err != nil {
		return m, err
	}
	m.Resident, m.StartCPU, m.StartPeak, m.Idle = used.Resident, used.CPU, peak.take(), heapInUse()
	m.Heap, m.InUse = live()-before, heapInUse()
	if err := right(r, now); err != nil {
		return m, err
	}

	runtime.GC() // of what right has made
	if used, err = process.Self(); err != nil {
		return m, err
	}
	peak.take()
	again := time.Now()
	if now, err = server.Expire(running, max(1, m.Objects/lostInGap)); err != nil {
		return m, err
	}
	if m.Relisted, err = await(running, again, func() bool { return r.Holds(now) }); err != nil {
		return m, err
	}
	relisted, err := resting(running, rest)
	if err != nil {
		return m, err
	}
	m.RelistPeak, m.RelistCPU, m.RSSPeak = peak.take(), relisted.CPU-used.CPU, relisted.Peak
	m.HeapAfter = live() - before
	return m, right(r, now)
}

// resting tells what the process takes after a rest.
func resting(ctx context.Context, rest time.Duration) (process.Usage, error) {
	select {
	case <-time.After(rest):
		return process.Self()
	case <-ctx.Done():
		return process.Usage{}, context.Cause(ctx)
	}
}

func right(r reader.Reader, m apiserver.Moment) error {
	if n := r.Objects(); n != m.Objects {
		return fmt.Errorf("it has %d objects, want %d", n, m.Objects)
	}
	return nil
}

// await returns how long after began done was true.
func await(ctx context.Context, began time.Time, done func() bool) (time.Duration, error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	progress := time.NewTicker(progressEvery)
	defer progress.Stop()
	for !done() {
		select {
		case <-look.C:
		case <-progress.C:
			fmt.Fprintf(os.Stderr, "memory: reading for %s\n", time.Since(began).Round(time.Second))
		case <-ctx.Done():
			return 0, errors.Join(context.Cause(ctx), errors.New("not everything has been read"))
		}
	}
	return time.Since(began), nil
}
