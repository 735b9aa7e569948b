package cluster

import (
	"context"
	"embed"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/countd/countd/internal/decode"
	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/pkg/counts"
)

//go:embed testdata/metadata.json
var metadataObjects embed.FS

// conditionsAnnotation may hold conditions that wrangler reads like those of a status.
const conditionsAnnotation = "cattle.io/status"

// TestMetadataSaysTheSame holds the list of resources that are watched as metadata
// against whole objects: each kind of it is created on a real API server, as it
// is, being deleted, and with conditions in an annotation; what is said of the whole
// object is what is said of its metadata.
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
	for key, r := range served {
		if sameObjects[key] != "" || !state.MetadataSuffices(schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}) {
			continue // its objects are those of another one, or are not read as metadata
		}
		example := examples[key]
		if example == nil {
			t.Errorf("%s has no example", key)
			continue
		}
		decoder, err := decode.New(r, CorrectedStates)
		must(t, err)
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
				of, err := CorrectedStates.Read(w.Object, time.Now())
				must(t, err)
				is, err := decoder.Informed(p)
				must(t, err)
				must(t, is.Err)
				got := state.Reading{State: is.State, Steve: is.Steve, Next: is.Next}
				if diff := cmp.Diff(of, got); diff != "" {
					t.Errorf("%s (-whole object +metadata):\n%s", variant, diff)
				}
				said[is.State] = true
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
