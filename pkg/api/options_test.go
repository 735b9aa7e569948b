package api

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countd/countd/pkg/counts"
)

func valid(t *testing.T) Options {
	t.Helper()
	c, err := counts.New(counts.Options{})
	must(t, err)
	return Options{Counter: c, Status: func() []counts.Status { return nil }, Settled: make(chan struct{})}
}

func TestOptionsNeedThreeThingsOnly(t *testing.T) {
	_, err := New(valid(t))
	must(t, err)
}

func TestOptionsNameAllProblemsAtOnce(t *testing.T) {
	_, err := New(Options{
		Debounce: 10 * time.Millisecond, MinDebounce: time.Second, MaxDebounce: 5 * time.Millisecond,
		WriteTimeout: -1, PingInterval: time.Minute, PeerTimeout: time.Second, AskTimeout: -1, StartTimeout: -1, DrainTimeout: -1,
		MessageLimit: -1, MaxSubscriptions: -1, MaxConnections: -1, MaxClientConnections: -1, MessageRate: -1, HandshakeTimeout: -1, Hosts: []string{""},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"Counter is missing", "Status is missing", "Settled is missing",
		"Debounce is 10ms, below MinDebounce, 1s", "Debounce is 10ms, above MaxDebounce, 5ms",
		"WriteTimeout is -1ns", "PingInterval is 1m0s, must be at most 25s", "PeerTimeout is 1s, must be more than PingInterval",
		"AskTimeout", "StartTimeout", "DrainTimeout", "MessageLimit is -1", "MaxSubscriptions is -1", "MaxConnections is -1", "MaxClientConnections is -1",
		"MessageRate is -1", "HandshakeTimeout is -1ns", "Hosts[0] is empty",
	} {
		if !strings.Contains(err.Error(), "Options."+want) {
			t.Errorf("%q is not in\n%s", want, err)
		}
	}
}

// TestDebounceAloneSetsItsLimits: --debounce=5ms needs no second flag.
func TestDebounceAloneSetsItsLimits(t *testing.T) {
	for _, debounce := range []time.Duration{time.Millisecond, time.Second, time.Hour} {
		o := valid(t)
		o.Debounce = debounce
		_, err := New(o)
		must(t, err)
	}
}

func TestRegistryIsUsedByOneServer(t *testing.T) {
	o := valid(t)
	o.Registry = prometheus.NewRegistry()
	_, err := New(o)
	must(t, err)
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "registering the API's metrics") {
		t.Errorf("got %v", err)
	}
}
