package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/pkg/counts"
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

// triggers are the resources whose changes change what discovery says.
var triggers = map[string]counts.Resource{
	"customresourcedefinitions.apiextensions.k8s.io": {Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions", Kind: "CustomResourceDefinition"},
	"apiservices.apiregistration.k8s.io":             {Group: "apiregistration.k8s.io", Version: "v1", Name: "apiservices", Kind: "APIService"},
}

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
	turns     turns
	board     *board
	settled   chan struct{}
	kick      chan struct{} // holds one: discovery should be asked

	running map[string]*running // owned by Run
	partial bool                // owned by Run: the last discovery lacked groups
	feeds   sync.WaitGroup
}

// running is a resource that is being read.
type running struct {
	resource counts.Resource
	source   *counts.Source // nil for a trigger that is not counted
	report   *report
	stop     context.CancelFunc
	done     chan struct{}
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
	c, err := newClients(config, h)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Watcher{
		counter:   o.Counter,
		filter:    f,
		log:       o.Log,
		discovery: d,
		clients:   c,
		http:      h,
		turns:     newTurns(),
		board:     newBoard(o.Log),
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

// observe closes settled in its time, and logs what is not followed.
func (w *Watcher) observe(ctx context.Context) {
	settling := time.NewTicker(100 * time.Millisecond)
	defer settling.Stop()
	settled := settling.C
	var trouble <-chan time.Time // when changes of phase are logged
	for {
		select {
		case <-ctx.Done():
			return
		case <-settled:
			if w.board.settled() {
				settled = nil
				settling.Stop()
				close(w.settled)
				w.log.Info("counting", "resources", w.counter.Snapshot().Len())
			}
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

// discover asks what there is to count and starts and stops feeds accordingly.
func (w *Watcher) discover(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	found, err := discover(asking, w.discovery, w.filter)
	if err != nil {
		return err
	}
	w.partial = len(found.failed) > 0
	for key, r := range w.running {
		if now, listed := found.countable[key]; listed && now.Namespaced == r.resource.Namespaced && now.Kind == r.resource.Kind {
			continue
		} else if !listed && w.stays(asking, r, found) {
			continue
		}
		if err := w.end(ctx, r); err != nil {
			return err
		}
	}
	fixed := found.excluded
	for _, r := range inOrder(found.countable) {
		err := w.begin(ctx, r)
		if errors.Is(err, counts.ErrTaken) {
			fixed[r.Key()] = counts.Status{Resource: r, Phase: counts.Excluded, Reason: "OtherSource", Message: "counted from another source"}
		} else if err != nil {
			return err
		}
	}
	for group, cause := range found.failed {
		fixed[counts.Resource{Group: group, Name: wholeGroup}.Key()] = undiscovered(group, cause)
	}
	w.board.set(fixed)
	for key, r := range triggers {
		if w.running[key] == nil {
			apart := newBoard(slog.New(slog.DiscardHandler)) // not counted, so not on the board
			w.start(ctx, &running{resource: r, report: apart.report(r)}, uncounted{})
		}
	}
	return nil
}

// stays says whether a resource that discovery does not list is to be read on: one
// that is read for its events alone, one whose group could not be asked, and one
// that is counted and still served. While an API server starts, its discovery lacks the
// custom resources for a moment; taking it at its word is what makes counts go to
// 0 and come back (rancher/dashboard#16747).
func (w *Watcher) stays(ctx context.Context, r *running, found discovered) bool {
	key := r.resource.Key()
	if _, excluded := found.excluded[key]; excluded {
		return r.source == nil
	}
	if _, failed := found.failed[r.resource.Group]; failed {
		return true
	}
	return r.report.isCounted() && w.served(ctx, r.resource)
}

// served asks the resource's own path, and where that is forbidden, which it also is
// when there is no such resource, what its group and version have.
func (w *Watcher) served(ctx context.Context, r counts.Resource) bool {
	err := w.clients.reader(r).probe(ctx)
	if !apierrors.IsForbidden(err) {
		return !apierrors.IsNotFound(err)
	}
	list, err := w.discovery.ServerResourcesForGroupVersionWithContext(ctx, schema.GroupVersion{Group: r.Group, Version: r.Version}.String())
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	return slices.ContainsFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Name == r.Name })
}

// begin sees to it that a resource is read, in the version that discovery says.
func (w *Watcher) begin(ctx context.Context, r counts.Resource) error {
	is := w.running[r.Key()]
	switch {
	case is == nil:
		source, err := w.counter.Source(ctx, r)
		if err != nil {
			return err
		}
		is = &running{source: source}
	case is.source == nil: // a trigger that could not be counted before
		source, err := w.counter.Source(ctx, r)
		if err != nil {
			return err
		}
		is.halt()
		is = &running{source: source}
	case is.resource.Version == r.Version:
		return nil
	default: // another version of the same objects: their count stays meanwhile
		is.halt()
		is.report.relisting(fmt.Errorf("it is now read as %s", r.Version))
		if err := is.source.Redefine(ctx, r); err != nil {
			return err
		}
	}
	is.resource, is.report = r, w.board.report(r)
	w.start(ctx, is, is.source)
	return nil
}

func (w *Watcher) start(ctx context.Context, is *running, to sink) {
	key := is.resource.Key()
	if _, ok := triggers[key]; ok {
		to = kicker{sink: to, kick: w.kick}
	}
	ctx, is.stop = context.WithCancel(ctx)
	is.done = make(chan struct{})
	w.running[key] = is
	var f feed = newWatchFeed(w.clients.reader(is.resource), to, is.report, w.turns)
	w.feeds.Go(func() {
		defer close(is.done)
		f.run(ctx)
	})
}

// end stops reading a resource and takes it out of the counts.
func (w *Watcher) end(ctx context.Context, r *running) error {
	r.halt()
	delete(w.running, r.resource.Key())
	if r.source == nil {
		return nil
	}
	r.report.remove()
	return r.source.Close(ctx)
}

func (r *running) halt() {
	r.stop()
	<-r.done
}

// uncounted is the sink of a resource that is read for its events alone.
type uncounted struct{}

func (uncounted) Begin(context.Context) error                  { return nil }
func (uncounted) Put(context.Context, counts.Object) error     { return nil }
func (uncounted) Remove(context.Context, string, string) error { return nil }
func (uncounted) End(context.Context) error                    { return nil }

// kicker asks for discovery whenever something happens to the objects of a sink.
type kicker struct {
	sink
	kick chan<- struct{}
}

func (k kicker) Put(ctx context.Context, o counts.Object) error {
	defer k.now()
	return k.sink.Put(ctx, o)
}

func (k kicker) Remove(ctx context.Context, namespace, name string) error {
	defer k.now()
	return k.sink.Remove(ctx, namespace, name)
}

// End kicks too: a list finds what was deleted while nobody watched.
func (k kicker) End(ctx context.Context) error {
	defer k.now()
	return k.sink.End(ctx)
}

func (k kicker) now() {
	select {
	case k.kick <- struct{}{}:
	default: // it has been asked for already
	}
}
