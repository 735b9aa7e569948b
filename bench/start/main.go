// Command start measures how long countd takes from its start until it has counted a
// million Pods, and compares that with a bare Reflector of client-go:
//
//	go run ./start
//	go run ./start -objects 200000 -runs 3
//
// Each run is a process of its own that reads from an API server in another process, a
// stand-in (see package apiserver), which serves streaming lists; with -pages it has
// none. Runs alternate, ours, theirs, ours, theirs, so that what the machine does
// besides falls on all of them, and the medians are compared.
//
//   - countd is pkg/cluster and pkg/counts as cmd/countd runs them. It is ready when
//     the watcher has settled and the counts are right.
//   - reflector reads typed Pods in protobuf. Its store throws the objects away, and of
//     the list that a Reflector gathers by itself there are only keys, so that it is not
//     held up by memory that countd would not need. It is ready when its list is complete.
//   - reflector-metadata does the same with PartialObjectMetadata: a floor for readers
//     with client-go, which no reader of states can have, as metadata has none.
//
// Time is that of the clock, from before the process is started until it has said
// that it is ready. CPU time is of the process until then, user and system.
// Countd's GC percent is set as cmd/countd sets it (-gogc, unless $GOGC is set);
// Reflectors have Go's own.
//
// What is not here can be measured beside it: -peer-pid is the process id of a program
// that somebody has started on the same API server, which has to be there first:
//
//	go run ./start -serve -listen 127.0.0.1:18080 -kubeconfig peer.yaml
//	go run ./start -server http://127.0.0.1:18080 -peer-pid PID
//
// It is waited for until it does nothing; its CPU time until then is that of its start,
// and its resident memory is told.
//
// The last line of the output is for programs:
//
//	RESULT start_ratio=… objects=… seconds=… reflector_seconds=…
//
// start_ratio is countd's median by that of the Reflector of typed objects. With
// -peers=false only countd is run, and the line has neither start_ratio nor
// reflector_seconds. With -peer-pid there are peer_rss_mib, at rest, peer_peak_rss_mib,
// peer_start_cpu_seconds, and peer_run_cpu_seconds, which it used while ours ran.
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

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/process"
)

// gcPercent is what cmd/countd sets.
const gcPercent = 40

func main() {
	o := options{out: os.Stdout, server: apiserver.Options{Objects: 1_000_000, Namespaces: 2000, Kind: "Pod"}}
	o.server.Flags(flag.CommandLine)
	flag.IntVar(&o.runs, "runs", 5, "`number` of runs of each")
	flag.BoolVar(&o.peers, "peers", true, "run client-go's Reflectors too")
	flag.IntVar(&o.gogc, "gogc", gcPercent, "GC `percent` of countd's process, unless $GOGC is set")
	o.peer.Flags(flag.CommandLine)
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
		run = func(ctx context.Context) error { return o.read(process.Attended(ctx), *role) }
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1)
	}
}

type options struct {
	server apiserver.Options
	runs   int
	peers  bool
	peer   process.Outsider
	host   process.Host
	gogc   int
	out    io.Writer
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
