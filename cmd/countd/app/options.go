package app

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/countd/countd/pkg/api"
	"github.com/countd/countd/pkg/cluster"
)

// envPrefix and a flag's name in capitals, with _ for -, are the name of the
// environment variable that sets it. A flag that is given wins.
const envPrefix = "COUNTD_"

// options are what flags and environment say.
type options struct {
	kubeconfig, context string
	listen              string
	resources, exclude  []string
	namespaces          []string
	states              string
	metricsNamespaces   bool
	server              api.Options // what flags say of it
	logLevel, logFormat string
	version             bool
}

func (o *options) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("countd", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file`; by default client-go's usual rules: $KUBECONFIG, ~/.kube/config, in a Pod its service account")
	f.StringVar(&o.context, "context", "", "`name` of the kubeconfig's context to use; by default its current one")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "loopback `address` to serve on; port 0 chooses a free one")
	f.DurationVar(&o.server.Debounce, "debounce", 500*time.Millisecond, "shortest `time` between two messages of a subscription that asks for no other, 1ms to 1m")
	f.StringSliceVar(&o.resources, "resources", nil, "count these `resources` only, for example pods,*.apps; * stands for any characters")
	f.StringSliceVar(&o.exclude, "exclude-resources", nil, "count all but these `resources`; wins over --resources")
	f.StringSliceVar(&o.namespaces, "namespaces", nil, "count in these `namespaces` only, with rights in these alone; cluster-scoped kinds are left out")
	f.StringVar(&o.states, "states", "corrected", "`rules` by which an object's state is read: corrected, or wrangler, as the Rancher dashboard has them in any case")
	f.BoolVar(&o.metricsNamespaces, "metrics-namespaces", true, "label the counts in /metrics by namespace; off, there is one series a resource and state")
	f.DurationVar(&o.server.DrainTimeout, "drain-timeout", 5*time.Second, "longest `time` that a stop may take, 100ms to 5m")
	o.limits(f)
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.BoolVar(&o.version, "version", false, "print the version and end")
	return f
}

// limits are what clients are held to.
func (o *options) limits(f *pflag.FlagSet) {
	f.DurationVar(&o.server.MinDebounce, "min-debounce", 0, "shortest `time` that a subscription may ask for with debounceMs, 1ms to --debounce; by default 50ms, or --debounce where that is less")
	f.DurationVar(&o.server.MaxDebounce, "max-debounce", 0, "longest `time` that a subscription may ask for, --debounce to 1h; by default 1m, or --debounce where that is more")
	f.IntVar(&o.server.MaxConnections, "max-connections", 20_000, "`number` of streams that may be open; a websocket beyond it is closed with 1013, any other refused with 429")
	f.IntVar(&o.server.MaxClientConnections, "max-connections-per-client", 0, "`number` of streams that may be open of one client, which is an address; by default as many as of all")
	f.IntVar(&o.server.MaxSubscriptions, "max-subscriptions", 100, "`number` of subscriptions that a connection of steve's family may have")
	f.Int64Var(&o.server.MessageLimit, "max-message-bytes", 4<<10, "`bytes` that a client's message may have, 256 to 1048576")
	f.Float64Var(&o.server.MessageRate, "max-message-rate", 20, "`number` of messages a second that a websocket's client may send, and ten times as many at once")
	f.DurationVar(&o.server.HandshakeTimeout, "handshake-timeout", 10*time.Second, "longest `time` that a client may take to say what it asks for, 100ms to 5m")
	f.DurationVar(&o.server.WriteTimeout, "write-timeout", 75*time.Second, "longest `time` that a client may take to accept a message, 1s to 1h")
}

// parse reads flags and environment and names all that is wrong with them. It
// returns pflag.ErrHelp when help was asked for and has been printed.
func parse(args []string, env func(string) (string, bool), stdout io.Writer) (options, error) {
	var o options
	flags := o.flags()
	flags.SetOutput(io.Discard) // an error is one line, not the whole usage
	flags.Usage = func() {
		_, _ = fmt.Fprintf(stdout, usage, flags.FlagUsagesWrapped(100))
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w (see countd --help)", err)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: countd takes flags only (see countd --help)", flags.Arg(0))
	}
	var problems []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value, ok := env(name); ok && !f.Changed && f.Name != "version" {
			if err := f.Value.Set(value); err != nil {
				problems = append(problems, fmt.Errorf("$%s is %q: %w", name, value, err))
			}
		}
	})
	problems = append(problems, o.validate()...)
	return o, joinLine(problems)
}

const usage = `countd counts the objects of a Kubernetes cluster, in all, per namespace and per state,
and streams the counts to a dashboard, to Prometheus and to whoever asks.

Usage: countd [flags]

%s
Each flag can be given by environment too: --exclude-resources is $COUNTD_EXCLUDE_RESOURCES.
`

func (o *options) validate() (problems []error) {
	within := func(flag string, value, low, high time.Duration) {
		if value < low || value > high {
			problems = append(problems, fmt.Errorf("--%s is %s, must be from %s to %s", flag, value, low, high))
		}
	}
	server := &o.server
	within("debounce", server.Debounce, time.Millisecond, time.Minute)
	within("drain-timeout", server.DrainTimeout, 100*time.Millisecond, 5*time.Minute)
	within("handshake-timeout", server.HandshakeTimeout, 100*time.Millisecond, 5*time.Minute)
	within("write-timeout", server.WriteTimeout, time.Second, time.Hour)
	if server.MinDebounce != 0 {
		within("min-debounce", server.MinDebounce, time.Millisecond, server.Debounce)
	}
	if server.MaxDebounce != 0 {
		within("max-debounce", server.MaxDebounce, server.Debounce, time.Hour)
	}
	number := func(flag string, value, low, high float64) {
		if !(low <= value && value <= high) {
			problems = append(problems, fmt.Errorf("--%s is %s, must be from %s to %s", flag, plain(value), plain(low), plain(high)))
		}
	}
	const many = 1_000_000
	number("max-connections", float64(server.MaxConnections), 1, many)
	number("max-connections-per-client", float64(server.MaxClientConnections), 0, many)
	number("max-subscriptions", float64(server.MaxSubscriptions), 1, many)
	number("max-message-bytes", float64(server.MessageLimit), 256, 1<<20)
	number("max-message-rate", server.MessageRate, 0.1, many)
	oneOf := func(flag, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			problems = append(problems, fmt.Errorf("--%s is %q, must be one of %s", flag, value, strings.Join(allowed, ", ")))
		}
	}
	oneOf("states", o.states, "corrected", "wrangler")
	oneOf("log-level", o.logLevel, "debug", "info", "warn", "error")
	oneOf("log-format", o.logFormat, "text", "json")
	return problems
}

// plain is a number without an exponent.
func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// stateRules are validated.
func (o *options) stateRules() cluster.StateRules {
	if o.states == "wrangler" {
		return cluster.WranglerStates
	}
	return cluster.CorrectedStates
}

// joinLine makes one error of several, on one line.
func joinLine(problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Error()
	}
	return errors.New(strings.Join(lines, "; "))
}

func (o *options) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(o.logLevel)) // validated
	handler := &slog.HandlerOptions{Level: level}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, handler))
	}
	return slog.New(slog.NewTextHandler(w, handler))
}

func environment(name string) (string, bool) { return os.LookupEnv(name) }
