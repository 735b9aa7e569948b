package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/bench/reader"
)

// tally is the name of the reader that reads from nowhere.
const tally = "tally"

// run has each reader measured in a process of its own, and reports.
func (o options) run(ctx context.Context) error {
	ours := map[string]string{"cluster": reader.Countd, "tally": tally}[o.source]
	if ours == "" {
		return fmt.Errorf("source %q: want cluster or tally", o.source)
	}
	url, stop, err := o.start(ctx, o.server)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintln(os.Stderr, "memory: API server at", url)
	var all []measured
	var peer *outsider
	if o.peerPID != 0 {
		if peer, err = newOutsider(ctx, o.peerPID); err != nil {
			return err
		}
	}
	m, err := o.measure(ctx, ours, url)
	if err != nil {
		return err
	}
	all = append(all, m)
	if peer != nil {
		if err := peer.settle(ctx); err != nil {
			return err
		}
	}
	if o.peers {
		peers, err := o.measurePeers(ctx, url)
		if err != nil {
			return err
		}
		all = append(all, peers...)
	}
	report(o.out, o.server.Kind, all, peer)
	return nil
}

// start starts an API server, unless there is one.
func (o options) start(ctx context.Context, server apiserver.Options) (url string, stop func(), err error) {
	if o.url != "" {
		return o.url, func() {}, nil
	}
	child, err := process.Start(ctx, append(server.Args(), "-serve", "-listen", o.listen)...)
	if err != nil {
		return "", nil, err
	}
	stop = func() { _ = child.Stop() }
	if url, err = child.Line(); err != nil {
		stop()
	}
	return url, stop, err
}

func (o options) measurePeers(ctx context.Context, url string) (all []measured, err error) {
	for _, name := range []string{reader.Metadata, reader.Transform} {
		m, err := o.measure(ctx, name, url)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	fewer := o
	fewer.url, fewer.listen = "", "127.0.0.1:0"
	fewer.server.Objects = min(o.typedObjects, o.server.Objects)
	fewer.server.Changes = min(o.server.Changes, fewer.server.Objects/10)
	url, stop, err := fewer.start(ctx, fewer.server)
	if err != nil {
		return nil, err
	}
	defer stop()
	m, err := fewer.measure(ctx, reader.Typed, url)
	return append(all, m), err
}

// measure has one reader measured in a process of its own.
func (o options) measure(ctx context.Context, role, url string) (m measured, err error) {
	fmt.Fprintln(os.Stderr, "memory: measuring", role)
	args := append(o.server.Args(), "-role", role, "-server", url, "-gogc", strconv.Itoa(o.gogc), "-rest", o.rest.String())
	child, err := process.Start(ctx, args...)
	if err != nil {
		return m, err
	}
	line, err := child.Line()
	if err == nil {
		err = json.Unmarshal([]byte(line), &m)
	}
	return m, errors.Join(err, child.Stop())
}

// read is the process that measures one reader, its own: it writes what it has
// measured as one line.
func (o options) read(ctx context.Context, role string) error {
	if role == reader.Countd || role == tally {
		o.setGC()
	}
	begin := func() (reader.Reader, moments, error) {
		if role == tally {
			t, err := reader.NewTally(o.server)
			return t, t, err
		}
		r, err := reader.New(role, o.url, o.server.Kind)
		return r, apiserver.Client{URL: o.url}, err
	}
	m, err := measure(process.Attended(ctx), begin, o.rest)
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	m.Reader = role
	return json.NewEncoder(o.out).Encode(m)
}
