package subscriber

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
)

// deafBuffer is what the kernel takes for who does not read: next to nothing.
const deafBuffer = 4 << 10

// Deaf opens connections that ask and never read, and returns when all have had their
// handshake. Each is closed and opened anew after a time, since a server cuts it off and
// who does not read does not learn that. stop ends them all, and returns what went wrong.
func (q Question) Deaf(ctx context.Context, connections int, renew time.Duration) (stop func() error, err error) {
	q.Buffer, q.Deflate = deafBuffer, false
	running, end := context.WithCancel(ctx)
	group, running := errgroup.WithContext(running)
	stop = func() error {
		end()
		if err := group.Wait(); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
	opened := make(chan struct{}, connections)
	for range connections {
		group.Go(func() error {
			for {
				conn, _, err := q.dial(running)
				if err != nil {
					return err
				}
				select {
				case opened <- struct{}{}:
				default: // it was opened before
				}
				over := time.NewTimer(renew)
				select {
				case <-over.C:
				case <-running.Done():
				}
				over.Stop()
				_ = conn.Close()
				if running.Err() != nil {
					return context.Cause(running)
				}
			}
		})
	}
	for range connections {
		select {
		case <-opened:
		case <-running.Done():
			return nil, stop()
		}
	}
	return stop, nil
}
