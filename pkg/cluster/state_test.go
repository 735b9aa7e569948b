package cluster

import (
	"context"
	"embed"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/countd/countd/pkg/counts"
)

//go:embed testdata/metadata.json
var metadataObjects embed.FS

// TestMetadataSaysTheSame holds the list of resources that are watched as metadata
// against whole objects: each kind of it is created on a real API server, as it
// is, being deleted, and with conditions in an annotation; what wrangler says of
// the whole object is what is said of its metadata.
func TestMetadataSaysTheSame(t *testing.T) {
	kc := shared.Cluster(t)
	namespace := kc.Namespace(t)
	whole, err := dynamic.NewForConfig(kc.AdminConfig())
	must(t, err)
	partial, err := metadata.NewForConfig(kc.AdminConfig())
	must(t, err)
	raw, err := metadataObjects.ReadFile("testdata/metadata.json")
	must(t, err)
	var examples map[string]map[string]any
	must(t, json.Unmarshal(raw, &examples))

	c := count(t, Options{Config: kc.AdminConfig(), Resources: []string{"none"}}).settle(t)
	served := make(map[string]counts.Resource)
	for _, s := range c.Status() {
		served[s.Resource.Key()] = s.Resource
	}
	for key := range metadataSuffices {
		if sameObjects[key] != "" {
			continue // its objects are those of another one
		}
		r, ok := served[key]
		example := examples[key]
		if !ok || example == nil {
			t.Errorf("%s is served: %t; has an example: %t", key, ok, example != nil)
			continue
		}
		t.Run(key, func(t *testing.T) {
			in := ""
			if r.Namespaced {
				in = namespace
			}
			gvr := schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name}
			said := make(map[counts.State]bool)
			for _, variant := range []string{"plain", "deleting", "annotated"} {
				u := &unstructured.Unstructured{Object: example}
				u = u.DeepCopy()
				u.SetGroupVersionKind(schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind})
				if u.GetName() == "" || variant != "plain" {
					u.SetName("same-" + variant)
				}
				if key == "ipaddresses.networking.k8s.io" {
					u.SetName(map[string]string{"plain": "10.9.8.1", "deleting": "10.9.8.2", "annotated": "10.9.8.3"}[variant])
				}
				if key == "events" {
					must(t, unstructured.SetNestedField(u.Object, namespace, "involvedObject", "namespace"))
				}
				if variant == "deleting" {
					u.SetFinalizers([]string{"example.com/hold"})
				}
				if variant == "annotated" {
					u.SetAnnotations(map[string]string{conditionsAnnotation: `{"conditions":[{"type":"Failed","status":"True","message":"x"}]}`})
				}
				_, err := whole.Resource(gvr).Namespace(in).Create(t.Context(), u, metav1.CreateOptions{})
				must(t, err)
				t.Cleanup(func() {
					ctx := context.WithoutCancel(t.Context())
					_ = whole.Resource(gvr).Namespace(in).Delete(ctx, u.GetName(), metav1.DeleteOptions{})
					_, _ = whole.Resource(gvr).Namespace(in).Patch(ctx, u.GetName(), "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				})
				if variant == "deleting" {
					must(t, whole.Resource(gvr).Namespace(in).Delete(t.Context(), u.GetName(), metav1.DeleteOptions{}))
				}
				w, err := whole.Resource(gvr).Namespace(in).Get(t.Context(), u.GetName(), metav1.GetOptions{})
				must(t, err)
				p, err := partial.Resource(gvr).Namespace(in).Get(t.Context(), u.GetName(), metav1.GetOptions{})
				must(t, err)
				gvk := w.GroupVersionKind()
				of, err := stateOf(w, gvk)
				must(t, err)
				is, err := stateOf(p, gvk)
				must(t, err)
				if of != is {
					t.Errorf("%s: whole object is %+v, metadata %+v", variant, of, is)
				}
				said[is] = true
			}
			if len(said) < 3 {
				t.Errorf("the three variants are in %d states: %v", len(said), said)
			}
		})
	}
}

// makePod makes a Pod and sets its phase.
func makePod(t testing.TB, api corev1client.PodInterface, name string, phase corev1.PodPhase) {
	t.Helper()
	p, err := api.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/c"}}},
	}, metav1.CreateOptions{})
	must(t, err)
	p.Status.Phase = phase
	_, err = api.UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
	must(t, err)
}
