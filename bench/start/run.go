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

// lookEvery is how exactly a reader knows that it is ready.
const lookEvery = 2 * time.Millisecond

// started is one run of one reader.
type started struct {
	Ready   time.Duration // from before the start of the process
	Objects int
	process.Usage
}

// run alternates the readers and reports.
func (o options) run(ctx context.Context) error {
	if o.runs < 1 {
		return fmt.Errorf("runs: %d, want 1 or more", o.runs)
	}
	url, stop, err := o.host.Start(ctx, o.server.Args()...)
	if err != nil {
		return err
	}
	defer stop()
	if err := o.peer.Await(ctx); err != nil {
		return err
	}
	roles := []string{reader.Countd}
	if o.peers {
		roles = append(roles, reader.Reflector, reader.ReflectorMetadata)
	}
	all := make(map[string][]started)
	for i := range o.runs {
		for _, role := range roles {
			s, err := o.start(ctx, role, url)
			if err != nil {
				return fmt.Errorf("%s: %w", role, err)
			}
			fmt.Fprintf(os.Stderr, "start: run %d: %s was ready after %.2f s\n", i+1, role, s.Ready.Seconds())
			all[role] = append(all[role], s)
		}
	}
	if err := o.peer.Settle(ctx); err != nil {
		return err
	}
	report(o.out, o.server.Kind, roles, all, &o.peer)
	return nil
}

// start runs one reader in a process of its own until it is ready.
func (o options) start(ctx context.Context, role, url string) (s started, err error) {
	began := time.Now()
	child, err := process.Start(ctx, append(o.server.Args(), "-role", role, "-server", url, "-gogc", strconv.Itoa(o.gogc))...)
	if err != nil {
		return s, err
	}
	line, err := child.Line()
	ready := time.Since(began)
	if err == nil {
		err = json.Unmarshal([]byte(line), &s)
	}
	s.Ready = ready
	return s, errors.Join(err, child.Stop())
}

// read is the process of one reader: it writes one line when it is ready, and ends
// when it is told to.
func (o options) read(ctx context.Context, role string) error {
	if role == reader.Countd {
		o.setGC()
	}
	r, err := reader.New(role, o.host.URL, o.server.Kind)
	if err != nil {
		return err
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
	want, err := apiserver.Client{URL: o.host.URL}.Moment(running)
	if err != nil {
		return err
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for !r.Holds(want) {
		select {
		case <-look.C:
		case <-running.Done():
			return context.Cause(running)
		}
	}
	usage, err := process.Self()
	if err != nil {
		return err
	}
	s := started{Objects: r.Objects(), Usage: usage}
	if s.Objects != want.Objects {
		return fmt.Errorf("it has %d objects, want %d", s.Objects, want.Objects)
	}
	if err := json.NewEncoder(o.out).Encode(s); err != nil {
		return err
	}
	<-ctx.Done() // it is measured until it is told to end
	return nil
}
