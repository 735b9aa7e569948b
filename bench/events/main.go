// Command events measures what CPU time a watch event costs countd: decoding it with the
// object's state, folding it and publishing snapshots, and all of it in a process that
// reads from an API server, beside client-go's informers:
//
//	go run ./events
//	go run ./events -events 5000 -runs 3 -objects 20000 -peers=false
//
// What the figures are; all times are CPU time, user and system, of processes of their
// own, so that the garbage collector is in them:
//
//   - fold: pkg/counts is told of -events events, 100 a tick, and publishes a snapshot
//     each tick, in a cluster of 500 kinds with an object in each of 1,000 namespaces.
//     Each event changes a number. The 100 are of one kind, or of 100 kinds. The process
//     has one thread, so that a tick is never two. It is told what that takes in all, and
//     without the garbage collector, whose part follows from -gogc alone. The bytes that an event allocates
//     are told for that cluster and for one of 100 kinds and 100 namespaces.
//   - decode: internal/decode, as feeds use it, decodes -events events of each of ten
//     kinds out of protobuf. The first list has been decoded before. Which events there
//     are is in package workload; how many of them have values of the fields that decide
//     a state that none had before (new) is counted. It is compared with the generated
//     Unmarshal of the same bytes, without an envelope and without a state. Where
//     all are new, nothing that was remembered helps. EndpointSlices, Events and Leases
//     are read as PartialObjectMetadata by both, and nothing of them is ever new.
//   - decode of custom objects: ours, JSON, is compared with what the dynamic client
//     would do, JSON or CBOR into an unstructured object, of which wrangler reads the
//     state. In both -events events are decoded.
//   - process: what a process takes for events that an API server in another process, a
//     stand-in (see package apiserver), sends after it has read -objects Pods and rested. It is
//     countd, or one of client-go's informers (see package reader).
//
// Runs of what is compared alternate, -runs of each, and medians are compared. Countd's
// processes set their GC percent as cmd/countd does (-gogc, unless $GOGC is set).
//
// What is not here can be measured beside it: -peer-pid is the process id of a program
// that somebody has started on the same API server, which has to be there first, and which
// holds the changes until the program has read what there is:
//
//	go run ./events -serve -held -listen 127.0.0.1:18080 -kubeconfig peer.yaml
//	go run ./events -server http://127.0.0.1:18080 -peer-pid PID
//
// -server is for that alone; each of our readers has an API server of its own.
//
// The last line of the output is for programs:
//
//	RESULT fold_us=… decode_us=… state_ratio_protobuf=… …
//
// fold_us is of 100 kinds, fold_uncollected_us the same without the collector, decode_us the mean of the ten kinds, and state_ratio_protobuf
// our time by that of protobuf alone for the worst of them. state_ratio_new is the same
// where all is new, fold_bytes and fold_bytes_small are the bytes that an event allocates,
// custom_ratio_json and custom_ratio_cbor are ours by theirs, event_us is of the
// process. With -peers there are also vs_typed, vs_metadata and vs_transform, the
// process's time by theirs, and with -peer-pid peer_event_us and what the other
// programs tell.
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
	o := options{out: os.Stdout, server: apiserver.Options{Objects: 100_000, Namespaces: 1000, Changes: -1, Kind: "Pod", Held: true}}
	o.server.Flags(flag.CommandLine)
	flag.IntVar(&o.events, "events", 20_000, "`number` of events that are folded, and decoded of each kind")
	flag.IntVar(&o.runs, "runs", 3, "`number` of runs of each")
	flag.IntVar(&o.kinds, "kinds", 500, "`number` of kinds while folding")
	flag.IntVar(&o.folded, "fold-namespaces", 1000, "`number` of namespaces while folding")
	flag.BoolVar(&o.peers, "peers", true, "measure client-go's informers too")
	flag.IntVar(&o.gogc, "gogc", gcPercent, "GC `percent` of countd's processes, unless $GOGC is set")
	flag.DurationVar(&o.rest, "rest", 3*time.Second, "how long a process rests before it is sent events")
	o.peer.Flags(flag.CommandLine)
	o.host.Flags(flag.CommandLine)
	role := flag.String("role", "", "be one process; used by the program itself")
	flag.Parse()
	o.server.Default()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := o.run
	switch {
	case o.host.Serve:
		run = o.serve
	case *role != "":
		run = func(ctx context.Context) error { return o.child(process.Attended(ctx), *role) }
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "events:", err)
		os.Exit(1)
	}
}

type options struct {
	server        apiserver.Options
	events        int
	runs          int
	kinds, folded int // of the cluster in which is folded: kinds, namespaces
	peers         bool
	gogc          int
	rest          time.Duration
	peer          process.Outsider
	host          process.Host
	out           io.Writer
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
