package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/countd/countd/bench/fanout/subscriber"
)

const (
	// openRate is how many connections are opened in a second where that is not what
	// is measured.
	openRate = 2000
	// baselineFor is how long countd is measured without a connection.
	baselineFor = 10 * time.Second
	// floorFrames is how many messages the floor writes to each connection.
	floorFrames = 40
)

// fan is what was measured of connections on one view.
type fan struct {
	lost, exact int
	after       time.Duration // from the last creation until all were exact
	latencies   subscriber.Latencies
	traffic     subscriber.Traffic // of the load
	cpu         time.Duration
	baseline    time.Duration // CPU time of as many creations without a connection
	resident    int64         // for all connections
	floor       floored
}

func (o options) fan(ctx context.Context) (*report, error) {
	api, stop, err := o.host.Start(ctx, o.server.Args()...)
	if err != nil {
		return nil, err
	}
	defer stop()
	countd, err := o.startCountd(ctx, api)
	if err != nil {
		return nil, err
	}
	end := sync.OnceValue(countd.stop)
	defer func() { _ = end() }()
	want := o.expect()
	var f fan
	if f.baseline, err = o.baseline(ctx, api, countd, want); err != nil {
		return nil, err
	}
	frames, err := o.load(ctx, api, countd, want, &f)
	if err != nil {
		return nil, err
	}
	if err := end(); err != nil {
		return nil, err
	}
	if len(frames) == 0 {
		return nil, errors.New("no message reached all connections")
	}
	if f.floor, err = o.measureFloor(ctx, frames); err != nil {
		return nil, fmt.Errorf("measuring the floor: %w", err)
	}
	return o.reportFan(f), nil
}

// writes are as many as there are in a time.
func (o options) writing(d time.Duration) writing {
	return writing{number: max(1, int(o.rate*d.Seconds())), rate: o.rate, namespaces: o.server.Namespaces, step: 1}
}

// baseline is what countd uses for as many creations as there will be, by a share of them.
func (o options) baseline(ctx context.Context, api string, countd measured, want *expected) (time.Duration, error) {
	before, err := countd.used()
	if err != nil {
		return 0, err
	}
	w := o.writing(min(baselineFor, o.duration))
	if _, err := w.do(ctx, api); err != nil {
		return 0, err
	}
	want.wrote(w)
	after, err := countd.used()
	all := o.writing(o.duration)
	return (after.CPU - before.CPU) * time.Duration(all.number) / time.Duration(w.number), err
}

// load puts the load on countd, and returns messages that all connections were sent.
func (o options) load(ctx context.Context, api string, countd measured, want *expected, f *fan) ([]subscriber.Frame, error) {
	empty, err := countd.used()
	if err != nil {
		return nil, err
	}
	crowd := o.crowd(countd.url, o.family)
	defer crowd.Close()
	if err := crowd.Open(ctx, o.connections, time.Second*time.Duration(o.connections)/openRate); err != nil {
		return nil, err
	}
	everybody := func() int { return crowd.Holding(want.is(kind(o.family))) }
	if _, err := o.await(ctx, crowd, everybody); err != nil {
		return nil, fmt.Errorf("before anything was created: %w", err)
	}
	before, err := countd.used()
	if err != nil {
		return nil, err
	}
	f.resident = before.Resident - empty.Resident
	traffic, first := crowd.Traffic(), want.count
	w := o.writing(o.duration)
	written, err := w.do(ctx, api)
	if err != nil {
		return nil, err
	}
	want.wrote(w)
	if f.exact, err = o.await(ctx, crowd, everybody); err != nil && !errors.Is(err, errNotAll) {
		return nil, err
	}
	f.after = time.Since(written[len(written)-1])
	after, err := countd.used()
	if err != nil {
		return nil, err
	}
	f.cpu = after.CPU - before.CPU
	f.traffic = crowd.Traffic().Since(traffic)
	f.latencies = crowd.Latencies(crowd.Arrivals(), first, written)
	if f.lost, err = crowd.Lost(); err != nil {
		fmt.Fprintln(o.log, "fanout: a connection was lost:", err)
	}
	frames := slices.DeleteFunc(crowd.Frames(), func(m subscriber.Frame) bool { return !m.Step || m.Received < o.connections/2 })
	return frames[max(0, len(frames)-floorFrames):], nil
}

func (o options) reportFan(f fan) *report {
	r := new(report)
	n := time.Duration(f.traffic.Messages)
	each := f.cpu / n
	us := func(d time.Duration) string { return fmt.Sprintf("%.2f µs", float64(d)/float64(time.Microsecond)) }
	ms := func(share float64) string { return fmt.Sprintf("%d ms", f.latencies.Quantile(share)) }
	seconds := o.duration.Seconds()
	r.row(fmt.Sprintf("%d connections on one view, %g creations a second for %s", o.connections, o.rate, o.duration), "countd, "+o.family+"'s family")
	r.row("exact", fmt.Sprint(f.exact))
	r.row("after the last creation", fmt.Sprintf("%.2f s", f.after.Seconds()))
	r.row("lost", fmt.Sprint(f.lost))
	r.row("from a creation to its arrival, half of all", ms(0.5))
	r.row("99 %", ms(0.99))
	r.row("all", ms(1))
	r.row("messages a second", fmt.Sprintf("%.0f", float64(n)/seconds))
	r.row("bytes of one, on the wire", fmt.Sprintf("%.0f", float64(f.traffic.Bytes)/float64(n)))
	r.row("inflated", fmt.Sprintf("%.0f", float64(f.traffic.Text)/float64(n)))
	r.row("CPU time a second", fmt.Sprintf("%.3f s", f.cpu.Seconds()/seconds))
	r.row("of which without a connection", fmt.Sprintf("%.3f s", f.baseline.Seconds()/seconds))
	r.row("CPU time of a delivered message, all of it", us(each))
	r.row("less what the creations cost without a connection", us((f.cpu-f.baseline)/n))
	r.row(fmt.Sprintf("of write(2) alone, %.0f bytes", f.floor.bytes), us(f.floor.frame()))
	perConnection := float64(f.resident) / 1024 / float64(o.connections)
	r.row("resident memory for a connection", fmt.Sprintf("%.1f KiB", perConnection))
	r.result("lost", "%d", f.lost)
	r.result("exact", "%d/%d", f.exact, o.connections)
	r.result("p99_ms", "%d", f.latencies.Quantile(0.99))
	r.result("cpu_ratio_raw", "%.2f", float64(each)/float64(f.floor.frame()))
	r.result("cpu_ratio_raw_less_events", "%.2f", float64(f.cpu-f.baseline)/float64(n)/float64(f.floor.frame()))
	r.result("kib_per_connection", "%.1f", perConnection)
	return r
}
