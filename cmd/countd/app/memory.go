package app

import (
	"context"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// gcPercent is $GOGC unless that is set. Go's own is 100: the heap may double
	// before it is collected. Most of countd's is one table without pointers, which
	// a collection does not look into, so that collecting more often costs little.
	// With a million Pods the heap in use is at its most, while starting or listing
	// anew, 1.56 times what it is at rest with 50, and 1.41 to 1.46 times with 40, which
	// stays under one and a half; the start then takes 5 % more CPU
	// time (bench/memory, bench/start).
	gcPercent = 40
	// memoryEvery is how often it is looked how much memory is in use.
	memoryEvery = 5 * time.Second
	// More than closePercent of the limit in use is close to it, until it is less
	// than farPercent: what goes up and down between the two is said once.
	closePercent, farPercent = 90, 80
)

// collectOften is for the whole process.
func collectOften() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
}

// memory is what Go's runtime has in use and what it was told to keep to, in bytes.
type memory struct {
	used, limit uint64 // limit is 0 where there is none
}

// over says whether more than so many percent of the limit are in use.
func (m memory) over(percent uint64) bool { return m.limit > 0 && m.used*100 > m.limit*percent }

// readMemory takes what $GOMEMLIMIT is about (runtime/debug.SetMemoryLimit): all that
// is mapped but what was given back to the system.
func readMemory() memory {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/gomemlimit:bytes"},
	}
	metrics.Read(samples)
	m := memory{used: samples[0].Value.Uint64() - samples[1].Value.Uint64(), limit: samples[2].Value.Uint64()}
	if m.limit == math.MaxInt64 {
		m.limit = 0
	}
	return m
}

// watchMemory says when memory is close to its limit, and when it no longer is,
// until ctx ends: a process that is killed for its memory has no time to.
func watchMemory(ctx context.Context, log *slog.Logger, read func() memory) {
	if read().limit == 0 {
		return
	}
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for near := false; ; {
		switch m := read(); {
		case !near && m.over(closePercent):
			near = true
			log.Warn("memory is close to its limit: counting gets slower, and countd may be killed",
				"used_bytes", m.used, "limit_bytes", m.limit,
				"advice", "raise GOMEMLIMIT and the container's limit, or count less with --resources or --exclude-resources")
		case near && !m.over(farPercent):
			near = false
			log.Info("memory is no longer close to its limit", "used_bytes", m.used, "limit_bytes", m.limit)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// memoryMetrics are none where memory has no limit.
func memoryMetrics(read func() memory) []prometheus.Collector {
	if read().limit == 0 {
		return nil
	}
	gauge := func(name, help string, value func(memory) uint64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "countd", Name: name, Help: help},
			func() float64 { return float64(value(read())) })
	}
	return []prometheus.Collector{
		gauge("memory_limit_bytes", "Memory that countd was told to keep to, by GOMEMLIMIT. Absent where it was not.", func(m memory) uint64 { return m.limit }),
		gauge("memory_used_bytes", "Memory in use, in the sense of the limit. Absent where there is none.", func(m memory) uint64 { return m.used }),
	}
}
