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
	url, stop, err := o.host.Start(ctx, o.server.Args()...)
	if err != nil {
		return err
	}
	defer stop()
	if err := o.peer.Await(ctx); err != nil {
		return err
	}
	m, err := o.measure(ctx, ours, url)
	if err != nil {
		return err
	}
	if err := o.peer.Settle(ctx); err != nil {
		return err
	}
	all := []measured{m}
	if o.peers {
		peers, err := o.measurePeers(ctx, url)
		if err != nil {
			return err
		}
		all = append(all, peers...)
	}
	report(o.out, o.server.Kind, all, &o.peer)
	return nil
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
	fewer.server.Objects = min(o.typedObjects, o.server.Objects)
	fewer.server.Changes = min(o.server.Changes, fewer.server.Objects/10)
	url, stop, err := process.Host{Listen: "127.0.0.1:0"}.Start(ctx, fewer.server.Args()...)
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
		r, err := reader.New(role, o.host.URL, o.server.Kind)
		return r, apiserver.Client{URL: o.host.URL}, err
	}
	m, err := measure(process.Attended(ctx), begin, o.rest)
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	m.Reader = role
	return json.NewEncoder(o.out).Encode(m)
}
