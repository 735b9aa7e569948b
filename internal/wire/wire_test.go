package wire

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type marshaler interface{ Marshal() ([]byte, error) }

var testPaths = map[string][]string{
	"Pod": {
		"metadata.deletionTimestamp", "metadata.generation", "metadata.annotations.cattle.io/status",
		"spec.restartPolicy", "spec.hostNetwork", "status.phase", "status.reason", "status.conditions.type",
		"status.conditions.status", "status.conditions.reason", "status.conditions.lastTransitionTime",
		"status.containerStatuses.ready", "status.containerStatuses.restartCount", "status.containerStatuses.state.waiting.reason",
		"status.containerStatuses.state.running", "status.startTime",
	},
	"StatefulSet": {"spec.replicas", "spec.updateStrategy.type", "spec.updateStrategy.rollingUpdate.partition", "status.replicas", "status.currentRevision", "metadata.generation"},
	"Job":         {"spec.parallelism", "spec.suspend", "status.startTime", "status.conditions.type", "status.active"},
	"Node":        {"spec.unschedulable", "status.conditions.type", "status.conditions.status"},
}

// TestReadsWhatJSONSays: the fields read from the wire are those that the object has
// in JSON, no others, and none with another value.
func TestReadsWhatJSONSays(t *testing.T) {
	for _, object := range []runtime.Object{new(corev1.Pod), new(appsv1.StatefulSet), new(batchv1.Job), new(corev1.Node)} {
		typ := reflect.TypeOf(object).Elem()
		paths := testPaths[typ.Name()]
		schema, err := New(reflect.Zero(typ).Interface(), paths...)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(typ.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				o := reflect.New(typ)
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
				fill(r, o.Elem(), 0)
				object, ok := reflect.TypeAssert[marshaler](o)
				if !ok {
					t.Fatalf("%s has no protobuf", typ)
				}
				raw, err := object.Marshal()
				if err != nil {
					t.Fatal(err)
				}
				sparse, err := schema.Read(raw, nil)
				if err != nil {
					t.Fatal(err)
				}
				m, ok := reflect.TypeAssert[metav1.Object](o)
				if !ok {
					t.Fatalf("%s has no metadata", typ)
				}
				if sparse.Name != m.GetName() || sparse.Namespace != m.GetNamespace() || sparse.ResourceVersion != m.GetResourceVersion() {
					t.Fatalf("identity is %+v", sparse)
				}
				whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Interface())
				if err != nil {
					t.Fatal(err)
				}
				want, _ := prune(whole, paths).(map[string]any)
				got := schema.Object(sparse.Values)
				if diff := cmp.Diff(clean(want), clean(got)); diff != "" {
					t.Fatalf("(-JSON +wire):\n%s", diff)
				}
				again, err := schema.Read(raw, make([]byte, 0, 10))
				if err != nil || string(again.Values) != string(sparse.Values) {
					t.Fatalf("read again, it is %q and was %q (%v)", again.Values, sparse.Values, err)
				}
			})
		})
	}
}

// prune keeps the paths of a value, with all times made one.
func prune(v any, paths []string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = prune(v[i], paths)
		}
		return out
	case map[string]any:
		out := make(map[string]any)
		for name, value := range v {
			var below []string
			kept := false
			for _, p := range paths {
				if p == name {
					kept = true
				} else if rest, ok := strings.CutPrefix(p, name+"."); ok {
					below = append(below, rest)
				}
			}
			if s, ok := value.(string); ok && kept && strings.HasSuffix(strings.ToLower(name), "time") || name == "deletionTimestamp" && kept {
				if s != "" {
					out[name] = someTime
				}
				continue
			}
			if m, ok := value.(map[string]any); ok && kept && len(m) >= 0 {
				out[name] = map[string]any{}
				continue
			}
			if kept {
				out[name] = value
			} else if len(below) > 0 {
				out[name] = prune(value, below)
			}
		}
		return out
	}
	return v
}

// clean drops what says nothing: nil, and messages without fields outside lists, but
// for those of which the presence is asked.
func clean(m map[string]any) map[string]any {
	for name, value := range m {
		switch v := value.(type) {
		case nil:
			delete(m, name)
		case map[string]any:
			if len(clean(v)) == 0 && name != "running" {
				delete(m, name)
			}
		case []any:
			for _, item := range v {
				if c, ok := item.(map[string]any); ok {
					clean(c)
				}
			}
		}
	}
	return m
}

// fill gives random fields random values.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	if depth > 6 {
		return
	}
	switch v.Interface().(type) {
	case metav1.Time:
		if r.IntN(3) > 0 {
			v.Set(reflect.ValueOf(metav1.Unix(r.Int64N(2e9), 0)))
		}
		return
	case metav1.FieldsV1, types.UID, runtime.RawExtension:
		return
	}
	if strings.HasPrefix(v.Type().PkgPath(), "k8s.io/apimachinery/pkg/api/resource") || strings.HasPrefix(v.Type().PkgPath(), "k8s.io/apimachinery/pkg/util/intstr") {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type().Field(i).Name != "ManagedFields" {
				fill(r, v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for range r.IntN(3) {
			item := reflect.New(v.Type().Elem()).Elem()
			fill(r, item, depth+1)
			v.Set(reflect.Append(v, item))
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[string]string]() && r.IntN(2) == 0 {
			v.Set(reflect.ValueOf(map[string]string{"cattle.io/status": "x", "other": "y"}))
		}
	case reflect.String:
		v.SetString([]string{"", "a", "Ready", "True", "ünï"}[r.IntN(5)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.IntN(5) - 2))
	}
}

func TestWrongPaths(t *testing.T) {
	for _, path := range []string{"status.nothing", "status.phase.below", "metadata.annotations", "metadata.labels", "spec.nodeSelector"} {
		if _, err := New(corev1.Pod{}, path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error is %v, want one that names it", path, err)
		}
	}
	if _, err := New(corev1.PodSpec{}); err == nil {
		t.Error("a type that is no object is accepted")
	}
}

// FuzzRead: whatever comes, reading returns.
func FuzzRead(f *testing.F) {
	schema, err := New(corev1.Pod{}, testPaths["Pod"]...)
	if err != nil {
		f.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		var pod corev1.Pod
		fill(r, reflect.ValueOf(&pod).Elem(), 0)
		raw, err := pod.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		sparse, err := schema.Read(raw, nil)
		if err == nil {
			schema.Object(sparse.Values)
		}
		_, _, _ = Open(raw)
		_, _, _ = List(raw, func([]byte) error { return nil })
	})
}
