package decode

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/countd/countd/internal/state"
)

// FuzzStateOfBuiltIn: an object of any built-in kind, whatever its fields have, is in the
// same state on every way on which it comes as it is whole, now and later, and
// in wrangler's words in the state that wrangler says. What its encodings become when
// they are damaged is read without a panic.
func FuzzStateOfBuiltIn(f *testing.F) {
	scheme := builtIn(f)
	kinds := builtInKinds(scheme)
	words := words()
	for i := range kinds {
		f.Add(uint8(i), uint64(i), []byte{})
		f.Add(uint8(i), uint64(i), []byte{255, 0, 7, 31, 63, 127, 190, 220, 3, 14, 15, 92, 65, 35, 89, 79, 240})
	}
	f.Fuzz(func(t *testing.T, kind uint8, seed uint64, data []byte) {
		gvk := kinds[int(kind)%len(kinds)]
		object, err := scheme.New(gvk)
		must(t, err)
		fill := newFiller(&drawn{data, rand.NewPCG(seed, 0)}, words, bubbleTime)
		for _, part := range []string{"Type", "Status", "ObjectMeta", "Spec"} { // first what decides most
			if field := reflect.ValueOf(object).Elem().FieldByName(part); field.IsValid() {
				fill.fillField(field, gvk.Kind, part, 0)
			}
		}
		object.GetObjectKind().SetGroupVersionKind(gvk)
		text, err := json.Marshal(object)
		must(t, err)
		damaged(t, gvk, object, text, fill)
		sameEveryWay(t, text, object)
	})
}

// FuzzStateOfCustom is the same for kinds of which only conventions are known.
func FuzzStateOfCustom(f *testing.F) {
	words := words()
	for i := range customKinds {
		f.Add(uint8(i), uint64(i), []byte{})
		f.Add(uint8(i), uint64(i), []byte{255, 0, 7, 31, 63, 127, 190, 220, 3, 14, 15, 92, 65, 35, 89, 79, 240})
	}
	f.Fuzz(func(t *testing.T, kind uint8, seed uint64, data []byte) {
		gvk := customKinds[int(kind)%len(customKinds)]
		fill := newFiller(&drawn{data, rand.NewPCG(seed, 0)}, words, bubbleTime)
		text, err := json.Marshal(fill.custom(gvk))
		must(t, err)
		damaged(t, gvk, nil, text, fill)
		sameEveryWay(t, text, nil)
	})
}

// FuzzStateOfChanged is the same for the objects of the corpus, in which a few values are
// others. Of a built-in kind, an API server sends only what its Go type can have.
func FuzzStateOfChanged(f *testing.F) {
	scheme := builtIn(f)
	words := words()
	var texts [][]byte
	files := corpus(f)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for _, e := range files[file] {
			f.Add(uint16(len(texts)), uint64(len(texts)), []byte{})
			texts = append(texts, e.text)
		}
	}
	f.Fuzz(func(t *testing.T, i uint16, seed uint64, data []byte) {
		whole := new(unstructured.Unstructured)
		must(t, whole.UnmarshalJSON(texts[int(i)%len(texts)]))
		gvk := whole.GroupVersionKind()
		fill := newFiller(&drawn{data, rand.NewPCG(seed, 0)}, words, bubbleTime)
		for range 1 + fill.IntN(4) {
			fill.change(whole.Object, "")
		}
		whole.SetGroupVersionKind(gvk)
		text, err := json.Marshal(whole.Object)
		must(t, err)
		typed, err := typedObject(scheme, whole.Object, text, false)
		if err != nil {
			return
		}
		if typed != nil {
			text, err = json.Marshal(typed)
			must(t, err)
		}
		damaged(t, gvk, typed, text, fill)
		sameEveryWay(t, text, typed)
	})
}

// bubbleTime is when time begins in a bubble of synctest.
var bubbleTime = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// customKinds are some of which wrangler, kstatus or countd knows more than conventions, or
// may seem to.
var customKinds = []schema.GroupVersionKind{
	{Group: "example.com", Version: "v1", Kind: "Widget"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"},
	{Group: "cluster.x-k8s.io", Version: "v1beta1", Kind: "MachineDeployment"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineSet"},
	{Group: "cluster.x-k8s.io", Version: "v1beta1", Kind: "MachinePool"},
	{Group: "management.cattle.io", Version: "v3", Kind: "Cluster"},
	{Group: "provisioning.cattle.io", Version: "v1", Kind: "Cluster"},
	{Group: "catalog.cattle.io", Version: "v1", Kind: "App"},
	{Group: "helm.cattle.io", Version: "v1", Kind: "HelmChart"},
	{Group: "operation.cattle.io", Version: "v1", Kind: "ETCDSnapshotSave"},
	{Group: "operation.cattle.io", Version: "v1", Kind: "Other"},
	{Group: "my.cattle.io.example.com", Version: "v1", Kind: "Widget"},
	{Group: "serving.knative.dev", Version: "v1", Kind: "Service"},
	{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
	{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"},
	{Group: "example.com", Version: "v1", Kind: "Node"},
	{Group: "apps.example.com", Version: "v1", Kind: "Deployment"},
	{Group: "acme.cert-manager.io", Version: "v1", Kind: "Challenge"},
}

// builtInKinds are those of the scheme that are known field by field.
func builtInKinds(scheme *runtime.Scheme) (kinds []schema.GroupVersionKind) {
	for gvk := range scheme.AllKnownTypes() {
		if state.Fields(gvk) != nil {
			kinds = append(kinds, gvk)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
}

// drawn draws from what a fuzzer gave, a byte at a time, and then at random.
type drawn struct {
	data []byte
	rest rand.Source
}

func (d *drawn) Uint64() uint64 {
	if len(d.data) == 0 {
		return d.rest.Uint64()
	}
	b := uint64(d.data[0])
	d.data = d.data[1:]
	return b * 0x0101010101010101 // some draws go by the high bits, others by the low ones
}

// sameEveryWay wants an object to be in one state on all ways, by both rules.
func sameEveryWay(t *testing.T, text []byte, typed runtime.Object) {
	t.Helper()
	whole := new(unstructured.Unstructured) // as client-go's dynamic client has it
	must(t, whole.UnmarshalJSON(text))
	e := example{Object: whole.Object, text: text}
	for _, rules := range []state.Rules{state.Corrected, state.Wrangler} {
		synctest.Test(t, func(t *testing.T) {
			d, err := New(resourceOf(whole.GroupVersionKind()), rules)
			must(t, err)
			ways := e.ways(t, d, whole.GroupVersionKind(), typed)
			for {
				want, wantErr := rules.Read(whole.Object, time.Now())
				for name, read := range ways {
					for _, when := range []string{"new", "again"} {
						if err := isAs(want, wantErr, read); err != nil {
							t.Errorf("%s, %s, at %s: %v", name, when, time.Now().UTC(), err)
						}
					}
				}
				if wantErr == nil {
					isWranglers(t, want, whole.Object)
					if rules == state.Corrected {
						keepsPromises(t, want, whole.Object)
					}
				}
				if t.Failed() {
					t.Fatalf("the object:\n%s", text)
				}
				if want.Next == nil || want.Next.At.Year() > 2100 {
					return
				}
				time.Sleep(time.Until(want.Next.At))
			}
		})
	}
}

// isAs wants of a way what is said of the whole object: the same, or also an error.
func isAs(want state.Reading, wantErr error, read func() (*Object, error)) error {
	o, err := read()
	if err == nil {
		err = o.Err
	}
	switch {
	case (err == nil) != (wantErr == nil):
		return fmt.Errorf("error %w, of the whole object %w", err, wantErr)
	case err == nil:
		got := state.Reading{State: o.State, Steve: o.Steve, Next: o.Next}
		if reflect.DeepEqual(want, got) {
			return nil // the quick way
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-whole +read):\n%s", diff)
		}
	}
	return nil
}

// isWranglers wants a reading to be what wrangler itself says.
func isWranglers(t *testing.T, r state.Reading, content map[string]any) {
	t.Helper()
	got := r.State
	if r.Steve != nil {
		got = *r.Steve
	}
	if want := wranglers(content); want != got {
		t.Errorf("at %s wrangler says %+v, we %+v", time.Now().UTC(), want, got)
	}
}

// damaged decodes what is left of an object's encodings.
func damaged(t *testing.T, gvk schema.GroupVersionKind, object runtime.Object, text []byte, f filler) {
	t.Helper()
	d := newDecoder(t, resourceOf(gvk))
	encodings := [][]byte{slices.Clone(text)}
	if m, ok := object.(marshaler); ok {
		encodings = append(encodings, inEnvelope(t, gvk.Kind, m))
	}
	for _, data := range encodings {
		data[f.IntN(len(data))] ^= byte(1 << f.IntN(8))
		for _, data := range [][]byte{data, data[:f.IntN(len(data))]} {
			_, _, _ = d.Decode(data, nil, nil)
			_, _, _ = d.Decode(data, nil, new(List))
		}
	}
}
