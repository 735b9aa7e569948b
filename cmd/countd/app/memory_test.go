package app

import (
	"context"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestMemoryIsSaidToBeCloseToItsLimitOnce: once when it begins, once when it is over,
// with the figures; what goes up and down between is one matter.
func TestMemoryIsSaidToBeCloseToItsLimitOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines strings.Builder
		log := slog.New(slog.NewTextHandler(&lines, nil))
		var used atomic.Uint64
		used.Store(900)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			watchMemory(ctx, log, func() memory { return memory{used: used.Load(), limit: 1000} })
		}()
		for _, step := range []struct {
			used uint64
			says string
		}{
			{900, ""},
			{901, "level=WARN msg=\"memory is close to its limit: counting gets slower, and countd may be killed\" used_bytes=901 limit_bytes=1000 advice="},
			{990, ""},
			{850, ""},
			{950, ""},
			{800, "level=INFO msg=\"memory is no longer close to its limit\" used_bytes=800 limit_bytes=1000"},
			{850, ""},
			{1001, "used_bytes=1001"},
		} {
			lines.Reset()
			used.Store(step.used)
			time.Sleep(memoryEvery)
			synctest.Wait()
			if got := lines.String(); !strings.Contains(got, step.says) || (step.says == "") != (got == "") {
				t.Errorf("at %d it says %q, want %q", step.used, got, step.says)
			}
		}
		cancel()
		<-done
	})
}

// TestMemoryWithoutALimitIsNobodysMatter: nothing is watched and nothing shown.
func TestMemoryWithoutALimitIsNobodysMatter(t *testing.T) {
	read := func() memory { return memory{used: 1 << 40} }
	watchMemory(t.Context(), slog.New(slog.DiscardHandler), read) // returns
	if got := memoryMetrics(read); got != nil {
		t.Errorf("%d metrics", len(got))
	}
}

// TestMemoryIsReadAsTheLimitMeansIt, from the runtime that there is.
func TestMemoryIsReadAsTheLimitMeansIt(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 40))
	m := readMemory()
	if m.limit != 1<<40 || m.used < 1<<20 || m.used > 1<<36 {
		t.Errorf("read %+v", m)
	}
	for i, want := range []float64{1 << 40, float64(m.used)} {
		if got := testutil.ToFloat64(memoryMetrics(readMemory)[i]); got < want/2 || got > want*2 {
			t.Errorf("metric %d is %v, want some %v", i, got, want)
		}
	}
}
