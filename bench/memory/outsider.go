package main

import (
	"context"
	"fmt"
	"time"

	"github.com/countd/countd/bench/process"
)

const (
	// quietFor is how long a program must have done next to nothing.
	quietFor = 5 * time.Second
	// quietShare of one core is next to nothing.
	quietShare = 20
	// quietPatience is how long it is waited for.
	quietPatience = 10 * time.Minute
)

// outsider is a program that somebody has started on the same API server. Nothing is
// known of it but its process id.
type outsider struct {
	pid  int
	rest process.Usage // after it has read everything
	last process.Usage // after it had to list anew
}

// newOutsider waits until a program has read what there is.
func newOutsider(ctx context.Context, pid int) (*outsider, error) {
	o := &outsider{pid: pid}
	var err error
	o.rest, err = o.quiet(ctx)
	return o, err
}

// settle waits until the program has read again what there is, after our own relist.
func (o *outsider) settle(ctx context.Context) (err error) {
	o.last, err = o.quiet(ctx)
	return err
}

// quiet waits until the program uses next to no CPU time.
func (o *outsider) quiet(ctx context.Context) (process.Usage, error) {
	last, err := process.Of(o.pid)
	for deadline := time.Now().Add(quietPatience); err == nil; {
		select {
		case <-time.After(quietFor):
		case <-ctx.Done():
			return last, context.Cause(ctx)
		}
		var now process.Usage
		now, err = process.Of(o.pid)
		if now.CPU-last.CPU < quietFor/quietShare {
			return now, err
		}
		if time.Now().After(deadline) {
			return now, fmt.Errorf("process %d has been busy for %s", o.pid, quietPatience)
		}
		last = now
	}
	return last, err
}
