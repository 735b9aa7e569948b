package main

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// live returns the bytes of live objects. The first collection lets finalizers run,
// the second takes what they held.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// heapInUse is MemStats.HeapInuse, without stopping the world.
func heapInUse() int64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() + samples[1].Value.Uint64())
}

// sampleEvery is how often the heap in use is looked at. One collection of 60 MB
// takes longer.
const sampleEvery = time.Millisecond

// peak looks for the highest heap in use. It is safe for concurrent use.
type peak struct {
	highest atomic.Int64
	over    chan struct{}
	ended   chan struct{}
}

func newPeak() *peak {
	p := &peak{over: make(chan struct{}), ended: make(chan struct{})}
	go p.run()
	return p
}

func (p *peak) run() {
	defer close(p.ended)
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			// Who takes the peak at the same moment may get this one twice.
			p.highest.Store(max(p.highest.Load(), heapInUse()))
		case <-p.over:
			return
		}
	}
}

// take returns the highest since it was last taken.
func (p *peak) take() int64 { return p.highest.Swap(0) }

func (p *peak) stop() {
	close(p.over)
	<-p.ended
}
