package api

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countd/countd/pkg/counts"
)

// Options are the settings of a Server. Counter, Status and Settled are needed;
// everything else has a default.
type Options struct {
	// Counter is what is served.
	Counter *counts.Counter
	// Status says of each resource how far it has come. It is called for a
	// request, from any goroutine, and must not block.
	Status func() []counts.Status
	// Settled is closed once each resource is counted or it is known why not.
	// Until then the server is not ready, and the subscriptions of Rancher's
	// dashboard wait for their start.
	Settled <-chan struct{}
	// Page is what is served at "/". Default: nothing.
	Page fs.FS
	// Version is countd's own, as it is told to clients. Default: "unknown".
	Version string

	// Hosts are names by which clients may call the server besides localhost
	// and loopback addresses. A name that somebody else can point at 127.0.0.1
	// opens countd to every web page; see [Listen]. Default: none.
	Hosts []string

	// Registry is where the server's own metrics are registered, and what
	// /metrics serves. Default: one of the server's own.
	Registry *prometheus.Registry
	// Log is told of starts and ends, and at debug level of each stream.
	// Default: nowhere.
	Log *slog.Logger

	// Debounce is the shortest time between two messages of a subscription that
	// does not ask for another. Default: 500 ms, which looks live to a person
	// and is half of what Rancher's dashboard takes in at the soonest.
	Debounce time.Duration
	// MinDebounce and MaxDebounce are the limits of what a subscription may ask
	// for with debounceMs. Default: 50 ms, or Debounce where that is less; one
	// minute, or Debounce where that is more.
	MinDebounce, MaxDebounce time.Duration

	// WriteTimeout is how long a client may take to accept a message before it
	// is cut off. A stuck client costs a goroutine and what the kernel buffers,
	// whatever happens meanwhile, so it can be long. Default: 75 s: a client
	// that stopped for a minute goes on over the same connection.
	WriteTimeout time.Duration
	// PingInterval is the time between two signs of life on an idle stream, at
	// most 25 s, because Rancher's dashboard closes after 35 s without a
	// message. Default: 20 s.
	PingInterval time.Duration
	// PeerTimeout is how long a websocket's client may be silent, pongs
	// included, before it is taken for dead. More than a PingInterval. Default:
	// 90 s, for the same reason as WriteTimeout: a client that is stopped or stuck. One
	// whose machine or network is gone acknowledges nothing: on Linux it is cut after two
	// PingIntervals without an acknowledgement, which is seen after three at the latest,
	// a minute; TCP keepalive finds those to which nothing is sent, after 45 s (see
	// [Listen]).
	PeerTimeout time.Duration
	// AskTimeout is how long a websocket of countd's own family that came
	// without parameters is waited for, to say what it wants; then it gets
	// everything. Default: 1 s.
	AskTimeout time.Duration
	// StartTimeout is how long a subscription of steve's family waits for Settled
	// before it starts with what has been counted so far: one kind that hangs
	// must not keep all others from the dashboard. Default: 30 s.
	StartTimeout time.Duration
	// DrainTimeout is how long Run may take to return once its context has
	// ended. Default: 5 s.
	DrainTimeout time.Duration

	// ReconnectWithin is the time over which clients are asked to spread when they come
	// back after a drain, each at its own moment. Default: 10 s.
	ReconnectWithin time.Duration

	// HandshakeTimeout is how long a client may take to send a request's header, and
	// a websocket's handshake to be over. Default: 10 s.
	HandshakeTimeout time.Duration

	// MaxConnections is how many streams may be open, over all transports. A websocket
	// beyond it is closed with 1013, any other stream refused with 429; those that
	// are open are not touched. Default: 20,000, which is some 300 MiB.
	MaxConnections int
	// MaxClientConnections is the same for one client, which is an address for as long
	// as there is no access control. A proxy is one client. Default: MaxConnections.
	MaxClientConnections int
	// MessageLimit is the most bytes that a client's message may have.
	// Default: 4 KiB, some forty times a long subscription.
	MessageLimit int64
	// MessageRate is how many messages a second a websocket's client may send, pings
	// and pongs included, and ten times as many at once. One that sends more is closed
	// with 1008. Default: 20.
	MessageRate float64
	// MaxSubscriptions is how many subscriptions a connection of steve's family
	// may have. Default: 100; the dashboard has one for the counts.
	MaxSubscriptions int
}

const (
	defaultDebounce     = 500 * time.Millisecond
	defaultMinDebounce  = 50 * time.Millisecond
	defaultMaxDebounce  = time.Minute
	defaultWriteTimeout = 75 * time.Second
	defaultPingInterval = 20 * time.Second
	maxPingInterval     = 25 * time.Second
	defaultPeerTimeout  = 90 * time.Second
	defaultAskTimeout   = time.Second
	defaultStartTimeout = 30 * time.Second
	defaultDrainTimeout = 5 * time.Second
	defaultMessageLimit = 4 << 10
	defaultMaxSubs      = 100
	defaultHandshake    = 10 * time.Second
	defaultReconnect    = 10 * time.Second
	defaultConnections  = 20_000
	defaultMessageRate  = 20
)

// withDefaults returns o with a value for all that was left out.
func (o Options) withDefaults() Options {
	if o.Version == "" {
		o.Version = "unknown"
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	setDefault(&o.Debounce, defaultDebounce)
	setDefault(&o.MinDebounce, min(defaultMinDebounce, o.Debounce))
	setDefault(&o.MaxDebounce, max(defaultMaxDebounce, o.Debounce))
	setDefault(&o.WriteTimeout, defaultWriteTimeout)
	setDefault(&o.PingInterval, defaultPingInterval)
	setDefault(&o.PeerTimeout, defaultPeerTimeout)
	setDefault(&o.AskTimeout, defaultAskTimeout)
	setDefault(&o.StartTimeout, defaultStartTimeout)
	setDefault(&o.DrainTimeout, defaultDrainTimeout)
	setDefault(&o.MessageLimit, defaultMessageLimit)
	setDefault(&o.MaxSubscriptions, defaultMaxSubs)
	setDefault(&o.ReconnectWithin, defaultReconnect)
	setDefault(&o.HandshakeTimeout, defaultHandshake)
	setDefault(&o.MaxConnections, defaultConnections)
	setDefault(&o.MaxClientConnections, o.MaxConnections)
	setDefault(&o.MessageRate, defaultMessageRate)
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate names all that is wrong with the options, taken with their defaults.
func (o Options) Validate() error {
	var problems []error
	problem := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf("api: Options."+format, args...))
		}
	}
	problem(o.Counter == nil, "Counter is missing")
	problem(o.Status == nil, "Status is missing")
	problem(o.Settled == nil, "Settled is missing")
	o = o.withDefaults()
	positive := func(name string, d time.Duration) {
		problem(d < 0, "%s is %s, must be positive", name, d)
	}
	positive("Debounce", o.Debounce)
	positive("MinDebounce", o.MinDebounce)
	positive("MaxDebounce", o.MaxDebounce)
	positive("WriteTimeout", o.WriteTimeout)
	positive("PingInterval", o.PingInterval)
	positive("ReconnectWithin", o.ReconnectWithin)
	positive("HandshakeTimeout", o.HandshakeTimeout)
	positive("AskTimeout", o.AskTimeout)
	positive("StartTimeout", o.StartTimeout)
	positive("DrainTimeout", o.DrainTimeout)
	problem(o.Debounce >= 0 && o.Debounce < o.MinDebounce, "Debounce is %s, below MinDebounce, %s", o.Debounce, o.MinDebounce)
	problem(o.MaxDebounce >= 0 && o.Debounce > o.MaxDebounce, "Debounce is %s, above MaxDebounce, %s", o.Debounce, o.MaxDebounce)
	problem(o.PingInterval > maxPingInterval, "PingInterval is %s, must be at most %s", o.PingInterval, maxPingInterval)
	problem(o.PeerTimeout <= o.PingInterval, "PeerTimeout is %s, must be more than PingInterval, %s", o.PeerTimeout, o.PingInterval)
	problem(o.MessageLimit < 0, "MessageLimit is %d, must be positive", o.MessageLimit)
	problem(o.MaxSubscriptions < 0, "MaxSubscriptions is %d, must be positive", o.MaxSubscriptions)
	problem(o.MaxConnections < 0, "MaxConnections is %d, must be positive", o.MaxConnections)
	problem(o.MaxClientConnections < 0, "MaxClientConnections is %d, must be positive", o.MaxClientConnections)
	problem(!(o.MessageRate > 0), "MessageRate is %g, must be positive", o.MessageRate)
	for i, host := range o.Hosts {
		problem(host == "", "Hosts[%d] is empty", i)
	}
	return errors.Join(problems...)
}
