package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/test/kube"
	"github.com/countd/countd/test/proxy"
)

// TestRefusedResumeIsRelisted: a server will not go on where the watch ended, and
// does not say 410: its store restarted, or the next event cannot be decoded. The
// resource is listed again.
func TestRefusedResumeIsRelisted(t *testing.T) {
	for name, refuse := range map[string]func(w http.ResponseWriter){
		"400": func(w http.ResponseWriter) {
			status(w, apierrors.NewBadRequest("invalid resourceVersion").Status())
		},
		"an event that cannot be decoded": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"type":"ADDED","object":{"metadata":{"name":"x","namespace":"default"}}}`+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kc := shared.Cluster(t)
			namespace := kc.Namespace(t)
			p := proxy.New(t, kc.AdminConfig())
			c := count(t, Options{Config: p.Config(), Resources: []string{"services"}}).settle(t)
			var refused atomic.Value // the resourceVersion that the watch ended at
			p.Intercept(on("services", "watch", func(w http.ResponseWriter, r *http.Request) bool {
				at := r.URL.Query().Get("resourceVersion")
				refused.CompareAndSwap(nil, at)
				if refused.Load() != at {
					return false
				}
				refuse(w)
				return true
			}))
			p.Cut()
			c.awaitStatus(t, "services", func(s counts.Status) bool { return s.Phase == counts.Failing && s.Counted })
			_, err := clientset(t, kc.AdminConfig()).CoreV1().Services(namespace).Create(t.Context(), service("x"), metav1.CreateOptions{})
			must(t, err)
			c.awaitNumber(t, "services", namespace, 1)
		})
	}
}

// TestStreamingListThatFailsIsReadInPages: the server fails whatever is a streaming
// list, and serves plain ones.
func TestStreamingListThatFailsIsReadInPages(t *testing.T) {
	t.Parallel()
	p := proxy.New(t, shared.Cluster(t).AdminConfig())
	p.Intercept(on("configmaps", "stream", func(w http.ResponseWriter, _ *http.Request) bool {
		status(w, apierrors.NewInternalError(errors.New("a fault of the test")).Status())
		return true
	}))
	c := count(t, Options{Config: p.Config(), Resources: []string{"configmaps"}})
	got := c.awaitStatus(t, "configmaps", func(s counts.Status) bool { return s.Phase == counts.Ready })
	if !strings.Contains(got.Note, "pages") {
		t.Errorf("note is %q", got.Note)
	}
}

// TestShortWatchIsNone: a server accepts watches and ends them at once. The
// resource is not said to be followed.
func TestShortWatchIsNone(t *testing.T) {
	t.Parallel()
	p := proxy.New(t, shared.Cluster(t).AdminConfig())
	c := count(t, Options{Config: p.Config(), Resources: []string{"services"}}).settle(t)
	restore := p.Intercept(on("services", "watch", func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		return true
	}))
	p.Cut()
	c.awaitStatus(t, "services", func(s counts.Status) bool { return s.Phase == counts.Failing && s.Counted })
	restore()
	c.awaitStatus(t, "services", func(s counts.Status) bool { return s.Phase == counts.Ready })
}

// TestRelistIsNotReady: after a 410 the list hangs. What is shown is said to be
// read anew, not to be ready.
func TestRelistIsNotReady(t *testing.T) {
	t.Parallel()
	p := proxy.New(t, shared.Cluster(t).AdminConfig())
	c := count(t, Options{Config: p.Config(), Resources: []string{"services"}}).settle(t)
	listing := make(chan struct{}, 10)
	p.Intercept(on("services", "stream", func(_ http.ResponseWriter, r *http.Request) bool {
		listing <- struct{}{}
		<-r.Context().Done()
		return true
	}))
	p.Intercept(on("services", "watch", func(w http.ResponseWriter, _ *http.Request) bool {
		status(w, apierrors.NewResourceExpired("too old").Status())
		return true
	}))
	p.Cut()
	<-listing
	if s := c.status("services"); s.Phase == counts.Ready || !s.Counted || s.Message == "" {
		t.Errorf("status is %+v", s)
	}
}

// TestSlowRefusalIsNoGoodWatch: that a request took long does not make up for its
// failure; or a server that is overloaded would never be left alone.
func TestSlowRefusalIsNoGoodWatch(t *testing.T) {
	t.Parallel()
	p := proxy.New(t, shared.Cluster(t).AdminConfig())
	p.Intercept(on("pods", "watch", func(w http.ResponseWriter, r *http.Request) bool {
		sleep(r.Context(), goodWatch)
		return unavailable(w, r)
	}))
	r, err := newClients(p.Config(), &http.Client{}, CorrectedStates).reader(podsResource)
	must(t, err)
	f := newWatchFeed(r, uncounted{}, newBoard(slog.New(slog.DiscardHandler)).report(podsResource), newTurns())
	f.synced, f.rv = true, "1"
	if err := f.attempt(t.Context()); !apierrors.IsServiceUnavailable(err) || f.good {
		t.Errorf("attempt: %v, good: %t", err, f.good)
	}
}

// TestKindAndRightGoTogether: a chart is uninstalled, its CRD and the right to list
// it at once. A 403 hides the 404; the kind leaves all the same.
func TestKindAndRightGoTogether(t *testing.T) {
	t.Parallel()
	kc := shared.Cluster(t)
	gvr := widgetGVR
	gvr.Group = "uninstalled.example.com"
	key := "widgets." + gvr.Group
	must(t, kc.CreateCRD(t.Context(), kube.NewCRD(gvr, "Widget", false)))
	client, err := dynamic.NewForConfig(kc.AdminConfig())
	must(t, err)
	_, err = client.Resource(gvr).Create(t.Context(), widget(gvr, "one"), metav1.CreateOptions{})
	must(t, err)
	grant(t, kc.AdminConfig(), "chart", "apiextensions.k8s.io/customresourcedefinitions", "apiregistration.k8s.io/apiservices")
	role := grant(t, kc.AdminConfig(), "chart", gvr.Group+"/widgets")
	c := count(t, Options{Config: kc.Config("chart"), Resources: []string{key}}).settle(t)
	c.awaitNumber(t, key, "", 1)
	must(t, clientset(t, kc.AdminConfig()).RbacV1().ClusterRoles().Delete(t.Context(), role, metav1.DeleteOptions{}))
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	must(t, crds.Delete(t.Context(), key, metav1.DeleteOptions{}))
	c.awaitNumber(t, key, "", -1)
}

// TestTriggerThatComesLaterIsCounted: discovery lacks CRDs when countd starts, and
// has them later. They were watched all along, and are counted then.
func TestTriggerThatComesLaterIsCounted(t *testing.T) {
	t.Parallel()
	kc := shared.Cluster(t)
	p := proxy.New(t, kc.AdminConfig())
	missing := new(atomic.Bool)
	missing.Store(true)
	p.Intercept(withoutGroup(t, kc.AdminConfig(), "apiextensions.k8s.io", missing))
	c := count(t, Options{Config: p.Config(), Resources: []string{"configmaps", "*.apiextensions.k8s.io"}}).settle(t)
	missing.Store(false)
	gvr := widgetGVR
	gvr.Group = "late.example.com"
	must(t, kc.CreateCRD(t.Context(), kube.NewCRD(gvr, "Widget", true))) // asks for discovery
	c.await(t, "CRDs", func(s *counts.Snapshot) bool {
		return number(s, "customresourcedefinitions.apiextensions.k8s.io", "") > 0
	})
}

// withoutGroup leaves a group out of discovery while it is on.
func withoutGroup(t *testing.T, upstream *rest.Config, group string, on *atomic.Bool) proxy.Interceptor {
	t.Helper()
	h, err := rest.HTTPClientFor(upstream)
	must(t, err)
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/apis" || !on.Load() {
			return false
		}
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, upstream.Host+"/apis", nil)
		if err != nil {
			return false
		}
		req.Header.Set("Accept", r.Header.Get("Accept"))
		resp, err := h.Do(req)
		if err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }()
		var doc struct {
			Kind       string            `json:"kind"`
			APIVersion string            `json:"apiVersion"`
			Metadata   struct{}          `json:"metadata"`
			Items      []json.RawMessage `json:"items"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
			return false
		}
		items := doc.Items
		doc.Items = nil
		for _, raw := range items {
			var item metav1.PartialObjectMetadata
			if json.Unmarshal(raw, &item) == nil && item.Name != group {
				doc.Items = append(doc.Items, raw)
			}
		}
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		_ = json.NewEncoder(w).Encode(doc)
		return true
	}
}

// TestPartialDiscoveryIsAskedAgainSoon: a group that could not be asked may be
// there again without anything telling.
func TestPartialDiscoveryIsAskedAgainSoon(t *testing.T) {
	if got := (&Watcher{partial: true}).idle(); got < discoverBlind || got > 2*discoverBlind {
		t.Errorf("asked again after %v", got)
	}
}

// TestDiscoveryIsNoStorm: something changes a CRD without pause. Discovery is asked
// at a growing distance.
func TestDiscoveryIsNoStorm(t *testing.T) {
	t.Parallel()
	kc := shared.Cluster(t)
	gvr := widgetGVR
	gvr.Group = "storm.example.com"
	must(t, kc.CreateCRD(t.Context(), kube.NewCRD(gvr, "Widget", true)))
	p := proxy.New(t, kc.AdminConfig())
	count(t, Options{Config: p.Config(), Resources: []string{"configmaps"}}).settle(t)
	client, err := dynamic.NewForConfig(kc.AdminConfig())
	must(t, err)
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	began, changes := time.Now(), 0
	for ; time.Since(began) < 3*time.Second; changes++ {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, changes)
		_, err := crds.Patch(t.Context(), "widgets."+gvr.Group, types.MergePatchType, patch, metav1.PatchOptions{})
		must(t, err)
	}
	asked := 0
	for _, r := range p.Requests() {
		if r.Path == "/apis" {
			asked++
		}
	}
	// 50 ms doubled up to 2 s make seven in that time, besides those of the start.
	if asked > 14 {
		t.Errorf("discovery was asked %d times for %d changes of an annotation", asked, changes)
	}
}

// TestSecondWatcherCounts: a counter outlives a watcher, as when leadership or the
// settings change; the next watcher counts into it.
func TestSecondWatcherCounts(t *testing.T) {
	t.Parallel()
	kc := shared.Cluster(t)
	namespace := kc.Namespace(t)
	cnt := counter(t)
	run := func(during func(counting)) {
		w, err := New(Options{Config: kc.AdminConfig(), Counter: cnt, Resources: []string{"configmaps"}})
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		during(counting{w, cnt}.settle(t))
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	}
	run(func(counting) {})
	if cnt.Snapshot().Resource("configmaps") != nil {
		t.Error("configmaps are still counted")
	}
	run(func(c counting) {
		_, err := clientset(t, kc.AdminConfig()).CoreV1().ConfigMaps(namespace).Create(t.Context(), configMap("x"), metav1.CreateOptions{})
		must(t, err)
		c.awaitNumber(t, "configmaps", namespace, 1)
	})
}

// TestEventsByTheirOtherName: where the filter wants only the other name of the
// same objects, they are counted under that.
func TestEventsByTheirOtherName(t *testing.T) {
	c := count(t, Options{Config: shared.Cluster(t).AdminConfig(), Resources: []string{"events.events.k8s.io"}}).settle(t)
	if c.counter.Snapshot().Resource("events.events.k8s.io") == nil {
		t.Errorf("no events are counted: %+v", c.status("events.events.k8s.io"))
	}
}

// TestSettledWaitsForATurn: a resource whose list has not had its turn is not one
// whose list is silent.
func TestSettledWaitsForATurn(t *testing.T) {
	now := time.Now()
	b := newBoard(slog.New(slog.DiscardHandler))
	b.now = func() time.Time { return now }
	r := b.report(podsResource)
	now = now.Add(time.Hour)
	if b.settled() {
		t.Error("settled before the list had its turn")
	}
	r.began()
	if b.settled() {
		t.Error("settled as soon as the list had begun")
	}
	now = now.Add(settlePatience)
	if !b.settled() {
		t.Error("a silent list keeps all others waiting")
	}
}

// TestTroubleIsLoggedOnce: one line for what goes wrong at once, and another when
// it goes wrong again after it had left the board.
func TestTroubleIsLoggedOnce(t *testing.T) {
	var lines strings.Builder
	b := newBoard(slog.New(slog.NewTextHandler(&lines, nil)))
	fail := func() *report {
		r := b.report(podsResource)
		r.failed(errors.New("gone"))
		return r
	}
	r := fail()
	b.report(counts.Resource{Name: "nodes", Kind: "Node"}).failed(errors.New("gone"))
	for range 2 {
		<-b.changed // both at once
		b.logTrouble()
		b.signal()
	}
	<-b.changed
	r.remove()
	<-b.changed
	b.logTrouble()
	fail()
	<-b.changed
	b.logTrouble()
	if got := strings.Count(lines.String(), "not followed"); got != 3 {
		t.Errorf("%d lines, want one for both, one for nodes alone, one for both again:\n%s", got, lines.String())
	}
	for range 100 {
		r.odd(errors.New("state cannot be read"))
	}
	if got := strings.Count(lines.String(), "without their state"); got > 1 {
		t.Errorf("%d lines for 100 odd objects", got)
	}
}
