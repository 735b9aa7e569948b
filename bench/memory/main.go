// Command memory measures how many bytes countd holds for each object it counts:
//
//	go run ./memory -objects 200000
//
// countd's counting half, pkg/cluster and pkg/counts, runs in this process; the
// API server that it reads from, a stand-in, runs in another. When all objects
// are counted and the changes that follow are folded in, the heap is measured
// after two garbage collections, less what it was before anything was made. So
// the figure has everything in it that is kept: records, namespaces, snapshots,
// clients.
//
// The last line of the output is for programs:
//
//	RESULT bytes_per_object=… objects=… rss_mib=…
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/countd/countd/bench/apiserver"
)

func main() {
	o := options{out: os.Stdout}
	flag.IntVar(&o.server.Objects, "objects", 200_000, "`number` of objects")
	flag.IntVar(&o.server.Namespaces, "namespaces", 500, "`number` of namespaces that they are in")
	flag.IntVar(&o.server.Changes, "changes", -1, "`number` of changes after the first list, each a deletion, a creation and an update; default: one for ten objects")
	flag.StringVar(&o.server.Kind, "kind", "Pod", "Pod, which is read whole, or ConfigMap, of which only metadata is")
	flag.BoolVar(&o.server.NoStreamingLists, "pages", false, "read lists in pages, as from an old API server")
	flag.StringVar(&o.source, "source", "cluster", "cluster measures all of the counting half, tally its core alone, which is told of the objects directly")
	serve := flag.Bool("serve", false, "be the API server; used by the program itself")
	flag.Parse()
	if o.server.Changes < 0 {
		o.server.Changes = o.server.Objects / 10
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := o.run
	if *serve {
		run = o.serve
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

type options struct {
	server apiserver.Options
	source string
	out    io.Writer
}

// run measures and reports.
func (o options) run(ctx context.Context) error {
	server, err := apiserver.New(o.server)
	if err != nil {
		return err
	}
	events := o.server.Objects + server.Events()
	var feed feeder
	switch o.source {
	case "tally":
		feed = tallyFeeder{o.server}
	case "cluster":
		child, err := startServer(ctx, o.server)
		if err != nil {
			return err
		}
		defer child.stop()
		feed = clusterFeeder{child.url}
	default:
		return fmt.Errorf("source %q: want cluster or tally", o.source)
	}
	m, err := measure(ctx, feed, o.server.Objects, events)
	if err != nil {
		return err
	}
	m.report(o.out, o.server.Kind)
	return nil
}
