package cluster

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/test/kube"
	"github.com/countd/countd/test/proxy"
)

var sample = regexp.MustCompile(`^(apiserver_request_total|apiserver_longrunning_requests)\{(.*)\} (\S+)$`)

// apiServerMetric sums up a metric of the API server by resource key.
func apiServerMetric(t *testing.T, config *rest.Config, name, verb string) map[string]int {
	t.Helper()
	text, err := clientset(t, config).RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	must(t, err)
	out := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		m := sample.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || m[1] != name {
			continue
		}
		labels := make(map[string]string)
		for label := range strings.SplitSeq(m[2], ",") {
			k, v, _ := strings.Cut(label, "=")
			labels[k] = strings.Trim(v, `"`)
		}
		if labels["verb"] != verb || labels["subresource"] != "" {
			continue
		}
		value, err := strconv.ParseFloat(m[3], 64)
		must(t, err)
		out[counts.Resource{Group: labels["group"], Name: labels["resource"]}.Key()] += int(value)
	}
	return out
}

// customKinds makes n kinds.
func customKinds(t *testing.T, kc *kube.Cluster, n int) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			gvr := schema.GroupVersionResource{Group: "load.example.com", Version: "v1", Resource: fmt.Sprintf("kind%ds", i)}
			if err := kc.CreateCRD(t.Context(), kube.NewCRD(gvr, fmt.Sprint("Kind", i), i%2 == 0)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// counted are the keys of the resources that are not excluded.
func (c counting) counted() (keys []string) {
	for _, s := range c.Status() {
		if s.Phase != counts.Excluded {
			keys = append(keys, s.Resource.Key())
		}
	}
	return keys
}

// TestOneWatchAResourceAndNoListAfterwards, as the API server counts them itself: its
// own watches are those that there were before.
func TestOneWatchAResourceAndNoListAfterwards(t *testing.T) {
	t.Parallel()
	kc := kube.StartT(t, kube.Options{})
	admin := kc.AdminConfig()
	customKinds(t, kc, 5)
	p := proxy.New(t, admin)
	before := apiServerMetric(t, admin, "apiserver_longrunning_requests", "WATCH")
	c := count(t, Options{Config: p.Config()}).settle(t)
	keys := c.counted()
	if len(keys) < 60 {
		t.Fatalf("only %d resources", len(keys))
	}
	watches := func() map[string]int {
		now := apiServerMetric(t, admin, "apiserver_longrunning_requests", "WATCH")
		for key, n := range before {
			now[key] -= n
		}
		maps.DeleteFunc(now, func(_ string, n int) bool { return n == 0 })
		return now
	}
	one := make(map[string]int)
	for _, key := range keys {
		one[key] = 1
	}
	if got := watches(); !maps.Equal(got, one) {
		t.Errorf("watches are %v", got)
	}

	lists := apiServerMetric(t, admin, "apiserver_request_total", "LIST")
	begun := len(p.Requests())
	namespace := kc.Namespace(t)
	api := clientset(t, admin).CoreV1().ConfigMaps(namespace)
	for i := range 100 {
		_, err := api.Create(t.Context(), configMap(fmt.Sprint(i)), metav1.CreateOptions{})
		must(t, err)
	}
	c.awaitNumber(t, "configmaps", namespace, 100)
	for i := range 100 {
		must(t, api.Delete(t.Context(), fmt.Sprint(i), metav1.DeleteOptions{}))
	}
	c.awaitNumber(t, "configmaps", namespace, 0)
	if got := apiServerMetric(t, admin, "apiserver_request_total", "LIST"); !maps.Equal(got, lists) {
		t.Errorf("lists went from %v to %v", lists, got)
	}
	if got := watches(); !maps.Equal(got, one) {
		t.Errorf("later, watches are %v", got)
	}
	for _, r := range p.Requests()[begun:] {
		if r.Path != "/api" && r.Path != "/apis" {
			t.Errorf("asked for %s %v", r.Path, r.Query)
		}
	}
}

// TestDiscoveryIsNotPolled: where CRDs and APIServices are watched, it is asked
// every 5 to 10 minutes, and at the start a few times, because those lists end; else
// every 30 to 60 s.
func TestDiscoveryIsNotPolled(t *testing.T) {
	t.Parallel()
	kc := kube.StartT(t, kube.Options{}) // its own: a new CRD is a reason to ask
	p := proxy.New(t, kc.AdminConfig())
	c := count(t, Options{Config: p.Config(), Resources: []string{"configmaps"}}).settle(t)
	c.live(t, kc)
	asked := 0
	for _, r := range p.Requests() {
		if r.Path == "/apis" {
			asked++
		}
	}
	if asked > 2+len(discoverAgain) {
		t.Errorf("asked %d times", asked)
	}
	b := newBoard(slog.New(slog.DiscardHandler))
	w := &Watcher{running: make(map[string]*running)}
	for key, r := range triggers {
		if got := w.idle(); got < discoverBlind || got > 2*discoverBlind {
			t.Errorf("blind, it is asked again after %v", got)
		}
		w.running[key] = &running{resource: r, report: b.report(r)}
		w.running[key].report.ready()
	}
	if got := w.idle(); got < discoverIdle || got > 2*discoverIdle {
		t.Errorf("asked again after %v", got)
	}
}

// recorder records requests as they leave, so that nothing stands between countd and
// the API server. It is safe for concurrent use.
type recorder struct {
	mu       sync.Mutex
	requests []proxy.Request
}

func (r *recorder) config(c *rest.Config) *rest.Config {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			r.mu.Lock()
			r.requests = append(r.requests, proxy.Request{Method: req.Method, Path: req.URL.Path, Query: req.URL.Query(), At: time.Now()})
			r.mu.Unlock()
			return next.RoundTrip(req)
		})
	})
	return c
}

func (r *recorder) Requests() []proxy.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// live changes something until all watches have lived long enough to be good ones.
func (c counting) live(t *testing.T, kc *kube.Cluster) {
	t.Helper()
	namespace := kc.Namespace(t)
	api := clientset(t, kc.AdminConfig()).CoreV1().ConfigMaps(namespace)
	for began := time.Now(); time.Since(began) < 2*goodWatch; {
		_, err := api.Create(t.Context(), configMap("x"), metav1.CreateOptions{})
		must(t, err)
		c.awaitNumber(t, "configmaps", namespace, 1)
		must(t, api.Delete(t.Context(), "x", metav1.DeleteOptions{}))
		c.awaitNumber(t, "configmaps", namespace, 0)
	}
}

// tries are when each resource was asked for, other than by a probe, since a moment.
func tries(requests []proxy.Request, since time.Time) map[string][]time.Time {
	out := make(map[string][]time.Time)
	for _, r := range requests {
		if r.Query.Get("watch") != "" && r.At.After(since) {
			out[r.Path] = append(out[r.Path], r.At)
		}
	}
	return out
}

// Of moments spread evenly over reconnectWithin a tenth falls into each 200 ms. A third
// of 60 or more in any 200 ms is more than six standard deviations away.

// inAnyWindow is the largest number of times that lie within d.
func inAnyWindow(times []time.Time, d time.Duration) (most int) {
	slices.SortFunc(times, time.Time.Compare)
	for i, j := 0, 0; j < len(times); j++ {
		for times[j].Sub(times[i]) > d {
			i++
		}
		most = max(most, j-i+1)
	}
	return most
}

func firsts(of map[string][]time.Time) (out []time.Time) {
	for _, times := range of {
		out = append(out, times[0])
	}
	return out
}

// TestRestartIsNoStampede: an API server with 90 kinds is killed, or stops in good
// order, and comes back. No resource is tried more often than its backoff allows, and
// they do not come at once.
func TestRestartIsNoStampede(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *kube.Cluster) error{
		"killed":  func(_ *testing.T, kc *kube.Cluster) error { return kc.Kill() },
		"stopped": func(t *testing.T, kc *kube.Cluster) error { return kc.Stop(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			restart(t, end)
		})
	}
}

func restart(t *testing.T, end func(*testing.T, *kube.Cluster) error) {
	t.Helper()
	kc := kube.StartT(t, kube.Options{})
	customKinds(t, kc, 30)
	p := new(recorder)
	c := count(t, Options{Config: p.config(kc.AdminConfig())}).settle(t)
	keys := c.counted()
	if len(keys) < 60 {
		t.Fatalf("only %d resources", len(keys))
	}
	c.live(t, kc)
	rounds := make(map[string]uint64)
	for _, s := range c.Status() {
		rounds[s.Resource.Key()] = s.Rounds
	}
	began := time.Now()
	must(t, end(t, kc))
	for _, key := range keys {
		c.awaitStatus(t, key, func(s counts.Status) bool { return s.Phase == counts.Failing && s.Counted })
	}
	must(t, kc.Restart(t.Context()))
	for _, key := range keys {
		c.awaitStatus(t, key, func(s counts.Status) bool { return s.Phase == counts.Ready })
	}
	all := tries(p.Requests(), began)
	if len(all) < len(keys) {
		t.Errorf("%d of %d resources were tried", len(all), len(keys))
	}
	first := firsts(all)
	most := inAnyWindow(first, 200*time.Millisecond)
	t.Logf("%d resources, %d of their first tries in 200 ms", len(all), most)
	if most > len(all)/3 {
		t.Errorf("%d of %d first tries came within 200 ms", most, len(all))
	}
	total, relisted := 0, 0
	for path, times := range all {
		total += len(times)
		for i := 1; i < len(times); i++ {
			least := min(800*time.Millisecond<<(i-1), 30*time.Second)
			if gap := times[i].Sub(times[i-1]); gap < least*9/10 {
				t.Errorf("%s: try %d came %v after the one before, its backoff is %v", path, i+1, gap, least)
			}
		}
	}
	for _, s := range c.Status() {
		if n := s.Rounds - rounds[s.Resource.Key()]; s.Phase == counts.Ready {
			relisted += int(n)
			if n > 1 {
				t.Errorf("%s was listed %d times", s.Resource.Key(), n)
			}
		}
	}
	probes, discoveries := 0, 0
	for _, r := range p.Requests() {
		switch {
		case !r.At.After(began):
		case r.Path == "/apis":
			discoveries++
		case r.Query.Get("limit") != "":
			probes++
		}
	}
	t.Logf("%d tries, %d relists, %d probes, %d discoveries", total, relisted, probes, discoveries)
}

// TestLostConnectionsAreResumedWithoutAList and without a stampede.
func TestLostConnectionsAreResumedWithoutAList(t *testing.T) {
	t.Parallel()
	kc := kube.StartT(t, kube.Options{}) // its own: in the shared one kinds come and go
	p := proxy.New(t, kc.AdminConfig())
	c := count(t, Options{Config: p.Config()}).settle(t)
	c.live(t, kc)
	restarts := make(map[string]uint64)
	for _, s := range c.Status() {
		restarts[s.Resource.Key()] = s.Restarts
	}
	began := time.Now()
	p.Cut()
	for _, key := range c.counted() {
		c.awaitStatus(t, key, func(s counts.Status) bool { return s.Restarts > restarts[key] })
	}
	all := tries(p.Requests(), began)
	most := inAnyWindow(firsts(all), 200*time.Millisecond)
	t.Logf("%d resources, %d of their first tries in 200 ms", len(all), most)
	if most > len(all)/3 {
		t.Errorf("%d of %d first tries came within 200 ms", most, len(all))
	}
	for _, r := range p.Requests() {
		if r.At.After(began) && (r.Query.Get("sendInitialEvents") != "" || r.Query.Get("limit") != "") {
			t.Errorf("listed: %s %v", r.Path, r.Query)
		}
	}
}
