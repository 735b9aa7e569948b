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
// The last line of the output is for programs:
//
//	RESULT start_ratio=… objects=… seconds=… reflector_seconds=…
//
// start_ratio is countd's median by that of the Reflector of typed objects. With
// -peers=false only countd is run, and the line has neither start_ratio nor
// reflector_seconds.
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
const gcPercent = 50

func main() {
	o := options{out: os.Stdout, server: apiserver.Options{Objects: 1_000_000, Namespaces: 2000, Kind: "Pod"}}
	o.server.Flags(flag.CommandLine)
	flag.IntVar(&o.runs, "runs", 5, "`number` of runs of each")
	flag.BoolVar(&o.peers, "peers", true, "run client-go's Reflectors too")
	flag.IntVar(&o.gogc, "gogc", gcPercent, "GC `percent` of countd's process, unless $GOGC is set")
	flag.StringVar(&o.url, "server", "", "`URL` of an API server that runs already (see -serve)")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` of the API server")
	serve := flag.Bool("serve", false, "be the API server until standard input ends")
	role := flag.String("role", "", "be one reader; used by the program itself")
	flag.Parse()
	o.server.Default()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := o.run
	switch {
	case *serve:
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
	server      apiserver.Options
	runs        int
	peers       bool
	gogc        int
	url, listen string
	out         io.Writer
}

func (o options) serve(ctx context.Context) error {
	handler, err := apiserver.New(o.server)
	if err != nil {
		return err
	}
	return process.Serve(process.Attended(ctx), o.listen, handler, o.out)
}

// setGC is countd's, for the whole process.
func (o options) setGC() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(o.gogc)
	}
}
