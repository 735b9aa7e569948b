package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/countd/countd/bench/fanout/subscriber"
)

// renewDeaf is how long a connection that never reads stays: longer than countd's write
// timeout.
const renewDeaf = 80 * time.Second

// slowPhase is what readers got in one part of the run.
type slowPhase struct {
	name      string
	exact     int
	latencies subscriber.Latencies
	resident  int64 // at its end
	cpu       time.Duration
}

// slow is readers alone, and beside as many who never read.
type slow struct {
	o      options
	api    string
	countd measured
	crowd  *subscriber.Crowd
	want   *expected
}

func (o options) slow(ctx context.Context) (r *report, err error) {
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
	s := slow{o: o, api: api, countd: countd, crowd: o.crowd(countd.url, o.family), want: o.expect()}
	defer s.crowd.Close()
	if err := s.crowd.Open(ctx, o.connections, time.Second*time.Duration(o.connections)/openRate); err != nil {
		return nil, err
	}
	alone, err := s.phase(ctx, "alone")
	if err != nil {
		return nil, err
	}
	deaf := subscriber.Question{URL: countd.url, Family: o.family, Debounce: o.debounce}
	stopDeaf, err := deaf.Deaf(ctx, o.connections, renewDeaf)
	if err != nil {
		return nil, err
	}
	stopDeaf = sync.OnceValue(stopDeaf)
	defer func() { err = errors.Join(err, stopDeaf()) }()
	filling, err := s.phase(ctx, "beside those who never read, at first")
	if err != nil {
		return nil, err
	}
	full, err := s.phase(ctx, "from then on")
	if err != nil {
		return nil, err
	}
	if err := stopDeaf(); err != nil {
		return nil, err
	}
	again, err := s.phase(ctx, "alone again")
	if err != nil {
		return nil, err
	}
	cut, err := metric(ctx, countd.url, fmt.Sprintf("countd_api_slow_readers_total{family=%q,transport=\"websocket\"}", o.family))
	if err != nil {
		return nil, err
	}
	lost, why := s.crowd.Lost()
	if why != nil {
		fmt.Fprintln(o.log, "fanout: a connection was lost:", why)
	}
	return o.reportSlow([]slowPhase{alone, filling, full, again}, lost, int(cut)), nil
}

// phase writes for a while.
func (s *slow) phase(ctx context.Context, name string) (p slowPhase, err error) {
	p.name = name
	everybody := func() int { return s.crowd.Holding(s.want.is(kind(s.o.family))) }
	if _, err := s.o.await(ctx, s.crowd, everybody); err != nil {
		return p, fmt.Errorf("before anything was created: %w", err)
	}
	before, err := s.countd.used()
	if err != nil {
		return p, err
	}
	first := s.want.count
	w := s.o.writing(s.o.duration)
	written, err := w.do(ctx, s.api)
	if err != nil {
		return p, err
	}
	s.want.wrote(w)
	if p.exact, err = s.o.await(ctx, s.crowd, everybody); err != nil && !errors.Is(err, errNotAll) {
		return p, err
	}
	p.latencies = s.crowd.Latencies(s.crowd.Arrivals(), first, written)
	after, err := s.countd.used()
	p.resident, p.cpu = after.Resident, after.CPU-before.CPU
	return p, err
}

func (o options) reportSlow(phases []slowPhase, lost, cut int) *report {
	r := new(report)
	r.row(fmt.Sprintf("%d who read and %d who never do, %g creations a second", o.connections, o.connections, o.rate), "exact", "half arrived within", "99 %", "CPU time a second", "resident memory")
	for _, p := range phases {
		r.row(p.name, fmt.Sprint(p.exact), fmt.Sprintf("%d ms", p.latencies.Quantile(0.5)), fmt.Sprintf("%d ms", p.latencies.Quantile(0.99)),
			fmt.Sprintf("%.3f s", p.cpu.Seconds()/o.duration.Seconds()), mib(p.resident))
	}
	r.row("readers that were lost", fmt.Sprint(lost))
	r.row("cut off because they did not read", fmt.Sprint(cut))
	p99 := func(p slowPhase) float64 { return float64(max(1, p.latencies.Quantile(0.99))) }
	alone, filling, full, again := phases[0], phases[1], phases[2], phases[3]
	r.result("exact", "%d/%d", full.exact, o.connections)
	r.result("lost", "%d", lost)
	r.result("p99_ms", "%d", full.latencies.Quantile(0.99))
	r.result("p99_ratio", "%.2f", 2*p99(full)/(p99(alone)+p99(again)))
	r.result("p99_ratio_alone", "%.2f", p99(again)/p99(alone))
	r.result("memory_ratio", "%.2f", float64(full.resident)/float64(filling.resident))
	return r
}
