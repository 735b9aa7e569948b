package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/pkg/counts"
)

// StateRules are those by which the states of objects are read. In steve's family they
// are wrangler's in any case, which is what the Rancher dashboard was made for.
type StateRules = state.Rules

const (
	// CorrectedStates are wrangler's where they serve a person, corrected where they hide
	// a failure or cry wolf: a Pod in CrashLoopBackOff is an error.
	CorrectedStates = state.Corrected
	// WranglerStates are those of github.com/rancher/wrangler's summary.
	WranglerStates = state.Wrangler
)

// Options are the settings of a Watcher.
type Options struct {
	// Config says how to reach the API server. Required. It is copied; its
	// client-side rate limit is lifted, because the API server has a fair one
	// of its own.
	Config *rest.Config
	// Counter is what is counted into. Required. Its Run is the caller's to call.
	Counter *counts.Counter
	// Resources and Exclude narrow what is counted, by patterns over resource
	// keys: "pods", "*.apps". Empty Resources means all. What an embedder
	// counts from its own informers belongs into Exclude.
	Resources, Exclude []string
	// Namespaces, unless empty, are those that are counted: each kind is listed and
	// watched in each of them, so that rights in these suffice, and cluster-scoped
	// kinds are left out. Ten namespaces make ten watches a kind.
	//
	// Where Namespaces is empty, a kind that may not be listed and watched cluster-wide
	// is read in those namespaces in which it may, up to 200, and its status has a note
	// of them. That is seen from the rules that the API server tells for each namespace.
	Namespaces []string
	// OwnNamespace is that of the identity in Config, if any: where it may not list
	// namespaces, it is the one of which it is seen what may be listed there.
	OwnNamespace string
	// States says how states are read. Default: [CorrectedStates].
	States StateRules
	// Log takes changes of state. Default: nothing is logged.
	Log *slog.Logger
}

func (o *Options) validate() (filter, error) {
	var problems []error
	if o.Config == nil {
		problems = append(problems, errors.New("Options.Config is missing"))
	}
	if o.Counter == nil {
		problems = append(problems, errors.New("Options.Counter is missing"))
	}
	f, err := newFilter(o.Resources, o.Exclude)
	problems = append(problems, err)
	f.namespaces, err = validNamespaces(o.Namespaces)
	return f, errors.Join(append(problems, err)...)
}

const (
	// Without a CRD or an APIService changing, discovery is asked this often,
	// and more often where those two cannot be watched.
	discoverIdle  = 5 * time.Minute
	discoverBlind = 30 * time.Second
	// discoverTimeout bounds one discovery.
	discoverTimeout = 30 * time.Second
	// troubleAfter is how long changes of phase are gathered before they are
	// logged: what goes wrong for one resource often does for all.
	troubleAfter = time.Second
	// settlePatience is how long a silent list keeps Settled waiting.
	settlePatience = 30 * time.Second
)

// Discovery follows a CRD within milliseconds or, when its controllers are busy,
// seconds: it is asked soonest after a trigger, and again at each of discoverAgain.
// Triggers that go on, such as those of a controller that fights over a CRD, double
// the distance up to latest.
var discoverAgain = [...]time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second}

const (
	soonest = 50 * time.Millisecond
	latest  = 2 * time.Second
)

// Watcher counts what a cluster holds. It is safe for concurrent use.
type Watcher struct {
	counter   *counts.Counter
	filter    filter
	log       *slog.Logger
	discovery discovery.DiscoveryInterfaceWithContext
	clients   clients
	http      *http.Client
	turns     *turns
	board     *board
	rights    *rights
	settled   chan struct{}
	kick      chan struct{} // holds one: discovery should be asked

	running map[string]*running // owned by Run
	partial bool                // owned by Run: the last discovery lacked groups
	feeds   sync.WaitGroup
}

// New returns a watcher that counts once [Watcher.Run] is called.
func New(o Options) (*Watcher, error) {
	f, err := o.validate()
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	config := rest.CopyConfig(o.Config)
	config.QPS, config.RateLimiter = -1, nil
	config.WarningHandlerWithContext = rest.NoWarnings{}
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("cluster: making an HTTP client: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfigAndClient(config, h)
	if err != nil {
		return nil, fmt.Errorf("cluster: making a discovery client: %w", err)
	}
	reviews, err := authorizationclient.NewForConfigAndClient(config, h)
	if err != nil {
		return nil, fmt.Errorf("cluster: making a client for access reviews: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	readers, turns := newClients(config, h, o.States), newTurns()
	rd, err := readers.reader(namespaces())
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return &Watcher{
		counter:   o.Counter,
		filter:    f,
		log:       o.Log,
		discovery: d,
		clients:   readers,
		http:      h,
		turns:     turns,
		board:     newBoard(o.Log),
		rights:    newRights(reviews, rd, turns, o.OwnNamespace, o.Log),
		settled:   make(chan struct{}),
		kick:      make(chan struct{}, 1),
		running:   make(map[string]*running),
	}, nil
}

// Status says of each resource whether it is counted and if not, why not.
func (w *Watcher) Status() []counts.Status { return w.board.all() }

// Settled is closed once each resource that the cluster had at the start is
// counted, or it is known why it is not. A list that is silent for half a minute
// does not keep it open.
func (w *Watcher) Settled() <-chan struct{} { return w.settled }

// Run counts until ctx ends, and returns its cause when every goroutine that it
// started has ended and what it counted has left the counts, so that another
// watcher may count it. It returns earlier only where the API server cannot be asked
// at the start; later it waits for it to come back. It must be called once.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.http.CloseIdleConnections()
	defer w.close(ctx)
	defer w.feeds.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := w.discover(ctx); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	w.feeds.Go(func() { w.observe(ctx) })
	w.feeds.Go(func() { w.rights.run(ctx) })
	distance := soonest         // from a trigger to the discovery that it asks for
	again := len(discoverAgain) // the next of discoverAgain to wait for
	triggered := false          // since the last discovery
	due := time.NewTimer(w.idle())
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.kick:
			if !triggered {
				triggered, again = true, 0
				due.Reset(distance)
			}
		case <-due.C:
			if err := w.discover(ctx); err != nil && ctx.Err() == nil {
				w.log.Warn("resources cannot be discovered, counting those that are known", "error", err)
			}
			switch {
			case triggered:
				triggered, distance = false, min(distance*2, latest)
				due.Reset(discoverAgain[0])
			case again+1 < len(discoverAgain):
				again++
				due.Reset(discoverAgain[again])
			default:
				again, distance = len(discoverAgain), soonest
				due.Reset(w.idle())
			}
		}
	}
}

// close takes what was counted out of the counts.
func (w *Watcher) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	for _, r := range w.running {
		if r.source != nil {
			_ = r.source.Close(ctx) // fails where the counter has ended too
		}
	}
}

// observe closes settled in its time, logs how far that is until then, and logs
// what is not followed.
func (w *Watcher) observe(ctx context.Context) {
	settling := time.NewTicker(100 * time.Millisecond)
	defer settling.Stop()
	settled := settling.C
	progress := time.NewTicker(progressEvery)
	defer progress.Stop()
	var trouble <-chan time.Time // when changes of phase are logged
	for {
		select {
		case <-ctx.Done():
			return
		case <-settled:
			if w.board.settled() {
				settled = nil
				settling.Stop()
				progress.Stop()
				close(w.settled)
				w.log.Info("counting", "resources", w.counter.Snapshot().Len())
			}
		case <-progress.C:
			w.board.logProgress(objects(w.counter.Snapshot()))
		case <-w.board.changed:
			if trouble == nil {
				trouble = time.After(troubleAfter)
			}
		case <-trouble:
			trouble = nil
			w.board.logTrouble()
		}
	}
}

// idle is how long to wait for the next discovery when nothing changes.
func (w *Watcher) idle() time.Duration {
	if w.partial {
		return jitter(discoverBlind)
	}
	for key := range triggers {
		if r := w.running[key]; r == nil || !r.report.isReady() {
			return jitter(discoverBlind)
		}
	}
	return jitter(discoverIdle)
}
