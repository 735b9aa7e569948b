package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/countd/countd/bench/fanout/subscriber"
)

// stormOver is how long it takes all to connect, unless the server is slower.
const stormOver = 2 * time.Second

// storm is what was measured of many who come at once.
type storm struct {
	served, lost int
	opened, last time.Duration // from the first connection until all were open, and served
	encoded      int
	traffic      subscriber.Traffic
	cpu          time.Duration
	before, peak int64 // resident memory
}

func (o options) storm(ctx context.Context) (*report, error) {
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
	s, err := o.stormOn(ctx, countd)
	if err != nil {
		return nil, err
	}
	return o.reportStorm(s), nil
}

func (o options) stormOn(ctx context.Context, countd measured) (s storm, err error) {
	before, err := countd.used()
	if err != nil {
		return s, err
	}
	encoded, err := metric(ctx, countd.url, encodedFrames(o.family))
	if err != nil {
		return s, err
	}
	crowd := o.crowd(countd.url, o.family)
	defer crowd.Close()
	began := time.Now()
	if err := crowd.Open(ctx, o.connections, stormOver); err != nil {
		return s, err
	}
	s.opened = time.Since(began)
	want := o.expect()
	ours := want.is(kind(o.family))
	whole := func(state *subscriber.State) bool {
		return len(state.Kinds) >= o.server.Custom+1 && ours(state)
	}
	// Those who are not served in time are a result.
	if s.served, err = o.await(ctx, crowd, func() int { return crowd.Holding(whole) }); err != nil && !errors.Is(err, errNotAll) {
		return s, err
	}
	s.last = time.Since(began)
	after, err := countd.used()
	if err != nil {
		return s, err
	}
	s.cpu, s.before, s.peak, s.traffic = after.CPU-before.CPU, before.Resident, after.Peak, crowd.Traffic()
	if s.lost, err = crowd.Lost(); err != nil {
		fmt.Fprintln(o.log, "fanout: a connection was lost:", err)
	}
	now, err := metric(ctx, countd.url, encodedFrames(o.family))
	s.encoded = int(now - encoded)
	return s, err
}

func (o options) reportStorm(s storm) *report {
	r := new(report)
	r.row(fmt.Sprintf("%d connections in %s, %d kinds × %d namespaces", o.connections, stormOver, o.server.Custom+1, o.server.Namespaces), "countd, "+o.family+"'s family")
	r.row("served", fmt.Sprint(s.served))
	r.row("lost", fmt.Sprint(s.lost))
	r.row("times that the snapshot was encoded", fmt.Sprint(s.encoded))
	r.row("all connected after", fmt.Sprintf("%.2f s", s.opened.Seconds()))
	r.row("all served after", fmt.Sprintf("%.2f s", s.last.Seconds()))
	n := float64(max(s.traffic.Messages, 1))
	r.row("bytes of a message, on the wire", fmt.Sprintf("%.0f", float64(s.traffic.Bytes)/n))
	r.row("inflated", fmt.Sprintf("%.0f", float64(s.traffic.Text)/n))
	r.row("CPU time", fmt.Sprintf("%.2f s", s.cpu.Seconds()))
	r.row("of a connection", fmt.Sprintf("%.0f µs", float64(s.cpu.Microseconds())/float64(o.connections)))
	r.row("resident memory before", mib(s.before))
	r.row("at its most, from the start", mib(s.peak))
	r.result("encoded", "%d", s.encoded)
	r.result("served", "%d/%d", s.served, o.connections)
	r.result("seconds", "%.2f", s.last.Seconds())
	r.result("cpu_s", "%.2f", s.cpu.Seconds())
	return r
}

// encodedFrames is the metric that tells how often something was encoded for a family.
func encodedFrames(family string) string {
	return fmt.Sprintf("countd_api_encoded_frames_total{family=%q}", family)
}

// metric reads one of countd's metrics; one that is not there is 0.
func metric(ctx context.Context, url, name string) (float64, error) {
	_, body, err := get(ctx, url+"/metrics")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(body) {
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			return strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		}
	}
	return 0, nil
}
