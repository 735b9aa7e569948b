package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/countd/countd/pkg/counts"
)

// stubAPI is the backend of an aggregated API with one resource, gadgets, whose
// resourceVersions are opaque. It does not behave where its fields say so.
type stubAPI struct {
	gv        schema.GroupVersion
	streaming string // what it does with a streaming list: "silent" or "cut"
	bare      bool   // it has no resourceVersions

	mu      sync.Mutex
	version int
	objects map[string]*unstructured.Unstructured
	log     []metav1.WatchEvent // event i leads to version i+1
	watches map[chan metav1.WatchEvent]bool
	asked   map[string]int // requests by kind: list, watch, stream
}

func newStubAPI(group, streaming string, names ...string) *stubAPI {
	a := &stubAPI{
		gv:        schema.GroupVersion{Group: group, Version: "v1"},
		streaming: streaming,
		objects:   make(map[string]*unstructured.Unstructured),
		watches:   make(map[chan metav1.WatchEvent]bool),
		asked:     make(map[string]int),
	}
	for _, name := range names {
		a.put(name)
	}
	return a
}

// rv is a resourceVersion that cannot be read as a number and does not sort.
func (a *stubAPI) rv() string {
	if a.bare {
		return ""
	}
	return fmt.Sprintf("opaque-%x-%d", a.version*7919%251, a.version)
}

func (a *stubAPI) put(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(a.gv.WithKind("Gadget"))
	o.SetNamespace("default")
	o.SetName(name)
	o.SetResourceVersion(a.rv())
	a.objects[name] = o
	a.tell("ADDED", o)
}

func (a *stubAPI) remove(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	o := a.objects[name]
	delete(a.objects, name)
	o.SetResourceVersion(a.rv())
	a.tell("DELETED", o)
}

// cut ends all watches, and removes an object before there can be new ones.
func (a *stubAPI) cut(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for w := range a.watches {
		close(w)
		delete(a.watches, w)
	}
	delete(a.objects, name)
}

func (a *stubAPI) tell(kind string, o *unstructured.Unstructured) {
	event := metav1.WatchEvent{Type: kind}
	event.Object.Raw, _ = o.MarshalJSON()
	a.log = append(a.log, event)
	for w := range a.watches {
		w <- event
	}
}

func (a *stubAPI) count(kind string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[kind]
}

func (a *stubAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	q := r.URL.Query()
	switch {
	case !strings.HasSuffix(r.URL.Path, "/gadgets"):
		_ = json.NewEncoder(w).Encode(metav1.APIResourceList{
			TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: a.gv.String(),
			APIResources: []metav1.APIResource{{Name: "gadgets", Kind: "Gadget", Namespaced: true, Verbs: metav1.Verbs{"list", "watch"}}},
		})
	case q.Get("sendInitialEvents") == "true":
		a.stream(w, r)
	case q.Get("watch") != "":
		a.watch(w, r, false)
	default:
		a.list(w)
	}
}

func (a *stubAPI) list(w http.ResponseWriter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked["list"]++
	items := []any{}
	for _, o := range a.objects {
		items = append(items, o.Object)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": a.gv.String(), "kind": "GadgetList", "metadata": map[string]any{"resourceVersion": a.rv()}, "items": items,
	})
}

func (a *stubAPI) stream(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked["stream"]++
	a.mu.Unlock()
	switch a.streaming {
	case "cut":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		return
	default: // it never says that the list is complete
		a.watch(w, r, true)
	}
}

func (a *stubAPI) watch(w http.ResponseWriter, r *http.Request, initial bool) {
	events := make(chan metav1.WatchEvent, 100)
	encoder, flusher := json.NewEncoder(w), http.NewResponseController(w)
	a.mu.Lock()
	a.asked["watch"]++
	if initial {
		for _, o := range a.objects {
			event := metav1.WatchEvent{Type: "ADDED"}
			event.Object.Raw, _ = o.MarshalJSON()
			_ = encoder.Encode(event)
		}
	} else { // what happened since the client's resourceVersion
		var known int
		rv := r.URL.Query().Get("resourceVersion")
		_, _ = fmt.Sscanf(rv[strings.LastIndex(rv, "-")+1:], "%d", &known)
		for _, event := range a.log[known:] {
			_ = encoder.Encode(event)
		}
	}
	a.watches[events] = true
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.watches, events)
		a.mu.Unlock()
	}()
	for {
		_ = flusher.Flush()
		select {
		case event, ok := <-events:
			if !ok {
				return
			}
			_ = encoder.Encode(event)
		case <-r.Context().Done():
			return
		}
	}
}

// TestC7OpaqueResourceVersionsAndC24ListThatIsCut: an aggregated API whose resourceVersions are not
// numbers is counted, and what happens is taken in the watch's order. Its
// streaming list is one of the two that C24 is about.
func TestC7OpaqueResourceVersionsAndC24ListThatIsCut(t *testing.T) {
	aggregated(t, "c7.example.com", "cut")
}

// TestC24StreamingListThatNeverEnds: within 30 s the plain LIST and WATCH are used,
// the other resources were ready all along, and the reason is shown.
func TestC24StreamingListThatNeverEnds(t *testing.T) { aggregated(t, "c24.example.com", "silent") }

func aggregated(t *testing.T, group, streaming string) {
	t.Parallel()
	kc := shared.Cluster(t)
	stub := newStubAPI(group, streaming, "a", "b", "c")
	api, err := kc.RegisterAPI(t.Context(), stub.gv, stub)
	must(t, err)
	t.Cleanup(func() { must(t, api.Close(context.WithoutCancel(t.Context()))) })
	key := "gadgets." + group

	c := count(t, Options{Config: kc.AdminConfig(), Resources: []string{key, "configmaps"}})
	c.awaitStatus(t, "configmaps", func(s counts.Status) bool { return s.Phase == counts.Ready })
	if got := c.status(key); got.Phase == counts.Ready && streaming == "silent" {
		t.Errorf("%s is %s already: the list cannot have ended", key, got.Phase)
	}
	c.awaitNumber(t, key, "default", 3)
	got := c.awaitStatus(t, key, func(s counts.Status) bool { return s.Phase == counts.Ready })
	if !strings.Contains(got.Note, "pages") || stub.count("list") != 1 {
		t.Errorf("note is %q after %d lists", got.Note, stub.count("list"))
	}

	stub.put("d")
	c.awaitNumber(t, key, "", 4)
	stub.remove("a")
	stub.remove("b")
	stub.put("b")
	stub.remove("b")
	c.awaitNumber(t, key, "", 2)
}

// TestAggregatedAPIThatIsDownCostsItsOwnCounts: it is named with the reason, its
// last count stays and is said to be stale, and it comes back by itself.
func TestAggregatedAPIThatIsDownCostsItsOwnCounts(t *testing.T) {
	t.Parallel()
	kc := shared.Cluster(t)
	stub := newStubAPI("down.example.com", "cut", "a", "b")
	api, err := kc.RegisterAPI(t.Context(), stub.gv, stub)
	must(t, err)
	t.Cleanup(func() { must(t, api.Close(context.WithoutCancel(t.Context()))) })
	c := count(t, Options{Config: kc.AdminConfig(), Resources: []string{"gadgets.down.example.com", "configmaps"}})
	c.awaitNumber(t, "gadgets.down.example.com", "", 2)
	c.awaitStatus(t, "gadgets.down.example.com", func(s counts.Status) bool { return s.Phase == counts.Ready })

	must(t, api.Shutdown())
	got := c.awaitStatus(t, "gadgets.down.example.com", func(s counts.Status) bool { return s.Phase == counts.Failing })
	if !got.Counted || got.Message == "" || got.Since.IsZero() {
		t.Errorf("status is %+v", got)
	}
	if n := number(c.counter.Snapshot(), "gadgets.down.example.com", ""); n != 2 {
		t.Errorf("count went to %d", n)
	}
	namespace := kc.Namespace(t)
	_, err = clientset(t, kc.AdminConfig()).CoreV1().ConfigMaps(namespace).Create(t.Context(), configMap("one"), metav1.CreateOptions{})
	must(t, err)
	c.awaitNumber(t, "configmaps", namespace, 1)
}

// TestAPIWithoutResourceVersions cannot be asked what happened while its watch was
// down: it is listed again, and what is gone is found.
func TestAPIWithoutResourceVersions(t *testing.T) {
	t.Parallel()
	kc := shared.Cluster(t)
	stub := newStubAPI("bare.example.com", "cut", "a", "b")
	stub.bare = true
	api, err := kc.RegisterAPI(t.Context(), stub.gv, stub)
	must(t, err)
	t.Cleanup(func() { must(t, api.Close(context.WithoutCancel(t.Context()))) })
	key := "gadgets.bare.example.com"
	c := count(t, Options{Config: kc.AdminConfig(), Resources: []string{key}})
	c.awaitNumber(t, key, "", 2)
	stub.put("c")
	c.awaitNumber(t, key, "", 3)
	seen := c.history(t, key, "")
	stub.cut("a")
	c.awaitNumber(t, key, "", 2)
	if got := seen(); !slices.Equal(got, []int{3, 2}) {
		t.Errorf("numbers shown were %v, want 3 and 2", got)
	}
}
