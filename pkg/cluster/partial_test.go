package cluster

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rancher/wrangler/v3/pkg/summary"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/countd/countd/pkg/counts"
)

// TestPartSaysTheSame holds the fields that are read of a resource against whole
// objects: whatever values all of an object's fields have, wrangler says of the fields
// that are read what it says of the whole object.
func TestPartSaysTheSame(t *testing.T) {
	words := conditionWords()
	for key, p := range partly {
		typ := reflect.TypeOf(p.object)
		group := ""
		if _, g, ok := strings.Cut(key, "."); ok {
			group = g
		}
		gvk := schema.GroupVersionKind{Group: group, Version: p.version, Kind: typ.Name()}
		name, _, _ := strings.Cut(key, ".")
		fields, err := schemaOf(counts.Resource{Group: group, Version: p.version, Name: name, Kind: gvk.Kind})
		must(t, err)
		t.Run(key, func(t *testing.T) {
			said := make(map[counts.State]int)
			d := newPartialDecoder(fields, gvk)
			informed, err := newInformedReader(counts.Resource{Group: group, Version: p.version, Name: name, Kind: gvk.Kind})
			must(t, err)
			rapid.Check(t, func(t *rapid.T) {
				o := reflect.New(typ)
				filler{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), words}.fill(o.Elem(), 0)
				if pod, ok := reflect.TypeAssert[*corev1.Pod](o); ok && pod.Status.Phase == "" {
					pod.Status.Phase = corev1.PodPending // as the API server sets it when a Pod is made
				}
				m, ok := reflect.TypeAssert[interface{ Marshal() ([]byte, error) }](o)
				if !ok {
					t.Fatalf("%s has no protobuf", typ)
				}
				raw, err := m.Marshal()
				if err != nil {
					t.Fatal(err)
				}
				content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Interface())
				if err != nil {
					t.Fatal(err)
				}
				whole := &unstructured.Unstructured{Object: content}
				whole.SetGroupVersionKind(gvk)
				want := summarize(whole)
				got, err := d.object(raw)
				if err != nil || got.err != nil {
					t.Fatal(err, got.err)
				}
				if got.State != want {
					t.Fatalf("whole it is %+v, in part %+v\n%s", want, got.State, cmp.Diff(whole.Object, d.schema.Object(d.buffer)))
				}
				object, ok := reflect.TypeAssert[runtime.Object](o)
				if !ok {
					t.Fatalf("%s is no object", typ)
				}
				if informed, err := informed.state(object); err != nil || informed != want {
					t.Fatalf("from an informer it is %+v, %v, and whole %+v", informed, err, want)
				}
				said[want]++
			})
			if len(said) < 8 {
				t.Errorf("only %d states were seen: %v", len(said), said)
			}
		})
	}
}

// conditionWords are those that wrangler and kstatus look for, and some that they do not.
func conditionWords() []string {
	words := []string{
		"", "True", "False", "Unknown", "Error", "Other", "Complete", "Stalled", "Reconciling", "Progressing", "ReplicaFailure",
		"ProgressDeadlineExceeded", "NewReplicaSetAvailable", "Failed", "MemoryPressure", "OnDelete", "Running", "Succeeded", "Bound",
	}
	for _, table := range []map[string]string{summary.TransitioningUnknown, summary.TransitioningFalse, summary.TransitioningTrue} {
		for word := range table {
			words = append(words, word)
		}
	}
	for _, table := range summary.GVKConditionErrorMapping {
		for word := range table {
			words = append(words, word)
		}
	}
	return words
}

// filler gives the fields of typed objects random values.
type filler struct {
	*rand.Rand
	words []string
}

func (f filler) fill(v reflect.Value, depth int) {
	pkg := v.Type().PkgPath()
	if depth > 6 || strings.HasSuffix(pkg, "/resource") || strings.HasSuffix(pkg, "/intstr") || v.Type() == reflect.TypeFor[metav1.FieldsV1]() {
		return
	}
	if v.Type() == reflect.TypeFor[metav1.Time]() {
		v.Set(reflect.ValueOf(metav1.Unix(f.Int64N(2e9), 0)))
		return
	}
	if v.Type() == reflect.TypeFor[metav1.ObjectMeta]() {
		m := metav1.ObjectMeta{Name: "n", Namespace: "a", ResourceVersion: "7", Generation: int64(f.IntN(3)), Labels: map[string]string{"a": "b"}}
		if f.IntN(4) == 0 {
			m.DeletionTimestamp = &metav1.Time{}
			f.fill(reflect.ValueOf(m.DeletionTimestamp).Elem(), depth+1)
			m.Finalizers = []string{"example.com/hold"}
		}
		if f.IntN(6) == 0 {
			m.Annotations = map[string]string{"x": "y", conditionsAnnotation: `{"conditions":[{"type":"` + f.word() + `","status":"` + f.word() + `"}]}`}
		}
		v.Set(reflect.ValueOf(m))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				switch field.Type().String() {
				case "v1.ConditionStatus":
					field.SetString([]string{"True", "False", "Unknown"}[f.IntN(3)])
				default:
					f.fill(field, depth+1)
				}
			}
		}
	case reflect.Pointer:
		if f.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for range f.IntN(3) {
			item := reflect.New(v.Type().Elem()).Elem()
			f.fill(item, depth+1)
			v.Set(reflect.Append(v, item))
		}
	case reflect.String:
		v.SetString(f.word())
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.IntN(4)))
	}
}

func (f filler) word() string {
	if f.IntN(2) == 0 {
		return ""
	}
	return f.words[f.IntN(len(f.words))]
}
