// Command memory measures what memory countd needs to count a million Pods, at rest,
// while it starts and while it has to list everything anew, and what client-go's
// informers need for the same Pods:
//
//	go run ./memory
//	go run ./memory -objects 200000 -peers=false
//
// Each reader (see package reader) runs in a process of its own, one after the other,
// against one API server in another process, a stand-in (see package apiserver). It
// reads all objects and the changes that follow, rests, is measured, and then has to
// list anew, because the server ends its watch with 410 Gone; in the gap, one object
// in a thousand has gone. Its count must be right before each measurement.
//
// What the figures are:
//
//   - heap bytes an object: runtime.MemStats.HeapAlloc after two garbage collections,
//     less the same before anything was made, by the number of objects. So it has
//     everything in it that is kept: records, namespaces, snapshots, clients.
//   - heap in use: MemStats.HeapInuse, here read from runtime/metrics, which does not
//     stop the world: all spans of the heap that have an object in them. Garbage that
//     has not been collected is in it, and room in spans that are not full. Its peak is
//     the highest of samples taken every millisecond, so the collector's pace is in it:
//     with GOGC=40 Go lets the heap grow by two fifths before it collects.
//   - peak_ratio: the highest peak, from the start of the process to its rest and from
//     410 to the next rest, by the heap in use at rest, after two collections. That is
//     the strictest of rests: without them, it has garbage in it too.
//   - resident memory at rest: VmRSS -rest after everything was read, without a
//     collection having been asked for. The whole process is in it.
//   - CPU time: of the process, user and system, from its start.
//
// Countd's process sets its GC percent as cmd/countd does (-gogc, unless $GOGC is
// set); informers have Go's own, 100. Of whole typed objects a million need more
// memory than most machines have, so that reader reads -typed-objects from a server of
// its own; its bytes an object do not depend on that.
//
// What is not Go, or not here, can be measured beside it: -peer-pid is the process id
// of a program that somebody has started on the same API server. It is waited for until
// it does nothing, and again after our own relist, which is its relist too; its resident
// memory and CPU time are told. The server has to be there first, so start it alone. Where
// it is, it says, and writes into a kubeconfig:
//
//	go run ./memory -serve -listen 127.0.0.1:18080 -kubeconfig peer.yaml
//	go run ./memory -server http://127.0.0.1:18080 -peer-pid PID
//
// -source tally measures the core of countd alone, which is told of objects directly.
//
// The last line of the output is for programs:
//
//	RESULT bytes_per_object=… objects=… rss_mib=… peak_ratio=… vs_partial_metadata=… vs_transform=…
//
// The last two are our bytes an object by theirs: less than 1 is less memory than an
// informer of PartialObjectMetadata, or one with a transform. They are absent with
// -peers=false. With -peer-pid there are peer_rss_mib, at rest, peer_peak_rss_mib,
// peer_start_cpu_seconds and peer_run_cpu_seconds, of listing anew.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/process"
)

// gcPercent is what cmd/countd sets.
const gcPercent = 40

func main() {
	o := options{out: os.Stdout, server: apiserver.Options{Objects: 1_000_000, Namespaces: 2000, Changes: -1, Kind: "Pod"}}
	o.server.Flags(flag.CommandLine)
	flag.StringVar(&o.source, "source", "cluster", "cluster measures all of the counting half, tally its core alone")
	flag.BoolVar(&o.peers, "peers", true, "measure client-go's informers too")
	flag.IntVar(&o.typedObjects, "typed-objects", 200_000, "`number` of objects, at most, that the informer of whole ones reads")
	o.peer.Flags(flag.CommandLine)
	flag.IntVar(&o.gogc, "gogc", gcPercent, "GC `percent` of countd's process, unless $GOGC is set")
	flag.DurationVar(&o.rest, "rest", 10*time.Second, "how long a process rests before it is measured")
	o.host.Flags(flag.CommandLine)
	role := flag.String("role", "", "be one reader; used by the program itself")
	flag.Parse()
	o.server.Default()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := o.run
	switch {
	case o.host.Serve:
		run = o.serve
	case *role != "":
		run = func(ctx context.Context) error { return o.read(ctx, *role) }
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

type options struct {
	server       apiserver.Options
	source       string
	peers        bool
	typedObjects int
	peer         process.Outsider
	host         process.Host
	gogc         int
	rest         time.Duration
	out          io.Writer
}

func (o options) serve(ctx context.Context) error {
	handler, err := apiserver.New(o.server)
	if err != nil {
		return err
	}
	return o.host.Run(process.Attended(ctx), handler, o.out)
}

// setGC is countd's, for the whole process.
func (o options) setGC() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(o.gogc)
	}
}
