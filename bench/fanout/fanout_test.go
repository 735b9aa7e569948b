package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/fanout/subscriber"
	"github.com/countd/countd/bench/process"
)

// TestMain is, where it is asked to, one of the processes of a test.
func TestMain(m *testing.M) {
	if slices.ContainsFunc(os.Args, func(arg string) bool { return arg == "-role" || arg == "-serve" }) {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// small is a load that a test can carry.
func small(t *testing.T) options {
	return options{
		server:      apiserver.Options{Namespaces: 20, Kind: "ConfigMap", Live: true},
		connections: 10, writes: 60, rate: 200, debounce: 50 * time.Millisecond, duration: 500 * time.Millisecond, deflate: true, patience: patience,
		host: process.Host{Listen: "127.0.0.1:0"}, log: t.Output(),
	}
}

// ends measures a shape, and returns the line for programs, which must be as expected.
func (o options) ends(t *testing.T, result string) {
	t.Helper()
	r, err := o.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r.print(&out)
	if !regexp.MustCompile(`\nRESULT `+result+`\n$`).Match(out.Bytes()) || strings.Count(out.String(), "RESULT") != 1 {
		t.Errorf("report ends otherwise than in %s:\n%s", result, &out)
	}
}

// TestC11: all are exact in both families, and in countd's own a change of one namespace
// costs few bytes.
func TestC11(t *testing.T) {
	for family, bytes := range map[string]string{subscriber.Steve: `\d{3,4}`, subscriber.Countd: `1\d\d`} {
		t.Run(family, func(t *testing.T) {
			o := small(t)
			o.shape, o.family = "c11", family
			o.ends(t, `exact=10/10 cpu_s=\d+\.\d\d bytes_per_change=`+bytes)
		})
	}
}

// TestC11ComparesAPeer: the same load is put on another server of steve's protocol on the
// same API server, here a countd as well.
func TestC11ComparesAPeer(t *testing.T) {
	o := small(t)
	o.shape = "c11"
	o.server.Objects = 20
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	api, end, err := o.host.Start(ctx, o.server.Args()...)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	peer, err := o.startCountd(ctx, api)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.stop() }()
	o.host.URL, o.peerURL, o.peer.PID = api, peer.url, peer.pid
	o.ends(t, `exact=10/10 cpu_s=\S+ bytes_per_change=\d+ cpu_ratio_peer=\S+ bytes_ratio_peer=\d\.\d+ peer_exact=10/10`)
}

// TestFan: nobody is lost, all are exact, and what is compared with write(2) was measured.
func TestFan(t *testing.T) {
	for _, family := range []string{subscriber.Steve, subscriber.Countd} {
		t.Run(family, func(t *testing.T) {
			o := small(t)
			o.shape, o.family = "fan", family
			o.ends(t, `lost=0 exact=10/10 p99_ms=\d+ cpu_ratio_raw=\d+\.\d\d cpu_ratio_raw_less_events=-?\d+\.\d\d kib_per_connection=-?\d+\.\d`)
		})
	}
}

// TestStorm: all are served, and what they are sent is encoded once.
func TestStorm(t *testing.T) {
	for _, family := range []string{subscriber.Steve, subscriber.Countd} {
		t.Run(family, func(t *testing.T) {
			o := small(t)
			o.shape, o.family, o.server.Custom, o.connections = "storm", family, 5, 50
			o.ends(t, `encoded=1 served=50/50 seconds=\S+ cpu_s=\d+\.\d\d`)
		})
	}
}

// TestViews: each view is exact, and is sent what it is concerned by.
func TestViews(t *testing.T) {
	o := small(t)
	o.shape, o.connections, o.server.Namespaces = "views", 100, 200
	o.ends(t, `exact=100/100 us_per_changed_view=-?\d+\.\d us_per_unchanged_view=-?\d+\.\d`)
}

// TestSlow: those who read are exact beside those who do not.
func TestSlow(t *testing.T) {
	o := small(t)
	o.shape = "slow"
	o.ends(t, `exact=10/10 lost=0 p99_ms=\d+ p99_ratio=\d+\.\d\d p99_ratio_alone=\d+\.\d\d memory_ratio=\d+\.\d\d`)
}

// TestOptionsAreChecked: what cannot be measured is said before anything is started.
func TestOptionsAreChecked(t *testing.T) {
	for want, change := range map[string]func(*options){
		`shape "none"`:     func(o *options) { o.shape = "none" },
		`family "none"`:    func(o *options) { o.family = "none" },
		"a peer needs":     func(o *options) { o.peerURL = "http://127.0.0.1:1" },
		"a rate of 0.0000": func(o *options) { o.rate = 0 },
	} {
		o := small(t)
		change(&o)
		if _, err := o.run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
