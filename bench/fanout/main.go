// Command fanout measures what it costs countd to stream counts to many clients at once:
//
//	go run ./fanout -shape c11
//	go run ./fanout -shape c11 -family countd
//	go run ./fanout -shape fan
//	go run ./fanout -shape storm
//	go run ./fanout -shape views
//	go run ./fanout -shape slow
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
// fan: 10,000 connections (-connections) on one view, while objects are created (-rate,
// -duration).
//
//   - p99_ms: of the time from before the POST of each creation until a connection has
//     read the message that has it in its count, over all creations and connections, in
//     milliseconds rounded up. The debounce is in it, and what messages wait for in the
//     clients, whose time a message is noted when its last byte is read.
//   - cpu_ratio_raw: countd's CPU time by the number of messages that arrived, to that of a
//     process that writes the last of these messages, the same bytes, to as many sockets
//     with write(2), at the same interval, and does nothing else. Reading the events from
//     the API server and counting is in countd's; cpu_ratio_raw_less_events is without
//     what as many creations cost when there is no connection.
//   - kib_per_connection: what countd's resident memory has grown by when all are open and
//     have their first message, by their number.
//
// storm: 5,000 connections (-connections) in two seconds, each of which asks for a snapshot of
// 500 kinds (-custom-kinds and ConfigMaps) in 1,000 namespaces. encoded is how often a
// message with counts was, as countd's metrics say; served is how many have it.
//
// views: 1,000 connections (-connections), each on a view of its own, of ten namespaces that
// no other has. The same number of objects is created in namespaces of ten of the views, of
// a hundred, and of all. us_per_changed_view is what a view costs, in microseconds of CPU
// time, each time that it changes; us_per_unchanged_view, when others do.
//
// slow: 1,000 connections (-connections) that read, alone, then beside as many that do not,
// and alone again. p99_ratio is the first ones' p99 beside the others, once these are full,
// to the mean of the two alone; p99_ratio_alone, of the second of the two to the first, is
// how far the machine is to be trusted. memory_ratio is countd's resident memory at the end
// of the time with the others, to that when they had just filled up. Who does not read is
// cut off by countd after 75 s, and comes again.
//
// c11's load can be put on another server of steve's protocol that somebody has
// started on the same API server, after countd: with its address as -peer-url and its
// process id as -peer-pid. The API server has to be there first:
//
//	go run ./fanout -serve -listen 127.0.0.1:18080 -kubeconfig peer.yaml
//	go run ./fanout -shape c11 -server http://127.0.0.1:18080 -peer-url http://127.0.0.1:8080 -peer-pid PID
//
// -profile writes a CPU profile of countd's process. The last line of the output is for
// programs:
//
//	RESULT exact=… cpu_s=… bytes_per_change=… cpu_ratio_peer=… bytes_ratio_peer=…
//	RESULT lost=… exact=… p99_ms=… cpu_ratio_raw=… cpu_ratio_raw_less_events=… kib_per_connection=…
//	RESULT encoded=… served=… seconds=… cpu_s=…
//	RESULT exact=… us_per_changed_view=… us_per_unchanged_view=…
//	RESULT exact=… lost=… p99_ms=… p99_ratio=… p99_ratio_alone=… memory_ratio=…
//
// The ratios to a peer are countd's by the peer's: less than 1 is less.
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
	o := options{out: os.Stdout, log: os.Stderr, patience: patience, server: apiserver.Options{Kind: "ConfigMap", Live: true}}
	o.server.Flags(flag.CommandLine)
	flag.StringVar(&o.shape, "shape", "c11", "what is measured: c11, fan, storm, views or slow")
	flag.IntVar(&o.connections, "connections", 0, "`number` of connections; 0: the shape's own")
	flag.StringVar(&o.family, "family", "", "steve or countd; empty: the shape's own")
	flag.IntVar(&o.writes, "writes", 4000, "`number` of creations, in c11")
	flag.Float64Var(&o.rate, "rate", 1000, "creations a `second`")
	flag.DurationVar(&o.duration, "duration", 0, "how long objects are created, in all shapes but c11; 0: the shape's own")
	flag.DurationVar(&o.debounce, "debounce", 500*time.Millisecond, "that subscriptions ask for")
	flag.BoolVar(&o.deflate, "deflate", true, "ask for compressed messages")
	flag.StringVar(&o.peerURL, "peer-url", "", "`URL` of another server of steve's protocol on the same API server; see -peer-pid")
	flag.StringVar(&o.profile, "profile", "", "`file` to which a CPU profile of countd is written")
	o.peer.Flags(flag.CommandLine)
	o.host.Flags(flag.CommandLine)
	flag.StringVar(&o.frames, "frames", "", "`file` of messages; used by the program itself")
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
	duration    time.Duration
	debounce    time.Duration
	deflate     bool
	peerURL     string
	peer        process.Outsider
	profile     string
	host        process.Host
	role        string
	frames      string // what the floor writes
	step        int    // of the writer, from one namespace to the next
	patience    time.Duration
	out, log    io.Writer
}

// Roles of processes besides this and the API server.
const (
	countdRole = "countd"
	writerRole = "writer"
	floorRole  = "floor"
)

func (o options) main(ctx context.Context) error {
	switch {
	case o.host.Serve:
		return o.serve(process.Attended(ctx))
	case o.role == countdRole:
		return o.countd(process.Attended(ctx))
	case o.role == writerRole:
		return o.write(process.Attended(ctx))
	case o.role == floorRole:
		return o.floor(process.Attended(ctx))
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
	if o.rate <= 0 || o.writes < 1 || o.connections < 0 || o.debounce <= 0 || o.duration < 0 {
		return nil, fmt.Errorf("a rate of %f, %d writes, %d connections, debounce %s, duration %s: want some", o.rate, o.writes, o.connections, o.debounce, o.duration)
	}
	if o.family != "" && o.family != subscriber.Countd && o.family != subscriber.Steve {
		return nil, fmt.Errorf("family %q: want %s or %s", o.family, subscriber.Steve, subscriber.Countd)
	}
	if (o.peerURL == "") != (o.peer.PID == 0) {
		return nil, fmt.Errorf("a peer needs both -peer-url and -peer-pid")
	}
	switch o.shape {
	case "c11":
		o.defaults(subscriber.Steve, 300, 1000, 0)
		return o.c11(ctx)
	case "fan":
		o.defaults(subscriber.Countd, 10_000, 1000, 2*time.Minute)
		return o.fan(ctx)
	case "storm":
		o.defaults(subscriber.Countd, 5000, 1000, 0)
		setDefault(&o.server.Custom, 499)
		return o.storm(ctx)
	case "views":
		o.defaults(subscriber.Countd, 1000, 10_000, 10*time.Second)
		return o.views(ctx)
	case "slow":
		o.defaults(subscriber.Countd, 1000, 1000, 20*time.Second)
		return o.slow(ctx)
	default:
		return nil, fmt.Errorf("shape %q: want c11, fan, storm, views or slow", o.shape)
	}
}

// defaults fills in what is a shape's own. There is an object in each namespace at first,
// unless flags say otherwise.
func (o *options) defaults(family string, connections, namespaces int, duration time.Duration) {
	setDefault(&o.family, family)
	setDefault(&o.connections, connections)
	setDefault(&o.duration, duration)
	setDefault(&o.server.Namespaces, namespaces)
	setDefault(&o.server.Objects, o.server.Namespaces)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o options) serve(ctx context.Context) error {
	setDefault(&o.server.Namespaces, 1000)
	setDefault(&o.server.Objects, o.server.Namespaces)
	handler, err := apiserver.New(o.server)
	if err != nil {
		return err
	}
	return o.host.Run(ctx, handler, o.out)
}
