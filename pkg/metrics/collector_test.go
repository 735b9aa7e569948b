package metrics

import (
	"bytes"
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/countd/countd/pkg/counts"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	pods        = counts.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	nodes       = counts.Resource{Version: "v1", Name: "nodes", Kind: "Node"}
	secrets     = counts.Resource{Version: "v1", Name: "secrets", Kind: "Secret", Namespaced: true}
	deployments = counts.Resource{Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", Namespaced: true}
	widgets     = counts.Resource{Group: "example.com", Version: "v1", Name: "widgets", Kind: "Widget", Namespaced: true}
	gadgets     = counts.Resource{Group: "example.com", Version: "v1", Name: "gadgets", Kind: "Gadget"}
)

// start runs a counter for as long as the test does.
func start(t *testing.T) *counts.Counter {
	t.Helper()
	c, err := counts.New(counts.Options{})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// count makes a counter count some objects of a resource in one round.
func count(t *testing.T, c *counts.Counter, r counts.Resource, objects ...counts.Object) *counts.Source {
	t.Helper()
	s, err := c.Source(t.Context(), r)
	must(t, err)
	must(t, s.Begin(t.Context()))
	for _, o := range objects {
		must(t, s.Put(t.Context(), o))
	}
	must(t, s.End(t.Context()))
	return s
}

// cluster is a counter with one resource for each answer that there is (C26):
// some objects, none, not allowed, not read yet, failing with a count that is
// stale, failing without.
func cluster(t *testing.T) (*counts.Counter, func() []counts.Status) {
	c := start(t)
	since := time.Unix(1_800_000_000, 500_000_000)
	count(t, c, pods,
		counts.Object{Namespace: "a", Name: "quiet"},
		counts.Object{Namespace: "a", Name: "running", State: counts.State{Word: "running"}},
		counts.Object{Namespace: "b", Name: "bad", State: counts.State{Word: "crashloopbackoff", Error: true}},
		counts.Object{Namespace: "b", Name: "worse", State: counts.State{Word: "crashloopbackoff", Error: true}},
		counts.Object{Namespace: "b", Name: "both", State: counts.State{Word: `odd"\`, Error: true, Transitioning: true}},
	)
	count(t, c, nodes, counts.Object{Name: "one"}, counts.Object{Name: "two", State: counts.State{Word: "not-ready", Error: true}})
	count(t, c, deployments)
	count(t, c, widgets, counts.Object{Namespace: "a", Name: "w"})
	return c, func() []counts.Status {
		return []counts.Status{
			{Resource: pods, Phase: counts.Ready, Since: since, Counted: true, Rounds: 3, Restarts: 7, Errors: 2},
			{Resource: nodes, Phase: counts.Ready, Since: since, Counted: true, Rounds: 1},
			{Resource: deployments, Phase: counts.Ready, Since: since, Counted: true, Rounds: 1},
			{Resource: secrets, Phase: counts.Forbidden, Since: since, Errors: 4, Reason: "Forbidden"},
			{Resource: widgets, Phase: counts.Failing, Since: since, Counted: true, Rounds: 1, Errors: 9},
			{Resource: gadgets, Phase: counts.Syncing, Since: since, Read: 500},
		}
	}
}

func registry(t *testing.T, o Options) *prometheus.Registry {
	t.Helper()
	c, err := New(o)
	must(t, err)
	r := prometheus.NewPedanticRegistry()
	must(t, r.Register(c))
	return r
}

// TestMetricsText also holds C26: forbidden, syncing, failing and really 0 are
// four different answers.
func TestMetricsText(t *testing.T) {
	for name, namespaces := range map[string]bool{"namespaces": true, "totals": false} {
		t.Run(name, func(t *testing.T) {
			c, status := cluster(t)
			r := registry(t, Options{Counter: c, Status: status, Namespaces: namespaces, Version: "v1.2.3"})
			answer := httptest.NewRecorder()
			promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			got := strings.ReplaceAll(answer.Body.String(), runtime.Version(), "GO")
			golden(t, name+".txt", got)
		})
	}
}

func TestNamesAndHelpAreAsPrometheusWants(t *testing.T) {
	c, status := cluster(t)
	problems, err := testutil.GatherAndLint(registry(t, Options{Counter: c, Status: status, Namespaces: true}))
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestStatesAddUpToTheObjects(t *testing.T) {
	c, status := cluster(t)
	families, err := registry(t, Options{Counter: c, Status: status, Namespaces: true}).Gather()
	must(t, err)
	sums := map[string]int{}
	for _, f := range families {
		if f.GetName() != "countd_resource_objects" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "resource" {
					sums[label.GetValue()] += int(m.GetGauge().GetValue())
				}
			}
		}
	}
	want := map[string]int{}
	for counted := range c.Snapshot().Resources() {
		want[counted.Resource().Name] = counted.Total().Count()
	}
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Error(diff)
	}
}

// TestScrapeDoesNotWaitForTheCounting scrapes a counter that does not run.
func TestScrapeDoesNotWaitForTheCounting(t *testing.T) {
	c, err := counts.New(counts.Options{})
	must(t, err)
	r := registry(t, Options{Counter: c, Status: func() []counts.Status { return nil }})
	if _, err := r.Gather(); err != nil {
		t.Error(err)
	}
}

func TestRemovedResourceLeavesTheMetrics(t *testing.T) {
	c := start(t)
	r := registry(t, Options{Counter: c, Status: func() []counts.Status { return nil }})
	s := count(t, c, pods, counts.Object{Namespace: "a", Name: "x"})
	number := func() int {
		n, err := testutil.GatherAndCount(r, "countd_resource_objects")
		must(t, err)
		return n
	}
	if got := number(); got != 1 {
		t.Errorf("%d series, want 1", got)
	}
	must(t, s.Close(t.Context()))
	if got := number(); got != 0 {
		t.Errorf("%d series of a resource that is gone", got)
	}
}

func TestOptionsNameAllThatIsMissing(t *testing.T) {
	_, err := New(Options{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{"Counter", "Status"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.MkdirAll("testdata", 0o750))
		must(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(string(bytes.TrimSpace(want)), strings.TrimSpace(got)); diff != "" {
		t.Errorf("run with -update if this is meant (-want +got):\n%s", diff)
	}
}
