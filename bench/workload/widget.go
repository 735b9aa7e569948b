package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Widget is a custom kind, of which only conventions are known.
func Widget() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
}

// Widgets returns the objects of so many events of custom objects, some 4 KB of JSON
// each: seven in ten change nothing that decides a state, and three reconcile a new
// generation, or have done so, which no other object has done at the same moment.
func Widgets(seed uint64, events int) []map[string]any {
	r := rand.New(rand.NewPCG(seed, 0))
	type widget struct {
		generation, observed int
		ready                string
		at                   time.Time
		name                 string
	}
	all := make([]widget, population)
	now := since().Time
	for i := range all {
		g := int(generations(r))
		all[i] = widget{g, g, "True", now.Add(time.Duration(i) * time.Minute), fmt.Sprintf("widget-%d-%s", i, word(r))}
	}
	fields := make(map[string]any)
	for i := range 30 {
		fields[fmt.Sprintf("setting-%d", i)] = map[string]any{"value": strings.Repeat("v", 20), "f:value": map[string]any{}}
	}
	now = now.Add(population * time.Minute)
	objects := make([]map[string]any, events)
	for i := range objects {
		w := &all[r.IntN(population)]
		now = now.Add(time.Second)
		if r.IntN(10) < 3 {
			if w.ready == "True" {
				w.generation++
				w.ready, w.at = "False", now
			} else {
				w.observed, w.ready, w.at = w.generation, "True", now
			}
		}
		reason := map[string]string{"True": "Reconciled", "False": "Reconciling"}[w.ready]
		apiVersion, kind := Widget().ToAPIVersionAndKind()
		objects[i] = map[string]any{
			"apiVersion": apiVersion, "kind": kind,
			"metadata": map[string]any{
				"name": w.name, "namespace": fmt.Sprintf("team-%d", i%50), "resourceVersion": fmt.Sprint(1_000_000_000 + i), "generation": int64(w.generation),
				"uid": "3f1c2a52-0b6e-4f0e-9d6b-1f2e3d4c5b6a", "managedFields": []any{map[string]any{"manager": "kubectl", "fieldsV1": fields}},
			},
			"spec": map[string]any{"template": fields, "replicas": int64(3)},
			"status": map[string]any{"observedGeneration": int64(w.observed), "readyReplicas": int64(3), "replicas": int64(3), "conditions": []any{
				map[string]any{"type": "Ready", "status": w.ready, "reason": reason, "message": "the widget is " + reason, "lastTransitionTime": w.at.Format(time.RFC3339)},
			}},
		}
	}
	return objects
}
