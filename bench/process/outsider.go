package process

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

const (
	// quietFor is how long a program must have done next to nothing.
	quietFor = 5 * time.Second
	// quietShare of one core is next to nothing.
	quietShare = 20
	// quietPatience is how long it is waited for.
	quietPatience = 10 * time.Minute
)

// Outsider is a program that somebody has started on the same API server. Nothing is
// known of it but its process id; its zero value is none. It is for one goroutine.
type Outsider struct {
	// PID is its process id; 0: there is none.
	PID int
	// Rest is what it had taken when it had read everything.
	Rest Usage
	// Last is what it has taken in all.
	Last Usage
}

// Flags adds the flag that names it.
func (o *Outsider) Flags(set *flag.FlagSet) {
	set.IntVar(&o.PID, "peer-pid", 0, "process `id` of a program on the same API server, to be measured too (see -serve)")
}

// Await waits until the program uses next to no CPU time: it has read what there is.
func (o *Outsider) Await(ctx context.Context) (err error) {
	if o.PID == 0 {
		return nil
	}
	o.Rest, err = quiet(ctx, o.PID)
	o.Last = o.Rest
	return err
}

// Settle waits again, after something has happened at the API server.
func (o *Outsider) Settle(ctx context.Context) (err error) {
	if o.PID == 0 {
		return nil
	}
	o.Last, err = quiet(ctx, o.PID)
	return err
}

// CPU is what it has used between Await and Settle.
func (o *Outsider) CPU() time.Duration { return o.Last.CPU - o.Rest.CPU }

// Report writes a line for readers, and returns what belongs in the line for programs.
func (o *Outsider) Report(out io.Writer) (result string) {
	if o.PID == 0 {
		return ""
	}
	mib := func(bytes int64) float64 { return float64(bytes) / (1 << 20) }
	_, _ = fmt.Fprintf(out, "process %d: resident %.1f MiB at rest, %.1f MiB in the end, %.1f MiB at its most; CPU time %.2f s until its rest, %.2f s from then on\n",
		o.PID, mib(o.Rest.Resident), mib(o.Last.Resident), mib(o.Last.Peak), o.Rest.CPU.Seconds(), o.CPU().Seconds())
	return fmt.Sprintf(" peer_rss_mib=%.1f peer_peak_rss_mib=%.1f peer_start_cpu_seconds=%.2f peer_run_cpu_seconds=%.2f",
		mib(o.Rest.Resident), mib(o.Last.Peak), o.Rest.CPU.Seconds(), o.CPU().Seconds())
}

// quiet waits until a process uses next to no CPU time.
func quiet(ctx context.Context, pid int) (Usage, error) {
	last, err := Of(pid)
	if err != nil {
		return last, err
	}
	patience, cancel := context.WithTimeoutCause(ctx, quietPatience, errors.New("its time is over"))
	defer cancel()
	for {
		select {
		case <-time.After(quietFor):
		case <-patience.Done():
			return last, fmt.Errorf("waiting until process %d has nothing to do: %w", pid, context.Cause(patience))
		}
		now, err := Of(pid)
		if err != nil || now.CPU-last.CPU < quietFor/quietShare {
			return now, err
		}
		last = now
	}
}
