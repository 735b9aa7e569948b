package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/bench/reader"
)

// Roles of processes besides those that readers have.
const (
	foldRole   = "fold"
	decodeRole = "decode"
)

// results are what all processes have measured.
type results struct {
	Fold    folded
	Decoded decoded
	// Readers are in the order in which they are told, ours first.
	Readers []followed
}

// run has each process measure, and reports.
func (o options) run(ctx context.Context) error {
	if o.runs < 1 || o.events < tick || o.kinds < 1 || o.folded < 1 {
		return fmt.Errorf("%d runs of %d events, %d kinds in %d namespaces: want some, and %d events or more", o.runs, o.events, o.kinds, o.folded, tick)
	}
	var r results
	if err := o.measure(ctx, foldRole, "", &r.Fold); err != nil {
		return err
	}
	if err := o.measure(ctx, decodeRole, "", &r.Decoded); err != nil {
		return err
	}
	roles := []string{reader.Countd}
	if o.peers {
		roles = append(roles, reader.Typed, reader.Metadata, reader.Transform)
	}
	all := make(map[string][]float64)
	for range o.runs {
		for _, role := range roles {
			f, err := o.follow(ctx, role)
			if err != nil {
				return err
			}
			all[role] = append(all[role], f)
		}
	}
	for _, role := range roles {
		r.Readers = append(r.Readers, followed{role, median(all[role])})
	}
	if err := o.followOutsider(ctx); err != nil {
		return err
	}
	o.report(r)
	return nil
}

// measure has one process measure, and reads what it says into result.
func (o options) measure(ctx context.Context, role, url string, result any) error {
	fmt.Fprintln(os.Stderr, "events: measuring", role)
	child, err := process.Start(ctx, append(o.server.Args(), "-role", role, "-server", url, "-gogc", strconv.Itoa(o.gogc), "-rest", o.rest.String(),
		"-events", strconv.Itoa(o.events), "-runs", strconv.Itoa(o.runs), "-kinds", strconv.Itoa(o.kinds), "-fold-namespaces", strconv.Itoa(o.folded))...)
	if err != nil {
		return err
	}
	line, err := child.Line()
	if err == nil {
		err = json.Unmarshal([]byte(line), result)
	}
	return errors.Join(err, child.Stop())
}

// follow has one reader measured with an API server of its own.
func (o options) follow(ctx context.Context, role string) (microseconds float64, err error) {
	url, stop, err := process.Host{Listen: "127.0.0.1:0"}.Start(ctx, o.server.Args()...)
	if err != nil {
		return 0, err
	}
	defer stop()
	err = o.measure(ctx, role, url, &microseconds)
	return microseconds, err
}

// followOutsider sends the changes to the program that -peer-pid names.
func (o *options) followOutsider(ctx context.Context) error {
	if o.peer.PID == 0 {
		return nil
	}
	if err := o.peer.Await(ctx); err != nil {
		return err
	}
	if _, err := (apiserver.Client{URL: o.host.URL}).Release(ctx); err != nil {
		return err
	}
	return o.peer.Settle(ctx)
}

// child is a process that measures, and writes what it has measured as one line.
func (o options) child(ctx context.Context, role string) error {
	var result any
	var err error
	switch role {
	case foldRole:
		result, err = o.fold(ctx)
	case decodeRole:
		o.setGC()
		result, err = o.decode()
	default:
		if role == reader.Countd {
			o.setGC()
		}
		result, err = o.read(ctx, role)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	return json.NewEncoder(o.out).Encode(result)
}

// followed is what one reader takes for an event, in microseconds.
type followed struct {
	Reader       string
	Microseconds float64
}

// events that the API server sends.
func (o options) sent() int { return o.server.Changes * eventsPerChange }

const (
	// eventsPerChange are package apiserver's.
	eventsPerChange = 3
	lookEvery       = 5 * time.Millisecond
)

// read is one reader: what its process takes for an event once it has rested.
func (o options) read(ctx context.Context, role string) (microseconds float64, err error) {
	r, err := reader.New(role, o.host.URL, o.server.Kind)
	if err != nil {
		return 0, err
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
	if err := await(running, r.Listed); err != nil {
		return 0, err
	}
	if err := pause(running, o.rest); err != nil {
		return 0, err
	}
	before := process.CPUTime()
	now, err := apiserver.Client{URL: o.host.URL}.Release(running)
	if err != nil {
		return 0, err
	}
	if err := await(running, func() bool { return r.Holds(now) }); err != nil {
		return 0, err
	}
	return micros(process.CPUTime()-before, o.sent()), nil
}

func await(ctx context.Context, done func() bool) error {
	for !done() {
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
