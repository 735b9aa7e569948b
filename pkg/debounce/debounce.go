package debounce

import (
	"context"
	"time"
)

// Source returns the newest value and a channel that is closed once there is a
// newer one. It must not block.
type Source[T any] func() (value T, newer <-chan struct{})

// Run calls flush with the newest value of source: at once with the value that
// there is, then whenever there is a newer one, but not more often than once an
// interval, counted from the start of a flush. It returns the error of flush, or
// the cause of ctx's end. It calls flush from the goroutine that called Run.
func Run[T any](ctx context.Context, interval time.Duration, source Source[T], flush func(T) error) error {
	pacer := NewPacer(interval)
	for {
		if err := pacer.Wait(ctx); err != nil {
			return err
		}
		value, newer := source()
		if err := flush(value); err != nil {
			return err
		}
		select {
		case <-newer:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Pacer spaces calls out. It is owned by one goroutine.
type Pacer struct {
	interval time.Duration
	last     time.Time // when Wait last returned
}

// NewPacer returns a pacer with at least interval between two returns of Wait.
// An interval of zero or less does not wait.
func NewPacer(interval time.Duration) *Pacer {
	return &Pacer{interval: interval}
}

// Wait returns at once when it last returned an interval ago or never, and
// otherwise when the interval is over. It returns the cause when ctx ends first.
func (p *Pacer) Wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if rest := p.interval - time.Since(p.last); rest > 0 && !p.last.IsZero() {
		timer := time.NewTimer(rest)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	p.last = time.Now()
	return nil
}
