package decode

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/rancher/wrangler/v3/pkg/summary"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// conditionsAnnotation may hold conditions that wrangler reads like those of a status.
const conditionsAnnotation = "cattle.io/status"

// usual are words that decide much.
var usual = []string{
	"True", "False", "Unknown", "Error", "Other", "Complete", "Stalled", "Reconciling", "Progressing", "ReplicaFailure",
	"ProgressDeadlineExceeded", "NewReplicaSetAvailable", "Failed", "MemoryPressure", "OnDelete", "Running", "Succeeded", "Bound",
	"Pending", "Lost", "CrashLoopBackOff", "ImagePullBackOff", "ContainerCreating", "PodScheduled", "Unschedulable", "Ready",
	"Available", "Initialized", "Suspended", "ScalingActive", "ScalingDisabled", "BuildFailed", "LoadBalancer", "RollingUpdate",
}

// words are all that wrangler looks for in conditions, and the usual ones.
func words() []string {
	words := slices.Clone(usual)
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
	slices.Sort(words) // the tables have no order, and a seed is to draw the same again
	return slices.Compact(words)
}

// filler gives objects random content. Some objects are full and some all but empty, because
// what one field says often hides what another would.
type filler struct {
	*rand.Rand
	words []string
	now   time.Time
	full  int  // of 10 strings and pointers, how many are there
	fine  bool // a typed object is as it should be, but for a few numbers
}

func newFiller(from rand.Source, words []string, now time.Time) filler {
	r := rand.New(from)
	return filler{r, words, now, 1 + r.IntN(9), r.IntN(2) == 0}
}

func (f filler) there() bool { return f.IntN(10) < f.full }

// fill gives the fields of a typed object random values.
func (f filler) fill(v reflect.Value, depth int) {
	pkg := v.Type().PkgPath()
	if depth > 6 || strings.HasSuffix(pkg, "/resource") || strings.HasSuffix(pkg, "/intstr") || v.Type() == reflect.TypeFor[metav1.FieldsV1]() {
		return
	}
	switch v.Type() {
	case reflect.TypeFor[metav1.Time]():
		v.Set(reflect.ValueOf(metav1.Unix(f.Int64N(2e9), 0)))
		return
	case reflect.TypeFor[metav1.ObjectMeta]():
		v.Set(reflect.ValueOf(f.meta()))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for sf, field := range v.Fields() {
			if field.CanSet() {
				f.fillField(field, v.Type().Name(), sf.Name, depth)
			}
		}
	case reflect.Pointer:
		if f.there() {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		if f.fine && isCondition(v.Type().Elem()) {
			for _, c := range [][2]string{{"Progressing", "NewReplicaSetAvailable"}, {"Available", ""}} {
				item := reflect.New(v.Type().Elem()).Elem()
				item.FieldByName("Type").SetString(c[0])
				item.FieldByName("Status").SetString("True")
				item.FieldByName("Reason").SetString(c[1])
				v.Set(reflect.Append(v, item))
			}
			return
		}
		if !f.there() {
			return
		}
		for range f.IntN(4) {
			item := reflect.New(v.Type().Elem()).Elem()
			f.fill(item, depth+1)
			v.Set(reflect.Append(v, item))
		}
	case reflect.String:
		v.SetString(f.word())
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(f.number())
	}
}

// fillField gives a field of a type a value that it may have on a cluster, where that is known,
// and now and then any.
func (f filler) fillField(field reflect.Value, of, name string, depth int) {
	switch values := plausible(of, name); {
	case field.Type().String() == "v1.ConditionStatus":
		field.SetString(f.status())
	case field.Kind() == reflect.String && len(values) > 0 && f.IntN(4) > 0:
		field.SetString(values[f.IntN(len(values))])
	default:
		f.fill(field, depth+1)
	}
}

func isCondition(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || !strings.HasSuffix(t.Name(), "Condition") {
		return false
	}
	_, typed := t.FieldByName("Type")
	_, reasoned := t.FieldByName("Reason")
	return typed && reasoned
}

func (f filler) number() int64 {
	if f.fine && f.IntN(12) > 0 {
		return 2
	}
	return int64(f.IntN(4))
}

func (f filler) meta() metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: "n", Namespace: "a", ResourceVersion: "7", Generation: f.number(), Labels: map[string]string{"a": "b"}}
	if f.IntN(4) == 0 {
		deleted := metav1.Unix(f.Int64N(2e9), 0)
		m.DeletionTimestamp, m.Finalizers = &deleted, []string{"example.com/hold"}
	}
	if f.IntN(6) == 0 {
		m.Annotations = map[string]string{"x": "y", conditionsAnnotation: f.annotation()}
	}
	if f.there() {
		controls := true
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: f.word(), Controller: &controls}}
		m.CreationTimestamp = metav1.NewTime(f.time())
	}
	return m
}

// annotation is a status in an annotation.
func (f filler) annotation() string {
	return `{"conditions":[{"type":"` + f.word() + `","status":"` + f.word() + `","reason":"` + f.word() + `","lastUpdateTime":"` + f.stamp() + `"}]}`
}

// time is one of which some lie so near that a state is still to change.
func (f filler) time() time.Time {
	ago := time.Duration([]int{-1, 1, 10, 1000}[f.IntN(4)]*(1+f.IntN(9))) * 37 * time.Second
	return f.now.Add(-ago)
}

func (f filler) stamp() string { return f.time().UTC().Format(time.RFC3339) }

func (f filler) word() string {
	switch {
	case !f.there():
		return ""
	case f.IntN(2) == 0:
		return usual[f.IntN(len(usual))]
	}
	return f.words[f.IntN(len(f.words))]
}

func (f filler) status() string { return []string{"True", "False", "Unknown"}[f.IntN(3)] }

// customPaths are those of what wrangler or countd look at in a custom object, and of
// some fields at which they do not.
var customPaths = []string{
	"type", "metadata.deletionTimestamp", "metadata.annotations." + conditionsAnnotation, "metadata.generation",
	"metadata.created", "metadata.removed", "metadata.finalizers", "spec.finalizers", "spec.active", "spec.type",
	"spec.serviceKind", "status.loadBalancer.ingress", "spec.replicas", "status.replicas", "status.readyReplicas",
	"status.workers.desiredReplicas", "status.workers.replicas", "status.workers.readyReplicas", "status.conditions.message",
	"status.conditions.reason", "status.conditions.lastTransitionTime", "status.conditions.lastUpdateTime", "status.phase",
	"status.observedGeneration", "status.display", "status.summary",
	"metadata.labels.odd", "spec.phase", "status.conditions.severity", "status.state", "status.ready", "conditions", "phase",
}

// custom is a random object of a kind of which only conventions are known.
func (f filler) custom(gvk schema.GroupVersionKind) map[string]any {
	content := map[string]any{"spec": map[string]any{"other": []any{"x", map[string]any{"type": "y"}}}, "status": map[string]any{"noise": 1}}
	spare := f.IntN(4) == 0 // then nothing else hides what conditions say
	for _, path := range customPaths {
		if f.there() && (!spare || strings.HasPrefix(path, "status.conditions.")) {
			f.put(content, path)
		}
	}
	metadata := inside(content, "metadata")
	metadata["name"], metadata["namespace"] = "n", "a"
	content["apiVersion"], content["kind"] = gvk.ToAPIVersionAndKind()
	return content
}

// put gives a custom object a random value at a path, in which lists are as if they
// were not there. Some are of a type that does not belong there.
func (f filler) put(content map[string]any, path string) {
	if key, ok := strings.CutPrefix(path, "metadata.annotations."); ok {
		annotations := inside(content, "metadata", "annotations")
		annotations[key] = f.annotation()
		return
	}
	if field, ok := strings.CutPrefix(path, "status.conditions."); ok {
		f.putIntoConditions(inside(content, "status"), field)
		return
	}
	names := strings.Split(path, ".")
	last := len(names) - 1
	inside(content, names[:last]...)[names[last]] = f.value(names[last])
}

// inside returns the map at a path, made where it is not there or something else is.
func inside(content map[string]any, names ...string) map[string]any {
	for _, name := range names {
		next, ok := content[name].(map[string]any)
		if !ok {
			next = make(map[string]any)
			content[name] = next
		}
		content = next
	}
	return content
}

func (f filler) putIntoConditions(status map[string]any, field string) {
	list, ok := status["conditions"].([]any)
	if !ok {
		list = []any{}
		for range 1 + f.IntN(4) {
			list = append(list, map[string]any{"type": f.value("conditionType"), "status": f.value("status"), "severity": "x"})
		}
	}
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && f.IntN(2) == 0 {
			c[field] = f.value(field)
		}
	}
	if f.IntN(40) == 0 {
		list = append(list, nil, 3, "odd")
	}
	status["conditions"] = list
}

func (f filler) value(name string) any {
	if f.IntN(30) == 0 {
		return []any{nil, true, 3, -1.5, "odd", []any{"a", nil}, map[string]any{"a": map[string]any{"b": 1}}}[f.IntN(7)]
	}
	lower := strings.ToLower(name)
	switch {
	case name == "status":
		return f.status()
	case strings.HasSuffix(lower, "time") || strings.HasSuffix(lower, "timestamp") || name == "removed" || name == "created":
		return f.stamp()
	case strings.HasSuffix(lower, "replicas") || strings.HasSuffix(lower, "generation"):
		return f.IntN(4)
	case name == "active":
		return f.IntN(2) == 0
	case name == "finalizers":
		return []any{"example.com/hold"}
	case name == "ingress":
		return []any{map[string]any{"ip": "192.0.2.1"}}
	case name == "summary" || name == "display":
		return map[string]any{"state": f.word(), "transitioning": f.IntN(2) == 0, "error": f.IntN(2) == 0}
	}
	if values := plausible("", name); len(values) > 0 && f.IntN(2) == 0 {
		return values[f.IntN(len(values))]
	}
	return f.word()
}

// change returns a value of the given name in which one thing is another. Maps are changed
// themselves.
func (f filler) change(value any, name string) any {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			return value
		}
		names := slices.Sorted(maps.Keys(value))
		name := names[f.IntN(len(names))]
		if f.IntN(16) == 0 {
			delete(value, name)
		} else {
			value[name] = f.change(value[name], name)
		}
		return value
	case []any:
		if len(value) == 0 {
			return value
		}
		i := f.IntN(len(value))
		switch f.IntN(16) {
		case 0:
			return slices.Delete(value, i, i+1)
		case 1:
			return append(value, value[i])
		case 2:
			slices.Reverse(value)
		default:
			value[i] = f.change(value[i], name)
		}
		return value
	case bool:
		return !value
	case int64:
		return int64(f.IntN(4))
	}
	return f.value(name)
}
