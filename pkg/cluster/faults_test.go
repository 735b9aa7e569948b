package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/test/kube"
	"github.com/countd/countd/test/proxy"
)

// history records every number that a resource was shown with, in order.
func (c counting) history(t testing.TB, key, namespace string) (stop func() []int) {
	t.Helper()
	ask, answer := make(chan struct{}), make(chan []int)
	go func() {
		var seen []int
		look := func() <-chan struct{} {
			s, newer := c.counter.Latest()
			if n := number(s, key, namespace); len(seen) == 0 || seen[len(seen)-1] != n {
				seen = append(seen, n)
			}
			return newer
		}
		for {
			select {
			case <-look():
			case <-ask:
				look()
				answer <- seen
				return
			}
		}
	}()
	return func() []int { close(ask); return <-answer }
}

func status(w http.ResponseWriter, s metav1.Status) {
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(s.Code))
	_ = json.NewEncoder(w).Encode(s)
}

// on limits an interceptor to one kind of request for a resource: "list",
// "watch" (one that resumes) or "stream" (a streaming list).
func on(resource, kind string, f proxy.Interceptor) proxy.Interceptor {
	return func(w http.ResponseWriter, r *http.Request) bool {
		is := "list"
		switch q := r.URL.Query(); {
		case q.Get("sendInitialEvents") == "true":
			is = "stream"
		case q.Get("watch") != "":
			is = "watch"
		}
		return is == kind && strings.HasSuffix(r.URL.Path, "/"+resource) && f(w, r)
	}
}

func unavailable(w http.ResponseWriter, _ *http.Request) bool {
	status(w, apierrors.NewServiceUnavailable("a fault of the test").Status())
	return true
}

// TestC8ExpiredWatchIsOneStep (trap 5): the resourceVersion of a watch expires, in
// each of its two shapes, after objects were made and deleted in the gap. The
// relist finds the deletions, is made once, and is one step: no number is
// shown but the one before and the one after.
func TestC8ExpiredWatchIsOneStep(t *testing.T) {
	gone := apierrors.NewResourceExpired("too old resource version").Status()
	shapes := map[string]proxy.Interceptor{
		"410 on connect": func(w http.ResponseWriter, _ *http.Request) bool {
			status(w, gone)
			return true
		},
		"error event in a 200": func(w http.ResponseWriter, _ *http.Request) bool {
			gone.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": gone})
			return true
		},
	}
	for name, expire := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kc := shared.Cluster(t)
			namespace := kc.Namespace(t)
			api := clientset(t, kc.AdminConfig()).CoreV1().Services(namespace)
			make := func(name string) {
				s := service(name)
				_, err := api.Create(t.Context(), s, metav1.CreateOptions{})
				must(t, err)
			}
			for i := range 5 {
				make(fmt.Sprint("old-", i))
			}
			p := proxy.New(t, kc.AdminConfig())
			c := count(t, Options{Config: p.Config(), Resources: []string{"services"}}).settle(t)
			c.awaitNumber(t, "services", namespace, 5)
			seen := c.history(t, "services", namespace)

			restore := p.Intercept(on("services", "watch", unavailable))
			p.Cut()
			c.awaitStatus(t, "services", func(s counts.Status) bool { return s.Phase == counts.Failing && s.Counted })
			for i := range 3 {
				must(t, api.Delete(t.Context(), fmt.Sprint("old-", i), metav1.DeleteOptions{}))
			}
			make("new")
			rounds := c.status("services").Rounds
			once := new(atomic.Bool)
			p.Intercept(on("services", "watch", func(w http.ResponseWriter, r *http.Request) bool {
				return once.CompareAndSwap(false, true) && expire(w, r)
			}))
			restore()
			c.awaitNumber(t, "services", namespace, 3)
			c.awaitStatus(t, "services", func(s counts.Status) bool { return s.Phase == counts.Ready && s.Rounds > rounds })
			if got := seen(); !slices.Equal(got, []int{5, 3}) {
				t.Errorf("numbers shown were %v, want 5 and 3", got)
			}
			if got := c.status("services").Rounds - rounds; got != 1 {
				t.Errorf("relisted %d times", got)
			}
		})
	}
}

// TestCompactionExpiresTheWatch (trap 5): the third way to a 410 is real: an API
// server without a watch cache whose etcd is compacted.
func TestCompactionExpiresTheWatch(t *testing.T) {
	t.Parallel()
	kc := kube.StartT(t, kube.Options{APIServerFlags: []string{"watch-cache=false", "etcd-compaction-interval=1s"}})
	namespace := kc.Namespace(t)
	api := clientset(t, kc.AdminConfig()).CoreV1().ConfigMaps(namespace)
	for i := range 4 {
		_, err := api.Create(t.Context(), configMap(fmt.Sprint(i)), metav1.CreateOptions{})
		must(t, err)
	}
	p := proxy.New(t, kc.AdminConfig())
	c := count(t, Options{Config: p.Config(), Resources: []string{"configmaps"}}).settle(t)
	c.awaitNumber(t, "configmaps", namespace, 4)
	seen := c.history(t, "configmaps", namespace)
	rounds := c.status("configmaps").Rounds

	restore := p.Intercept(on("configmaps", "watch", unavailable))
	p.Cut()
	list, err := api.List(t.Context(), metav1.ListOptions{}) // no older than what the feed has
	must(t, err)
	must(t, api.Delete(t.Context(), "0", metav1.DeleteOptions{}))
	must(t, api.Delete(t.Context(), "1", metav1.DeleteOptions{}))
	// The compactor compacts what was the newest revision an interval ago. It has
	// done so when a watch from there says that it is too late.
	for began := time.Now(); ; {
		w, err := api.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err == nil {
			event := <-w.ResultChan()
			w.Stop()
			err = apierrors.FromObject(event.Object)
		}
		if expired(err) {
			break
		}
		if time.Since(began) > patience {
			t.Fatalf("the watch does not expire: %v", err)
		}
		_, err = api.Create(t.Context(), configMap("filler"), metav1.CreateOptions{})
		must(t, err)
		must(t, api.Delete(t.Context(), "filler", metav1.DeleteOptions{}))
	}
	restore()
	c.awaitNumber(t, "configmaps", namespace, 2)
	if got := seen(); !slices.Equal(got, []int{4, 2}) {
		t.Errorf("numbers shown were %v, want 4 and 2", got)
	}
	c.awaitStatus(t, "configmaps", func(s counts.Status) bool { return s.Phase == counts.Ready && s.Rounds > rounds })
}

// TestC3APIServerRestarts: 1, then after the restart 2, then 1; the count stays
// while the server is away, and is never shown as anything else.
func TestC3APIServerRestarts(t *testing.T) {
	t.Parallel()
	kc := kube.StartT(t, kube.Options{})
	must(t, kc.CreateCRD(t.Context(), kube.NewCRD(widgetGVR, "Widget", false)))
	client, err := dynamic.NewForConfig(kc.AdminConfig())
	must(t, err)
	api := client.Resource(widgetGVR)
	_, err = api.Create(t.Context(), widget(widgetGVR, "one"), metav1.CreateOptions{})
	must(t, err)
	c := count(t, Options{Config: kc.AdminConfig()}).settle(t)
	c.awaitNumber(t, "widgets.example.com", "", 1)
	seen := c.history(t, "widgets.example.com", "")

	must(t, kc.Kill())
	c.awaitStatus(t, "widgets.example.com", func(s counts.Status) bool { return s.Phase == counts.Failing && s.Counted })
	must(t, kc.Restart(t.Context()))
	_, err = api.Create(t.Context(), widget(widgetGVR, "two"), metav1.CreateOptions{})
	must(t, err)
	c.awaitNumber(t, "widgets.example.com", "", 2)
	must(t, api.Delete(t.Context(), "one", metav1.DeleteOptions{}))
	c.awaitNumber(t, "widgets.example.com", "", 1)
	if got := seen(); !slices.Equal(got, []int{1, 2, 1}) {
		t.Errorf("numbers shown were %v, want 1, 2, 1", got)
	}
	c.equalsList(t, kc.AdminConfig())

	again := count(t, Options{Config: kc.AdminConfig()}).settle(t) // countd restarts
	again.awaitNumber(t, "widgets.example.com", "", 1)
}

// TestC19ListThatHangs (C29 too): one kind's LIST never answers; all others are
// counted meanwhile, and that one is said to be syncing.
func TestC19ListThatHangs(t *testing.T) {
	t.Parallel()
	kc := shared.Cluster(t)
	p := proxy.New(t, kc.AdminConfig())
	hang := func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	p.Intercept(on("secrets", "stream", hang))
	p.Intercept(on("secrets", "list", hang))
	c := count(t, Options{Config: p.Config()})
	for _, key := range []string{"configmaps", "pods", "deployments.apps", "volumeattachments.storage.k8s.io"} {
		c.awaitStatus(t, key, func(s counts.Status) bool { return s.Phase == counts.Ready })
	}
	if got := c.status("secrets"); got.Phase != counts.Syncing || got.Counted {
		t.Errorf("status of the kind that hangs is %+v", got)
	}
	if c.counter.Snapshot().Resource("secrets") != nil {
		t.Error("secrets are in the snapshot")
	}
}

// TestC25StreamingListIsRefused: streaming lists get 429 with Retry-After, again
// and again; the plain LIST is served. The kind is counted, Retry-After is kept
// to, and there is no storm.
func TestC25StreamingListIsRefused(t *testing.T) {
	t.Parallel()
	kc := shared.Cluster(t)
	p := proxy.New(t, kc.AdminConfig())
	refused := make(chan time.Time, 100)
	p.Intercept(on("configmaps", "stream", func(w http.ResponseWriter, _ *http.Request) bool {
		refused <- time.Now()
		w.Header().Set("Retry-After", "2")
		status(w, apierrors.NewTooManyRequests("a fault of the test", 2).Status())
		return true
	}))
	c := count(t, Options{Config: p.Config(), Resources: []string{"configmaps"}})
	got := c.awaitStatus(t, "configmaps", func(s counts.Status) bool { return s.Phase == counts.Ready })
	if !strings.Contains(got.Note, "pages") {
		t.Errorf("note is %q", got.Note)
	}
	if len(refused) != cutsAllowed {
		t.Fatalf("asked %d times for a streaming list, want %d", len(refused), cutsAllowed)
	}
	if gap := -(<-refused).Sub(<-refused); gap < 2*time.Second {
		t.Errorf("asked again after %v in spite of Retry-After: 2", gap)
	}
}

// TestC12ContentsAreNeverRequested: of kinds whose state is in their metadata,
// nothing else is asked for.
func TestC12ContentsAreNeverRequested(t *testing.T) {
	t.Parallel()
	kc := shared.Cluster(t)
	p := proxy.New(t, kc.AdminConfig())
	// Through the pages too.
	p.Intercept(on("secrets", "stream", func(w http.ResponseWriter, _ *http.Request) bool {
		status(w, apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "secrets"}, "stream").Status())
		return true
	}))
	count(t, Options{Config: p.Config(), Resources: []string{"secrets", "configmaps"}}).settle(t)
	asked := 0
	for _, r := range p.Requests() {
		if !strings.HasSuffix(r.Path, "/secrets") && !strings.HasSuffix(r.Path, "/configmaps") {
			continue
		}
		asked++
		for accepted := range strings.SplitSeq(r.Accept, ",") {
			if !strings.Contains(accepted, "as=PartialObjectMetadata") {
				t.Errorf("%s %v accepts %q", r.Path, r.Query, accepted)
			}
		}
	}
	if asked < 3 {
		t.Errorf("only %d requests were seen", asked)
	}
}
