package cluster

import (
	"context"
	"sync"
	"time"
)

// Initial lists take turns, so that neither the API server nor countd has to bear
// all of them at once. A list that is slow gives its turn up after a while and
// goes on without: one that hangs must not keep the others waiting.
const (
	turnsAtOnce = 8
	turnLasts   = 3 * time.Second
)

// turns is a semaphore. It is safe for concurrent use.
type turns chan struct{}

func newTurns() turns { return make(turns, turnsAtOnce) }

// take waits for a turn. The turn ends with the first call of end, or when it has
// lasted too long.
func (t turns) take(ctx context.Context) (end func(), err error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	release := sync.OnceFunc(func() { <-t })
	timer := time.AfterFunc(turnLasts, release)
	return func() { timer.Stop(); release() }, nil
}
