package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/test/kube"
)

// kind is a custom resource whose definition changes. Its objects are made in v1.
type kind struct {
	t    *testing.T
	kc   *kube.Cluster
	gvr  schema.GroupVersionResource
	key  string
	crds dynamic.ResourceInterface
	api  dynamic.NamespaceableResourceInterface
}

func newKind(t *testing.T, name string, spec func(map[string]any)) *kind {
	t.Helper()
	kc := shared.Cluster(t)
	client, err := dynamic.NewForConfig(kc.AdminConfig())
	must(t, err)
	gvr := widgetGVR
	gvr.Group = name + ".example.com"
	k := &kind{
		t: t, kc: kc, gvr: gvr, key: "widgets." + gvr.Group, api: client.Resource(gvr),
		crds: client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}),
	}
	k.define(false, spec)
	return k
}

func (k *kind) define(namespaced bool, spec func(map[string]any)) {
	k.t.Helper()
	crd := kube.NewCRD(k.gvr, "Widget", namespaced)
	crd.Object["spec"] = changed(crd, spec)
	must(k.t, k.kc.CreateCRD(k.t.Context(), crd))
}

func changed(crd *unstructured.Unstructured, spec func(map[string]any)) map[string]any {
	s, _, _ := unstructured.NestedMap(crd.Object, "spec")
	spec(s)
	return s
}

// change changes the definition, again where somebody else did so at the same moment.
func (k *kind) change(spec func(map[string]any)) {
	k.t.Helper()
	for range 100 {
		crd, err := k.crds.Get(k.t.Context(), k.key, metav1.GetOptions{})
		must(k.t, err)
		crd.Object["spec"] = changed(crd, spec)
		if _, err = k.crds.Update(k.t.Context(), crd, metav1.UpdateOptions{}); err == nil {
			return
		} else if !strings.Contains(err.Error(), "object has been modified") {
			k.t.Fatal(err)
		}
	}
	k.t.Fatal("the definition is always changed by somebody else")
}

func (k *kind) make(name string) {
	k.t.Helper()
	_, err := k.api.Create(k.t.Context(), widget(k.gvr, name), metav1.CreateOptions{})
	must(k.t, err)
}

func (k *kind) remove(name string) {
	k.t.Helper()
	must(k.t, k.api.Delete(k.t.Context(), name, metav1.DeleteOptions{}))
}

// gone waits until the definition, which was deleted, is gone.
func (k *kind) gone() {
	k.t.Helper()
	for began := time.Now(); ; {
		_, err := k.crds.Get(k.t.Context(), k.key, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return
		}
		if time.Since(began) > patience {
			k.t.Fatalf("the definition is still there: %v", err)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-k.t.Context().Done():
			k.t.Fatal(context.Cause(k.t.Context()))
		}
	}
}

// versions serves these, and stores objects in the one named.
func versions(stored string, served ...string) func(map[string]any) {
	return func(spec map[string]any) {
		var out []any
		for _, name := range []string{"v1", "v2"} {
			out = append(out, map[string]any{
				"name": name, "served": slices.Contains(served, name), "storage": name == stored,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			})
		}
		spec["versions"] = out
	}
}

// convertedBy has objects converted by a webhook, or not at all where url is empty.
func convertedBy(url string) func(map[string]any) {
	return func(spec map[string]any) {
		spec["conversion"] = map[string]any{"strategy": "None"}
		if url != "" {
			spec["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"clientConfig": map[string]any{"url": url}, "conversionReviewVersions": []any{"v1"},
			}}
		}
	}
}

// refuses is where nobody listens.
const refuses = "https://127.0.0.1:1/convert"

func (c counting) readAs(t *testing.T, k *kind, version string) {
	t.Helper()
	c.awaitStatus(t, k.key, func(s counts.Status) bool {
		return s.Resource.Version == version && s.Phase == counts.Ready
	})
}

// TestPreferredVersionChanges: a newer version comes and goes. The kind is read in the
// version that is preferred, and no other number is shown meanwhile.
func TestPreferredVersionChanges(t *testing.T) {
	t.Parallel()
	k := newKind(t, "preferred", versions("v1", "v1"))
	k.make("a")
	k.make("b")
	c := count(t, Options{Config: k.kc.AdminConfig(), Resources: []string{k.key}}).settle(t)
	c.readAs(t, k, "v1")
	c.awaitNumber(t, k.key, "", 2)
	seen := c.history(t, k.key, "")
	k.change(versions("v1", "v1", "v2"))
	c.readAs(t, k, "v2")
	k.make("c")
	c.awaitNumber(t, k.key, "", 3)
	k.change(versions("v1", "v1"))
	c.readAs(t, k, "v1")
	k.remove("a")
	c.awaitNumber(t, k.key, "", 2)
	if got := seen(); !slices.Equal(got, []int{2, 3, 2}) {
		t.Errorf("numbers shown were %v, want 2, 3, 2", got)
	}
}

// TestStorageVersionChanges, back and forth, while objects are stored in both.
func TestStorageVersionChanges(t *testing.T) {
	t.Parallel()
	k := newKind(t, "storage", versions("v1", "v1", "v2"))
	c := count(t, Options{Config: k.kc.AdminConfig(), Resources: []string{k.key}}).settle(t)
	c.awaitNumber(t, k.key, "", 0)
	seen := c.history(t, k.key, "")
	want := []int{0}
	for i, stored := range []string{"v1", "v2", "v1", "v2"} {
		k.change(versions(stored, "v1", "v2"))
		k.make(fmt.Sprint("w", i))
		c.awaitNumber(t, k.key, "", i+1)
		want = append(want, i+1)
	}
	for i := range 4 {
		k.remove(fmt.Sprint("w", i))
		c.awaitNumber(t, k.key, "", 3-i)
		want = append(want, 3-i)
	}
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("numbers shown were %v, want %v", got, want)
	}
	c.equalsList(t, k.kc.AdminConfig())
}

// TestScopeChanges: the definition is deleted and made again at once with another
// scope, so that discovery may never have said that the kind was gone.
func TestScopeChanges(t *testing.T) {
	t.Parallel()
	k := newKind(t, "scope", versions("v1", "v1"))
	k.make("a")
	k.make("b")
	c := count(t, Options{Config: k.kc.AdminConfig(), Resources: []string{k.key}}).settle(t)
	c.awaitNumber(t, k.key, "", 2)
	namespace := k.kc.Namespace(t)
	must(t, k.crds.Delete(t.Context(), k.key, metav1.DeleteOptions{}))
	k.gone()
	k.define(true, versions("v1", "v1"))
	_, err := k.api.Namespace(namespace).Create(t.Context(), widget(k.gvr, "a"), metav1.CreateOptions{})
	must(t, err)
	c.awaitNumber(t, k.key, namespace, 1)
	c.awaitNumber(t, k.key, "", 1)
	c.equalsList(t, k.kc.AdminConfig())
}

// TestConversionThatFailsIsSaid: objects are stored in another version than the one
// that is read, and the webhook that converts them refuses. The kind is not said to
// have none; it is counted when the webhook works again, or when the version that
// the objects are stored in is the one that is read.
func TestConversionThatFailsIsSaid(t *testing.T) {
	for name, repair := range map[string]func(map[string]any){
		"repaired":              convertedBy(""),
		"other version is read": versions("v1", "v1"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKind(t, "conversion-"+strings.Fields(name)[0], func(spec map[string]any) {
				versions("v1", "v1", "v2")(spec)
				convertedBy(refuses)(spec)
			})
			k.make("a")
			k.make("b")
			c := count(t, Options{Config: k.kc.AdminConfig(), Resources: []string{k.key, "configmaps"}})
			got := c.awaitStatus(t, k.key, func(s counts.Status) bool {
				return s.Phase == counts.Failing && strings.Contains(s.Message, "conversion webhook")
			})
			if got.Counted || got.Resource.Version != "v2" {
				t.Errorf("status is %+v", got)
			}
			if n := number(c.counter.Snapshot(), k.key, ""); n != -1 {
				t.Errorf("%d are counted", n)
			}
			c.settle(t)
			k.change(repair)
			c.awaitNumber(t, k.key, "", 2)
			c.awaitStatus(t, k.key, func(s counts.Status) bool { return s.Phase == counts.Ready })
		})
	}
}

// TestConversionThatFailsLater: the count that there is stays, and is said to be
// stale, until conversion works again.
func TestConversionThatFailsLater(t *testing.T) {
	t.Parallel()
	k := newKind(t, "later", versions("v1", "v1", "v2"))
	k.make("a")
	k.make("b")
	c := count(t, Options{Config: k.kc.AdminConfig(), Resources: []string{k.key}}).settle(t)
	c.awaitNumber(t, k.key, "", 2)
	seen := c.history(t, k.key, "")
	k.change(convertedBy(refuses))
	k.make("c") // in v1, which needs no conversion
	got := c.awaitStatus(t, k.key, func(s counts.Status) bool { return s.Phase == counts.Failing })
	if !got.Counted || got.Message == "" {
		t.Errorf("status is %+v", got)
	}
	k.change(convertedBy(""))
	c.awaitNumber(t, k.key, "", 3)
	c.awaitStatus(t, k.key, func(s counts.Status) bool { return s.Phase == counts.Ready })
	if got := seen(); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("numbers shown were %v, want 2 and 3", got)
	}
}
