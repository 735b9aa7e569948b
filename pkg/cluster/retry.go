package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

func newBackoff() wait.Backoff {
	// The Reflector's: 0.8 s doubled up to 30 s, each plus up to as much again,
	// so that after a restart of the API server its clients do not come at once.
	return wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 10, Cap: 30 * time.Second}
}

// expired says that the API server no longer knows what happened since the
// resourceVersion: HTTP 410, or an error event of that kind inside a watch.
func expired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// streamingRefused says that the server does not know sendInitialEvents, or not
// in this combination: 422 where the feature is off, 400 or 405 elsewhere.
func streamingRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err)
}

// causeOf returns why ctx ended when it has, and err otherwise: a request that was
// given up says no more than that.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// watchTimeout is how many seconds a watch is asked to last, and when it then ends.
func watchTimeout() (seconds *int64, ends time.Time) {
	lasts := jitter(minWatch).Truncate(time.Second)
	return new(int64(lasts / time.Second)), time.Now().Add(lasts)
}

// reconnectWithin is for a watch that was good and ends before it was asked to: the
// API server stops, or a connection that all watches share breaks. They are taken up
// again at moments spread over this time.
const reconnectWithin = 2 * time.Second

func untilReconnect() time.Duration {
	return rand.N(reconnectWithin) //nolint:gosec // spreads load, protects nothing
}

// jitter returns something between d and twice d.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return d
	}
	return d + rand.N(d) //nolint:gosec // spreads load, protects nothing
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// cannotGoOn says that a server refuses to do what it is asked, in a way that
// waiting need not change: not that it is busy, away, or forbids it.
func cannotGoOn(err error) bool {
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return false
	}
	switch s.Status().Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return true
}
