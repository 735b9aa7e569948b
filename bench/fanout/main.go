// Command fanout measures what it costs countd to stream counts to many clients at once:
//
//	go run ./fanout -shape c11
//	go run ./fanout -shape c11 -family countd
//
// countd, as cmd/countd has it, its API server, a stand-in (see package apiserver), and
// who creates objects there run in processes of their own; the clients are this one (see
// package subscriber). Both families can be spoken (-family), and compressed messages are
// asked for, as browsers do (-deflate). Objects are ConfigMaps, created one by one by POST,
// at an even rate and in one namespace after the other, so that as many namespaces change
// as can.
//
// What the figures are:
//
//   - exact: how many connections hold, in the end, the count of all that was created, in
//     all and in each namespace. Each is followed message by message.
//   - CPU time: of countd's process, user and system, in all: reading the events from the
//     API server, counting, encoding and writing. On loopback, what the receiving half of
//     the network costs the kernel is in it too, since it is done by who writes.
//   - bytes: of messages are those of JSON; of the wire, those that were received, with
//     frames' headers.
//
// Shapes are:
//
// c11: subscribers, 300 unless -connections says otherwise, while 4,000 ConfigMaps (-writes)
// are created in 1,000 namespaces, a thousand a second; and then, at rest, one more.
// bytes_per_change is the message that this one costs each of them; cpu_s is from the first
// creation until all are exact.
//
// The same load can be put on another server of steve's protocol that somebody has
// started on the same API server, after countd: with its address as -peer-url and its
// process id as -peer-pid. The API server has to be there first:
//
//	go run ./fanout -serve -live -objects 1000 -listen 127.0.0.1:18080 -kubeconfig peer.yaml
//	go run ./fanout -shape c11 -server http://127.0.0.1:18080 -peer-url http://127.0.0.1:8080 -peer-pid PID
//
// -profile writes a CPU profile of countd's process. The last line of the output is for
// programs:
//
//	RESULT exact=… cpu_s=… bytes_per_change=… cpu_ratio_peer=… bytes_ratio_peer=…
//
// The last two are countd's by the peer's: less than 1 is less.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/fanout/subscriber"
	"github.com/countd/countd/bench/process"
)

func main() {
	o := options{out: os.Stdout, log: os.Stderr, patience: patience, server: apiserver.Options{Namespaces: 1000, Kind: "ConfigMap", Live: true}}
	o.server.Flags(flag.CommandLine)
	flag.StringVar(&o.shape, "shape", "c11", "what is measured: c11")
	flag.IntVar(&o.connections, "connections", 0, "`number` of connections; 0: the shape's own")
	flag.StringVar(&o.family, "family", "", "steve or countd; empty: the shape's own")
	flag.IntVar(&o.writes, "writes", 4000, "`number` of creations, in c11")
	flag.Float64Var(&o.rate, "rate", 1000, "creations a `second`")
	flag.DurationVar(&o.debounce, "debounce", 500*time.Millisecond, "that subscriptions ask for")
	flag.BoolVar(&o.deflate, "deflate", true, "ask for compressed messages")
	flag.StringVar(&o.peerURL, "peer-url", "", "`URL` of another server of steve's protocol on the same API server; see -peer-pid")
	flag.StringVar(&o.profile, "profile", "", "`file` to which a CPU profile of countd is written")
	o.peer.Flags(flag.CommandLine)
	o.host.Flags(flag.CommandLine)
	flag.IntVar(&o.step, "step", 1, "from one namespace to the next; used by the program itself")
	flag.StringVar(&o.role, "role", "", "be another process; used by the program itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.main(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fanout:", err)
		os.Exit(1)
	}
}

type options struct {
	server      apiserver.Options
	shape       string
	family      string
	connections int
	writes      int
	rate        float64
	debounce    time.Duration
	deflate     bool
	peerURL     string
	peer        process.Outsider
	profile     string
	host        process.Host
	role        string
	step        int // of the writer, from one namespace to the next
	patience    time.Duration
	out, log    io.Writer
}

// Roles of processes besides this and the API server.
const (
	countdRole = "countd"
	writerRole = "writer"
)

func (o options) main(ctx context.Context) error {
	switch {
	case o.host.Serve:
		return o.serve(process.Attended(ctx))
	case o.role == countdRole:
		return o.countd(process.Attended(ctx))
	case o.role == writerRole:
		return o.write(process.Attended(ctx))
	}
	report, err := o.run(ctx)
	if err != nil {
		return err
	}
	report.print(o.out)
	return nil
}

// run measures a shape.
func (o options) run(ctx context.Context) (*report, error) {
	if o.rate <= 0 || o.writes < 1 || o.connections < 0 || o.debounce <= 0 {
		return nil, fmt.Errorf("a rate of %f, %d writes, %d connections, debounce %s: want some", o.rate, o.writes, o.connections, o.debounce)
	}
	if o.family != "" && o.family != subscriber.Countd && o.family != subscriber.Steve {
		return nil, fmt.Errorf("family %q: want %s or %s", o.family, subscriber.Steve, subscriber.Countd)
	}
	if (o.peerURL == "") != (o.peer.PID == 0) {
		return nil, fmt.Errorf("a peer needs both -peer-url and -peer-pid")
	}
	switch o.shape {
	case "c11":
		o.defaults(subscriber.Steve, 300, o.server.Namespaces)
		return o.c11(ctx)
	default:
		return nil, fmt.Errorf("shape %q: want c11", o.shape)
	}
}

// defaults fills in what is a shape's own. There are so many objects at first, unless
// flags say otherwise.
func (o *options) defaults(family string, connections, objects int) {
	if o.family == "" {
		o.family = family
	}
	if o.connections == 0 {
		o.connections = connections
	}
	if o.server.Objects == 0 {
		o.server.Objects = objects
	}
}

func (o options) serve(ctx context.Context) error {
	handler, err := apiserver.New(o.server)
	if err != nil {
		return err
	}
	return o.host.Run(ctx, handler, o.out)
}
