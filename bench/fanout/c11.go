package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countd/countd/bench/fanout/subscriber"
)

// patience is how long a server may take to have all clients exact: as long as it was
// waited for steve.
const patience = 30 * time.Second

// c11 is what a server made of the load.
type c11 struct {
	exact    int
	after    time.Duration // from the last creation until all were exact, or patience
	cpu      time.Duration
	messages float64 // to a connection
	wire     float64 // bytes to a connection
	one      float64 // bytes of the messages that one change costs a connection
	oneWire  float64
	lost     int
}

func (o options) c11(ctx context.Context) (*report, error) {
	api, stop, err := o.host.Start(ctx, o.server.Args()...)
	if err != nil {
		return nil, err
	}
	defer stop()
	countd, err := o.startCountd(ctx, api)
	if err != nil {
		return nil, err
	}
	defer func() { _ = countd.stop() }()
	want := o.expect()
	ours, err := o.c11Of(ctx, api, countd, o.family, want)
	if err != nil {
		return nil, err
	}
	columns := []string{"countd, " + o.family + "'s family"}
	all := []c11{ours}
	if o.peer.PID != 0 {
		if err := o.peer.Await(ctx); err != nil { // it has been told of ours too
			return nil, err
		}
		theirs, err := o.c11Of(ctx, api, measured{url: o.peerURL, pid: o.peer.PID}, subscriber.Steve, want)
		if err != nil {
			return nil, fmt.Errorf("the peer: %w", err)
		}
		columns, all = append(columns, fmt.Sprintf("process %d, steve's family", o.peer.PID)), append(all, theirs)
	}
	return o.reportC11(columns, all), nil
}

// c11Of puts the load on one server.
func (o options) c11Of(ctx context.Context, api string, server measured, family string, want *expected) (r c11, err error) {
	crowd := o.crowd(server.url, family)
	defer crowd.Close()
	if err := crowd.Open(ctx, o.connections, time.Second); err != nil {
		return r, err
	}
	everybody := func() int { return crowd.Holding(want.is(kind(family))) }
	if _, err := o.await(ctx, crowd, everybody); err != nil {
		return r, fmt.Errorf("before anything was created: %w", err)
	}
	before, err := server.used()
	if err != nil {
		return r, err
	}
	traffic := crowd.Traffic()
	w := writing{number: o.writes, rate: o.rate, namespaces: o.server.Namespaces, step: 1}
	written, err := w.do(ctx, api)
	if err != nil {
		return r, err
	}
	want.wrote(w)
	// Those who are not exact in time are a result.
	if r.exact, err = o.await(ctx, crowd, everybody); err != nil && !errors.Is(err, errNotAll) {
		return r, err
	}
	r.after = time.Since(written[len(written)-1])
	after, err := server.used()
	if err != nil {
		return r, err
	}
	r.cpu = after.CPU - before.CPU
	r.messages, r.wire, _ = perConnection(crowd.Traffic(), traffic, o.connections)

	if err := pause(ctx, 2*o.debounce); err != nil {
		return r, err
	}
	traffic = crowd.Traffic()
	one := writing{number: 1, rate: 1, namespaces: 1, step: 1}
	if _, err = one.do(ctx, api); err != nil {
		return r, err
	}
	want.wrote(one)
	if _, err := o.await(ctx, crowd, everybody); err != nil && !errors.Is(err, errNotAll) {
		return r, err
	}
	_, r.oneWire, r.one = perConnection(crowd.Traffic(), traffic, o.connections)
	r.lost, err = crowd.Lost()
	if err != nil {
		fmt.Fprintln(o.log, "fanout: a connection was lost:", err)
	}
	return r, nil
}

// perConnection is what each connection received between two moments.
func perConnection(now, before subscriber.Traffic, connections int) (messages, wire, text float64) {
	n, t := float64(connections), now.Since(before)
	return float64(t.Messages) / n, float64(t.Bytes) / n, float64(t.Text) / n
}

// errNotAll says that some are not exact although it was waited for them.
var errNotAll = errors.New("not all connections hold what they should")

// await waits until everybody is exact, and returns how many are.
func (o options) await(ctx context.Context, crowd *subscriber.Crowd, exact func() int) (int, error) {
	over := time.Now().Add(o.patience)
	for {
		n := exact()
		switch lost, why := crowd.Lost(); {
		case n == o.connections:
			return n, nil
		case n+lost == o.connections, time.Now().After(over):
			return n, fmt.Errorf("%w: %d of %d, %d were lost, the first: %w", errNotAll, n, o.connections, lost, orNone(why))
		}
		if err := pause(ctx, lookEvery); err != nil {
			return n, err
		}
	}
}

func orNone(err error) error {
	if err == nil {
		return errors.New("none")
	}
	return err
}

func (o options) reportC11(columns []string, all []c11) *report {
	r := new(report)
	row := func(name string, value func(c11) string) {
		var cells []string
		for _, c := range all {
			cells = append(cells, value(c))
		}
		r.row(name, cells...)
	}
	ours := all[0]
	r.row(fmt.Sprintf("%d subscribers, %d namespaces, %d creations", o.connections, o.server.Namespaces, o.writes), columns...)
	row("exact", func(c c11) string { return fmt.Sprintf("%d", c.exact) })
	row("after the last creation", func(c c11) string { return fmt.Sprintf("%.2f s", c.after.Seconds()) })
	row("lost", func(c c11) string { return fmt.Sprint(c.lost) })
	row("CPU time", func(c c11) string { return fmt.Sprintf("%.2f s", c.cpu.Seconds()) })
	row("for a creation and a subscriber", func(c c11) string {
		return fmt.Sprintf("%.2f µs", float64(c.cpu.Microseconds())/float64(o.writes)/float64(o.connections))
	})
	row("messages to a subscriber", func(c c11) string { return fmt.Sprintf("%.1f", c.messages) })
	row("bytes of the wire for a creation", func(c c11) string { return fmt.Sprintf("%.0f", c.wire/float64(o.writes)) })
	row("message of a change alone", func(c c11) string { return fmt.Sprintf("%.0f bytes", c.one) })
	row("of which on the wire", func(c c11) string { return fmt.Sprintf("%.0f bytes", c.oneWire) })
	r.result("exact", "%d/%d", ours.exact, o.connections)
	r.result("cpu_s", "%.2f", ours.cpu.Seconds())
	r.result("bytes_per_change", "%.0f", ours.one)
	if len(all) > 1 {
		theirs := all[1]
		r.result("cpu_ratio_peer", "%.4f", ours.cpu.Seconds()/theirs.cpu.Seconds())
		r.result("bytes_ratio_peer", "%.4f", ours.one/theirs.one)
		r.result("peer_exact", "%d/%d", theirs.exact, o.connections)
	}
	return r
}
