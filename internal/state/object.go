package state

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rancher/wrangler/v3/pkg/summary"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// conditionsAnnotation may hold conditions that wrangler reads like those of a status.
const conditionsAnnotation = "cattle.io/status"

// object is one whose state is being read. It is immutable.
type object struct {
	content map[string]any
	gvk     schema.GroupVersionKind
	// clock is wrangler's.
	clock clock
	// conditions are those of the status, then those of the annotation.
	conditions []condition
}

// condition is one of an object's. What is of a wrong type is empty.
type condition struct {
	kind, status, reason string
	since                time.Time // zero where it does not say
	raw                  map[string]any
}

func newObject(content map[string]any) object {
	o := object{
		content: content,
		gvk:     schema.FromAPIVersionAndKind(text(content, "apiVersion"), text(content, "kind")),
		clock:   newClock(content),
	}
	for _, c := range summary.GetUnstructuredConditions(content) {
		o.conditions = append(o.conditions, condition{
			kind: text(c.Object, "type"), status: text(c.Object, "status"), reason: text(c.Object, "reason"),
			since: since(c.Object), raw: c.Object,
		})
	}
	return o
}

// since says since when a condition has its status. Rancher's conditions, and some others
// older than the convention, say when they were last written instead.
func since(condition map[string]any) time.Time {
	for _, field := range []string{"lastTransitionTime", "lastUpdateTime"} {
		if t, err := time.Parse(time.RFC3339, text(condition, field)); err == nil {
			return t
		}
	}
	return time.Time{}
}

// text returns a string; an empty one where there is none.
func text(content map[string]any, path ...string) string {
	last := len(path) - 1
	for _, key := range path[:last] {
		content, _ = content[key].(map[string]any)
	}
	s, _ := content[path[last]].(string)
	return s
}

// list returns the maps of a list of them.
func list(content map[string]any, path ...string) (maps []map[string]any) {
	last := len(path) - 1
	for _, key := range path[:last] {
		content, _ = content[key].(map[string]any)
	}
	values, _ := content[path[last]].([]any)
	for _, value := range values {
		if m, ok := value.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// condition returns the first of a type; a zero one where there is none.
func (o object) condition(kind string) condition {
	i := slices.IndexFunc(o.conditions, func(c condition) bool { return c.kind == kind })
	if i < 0 {
		return condition{}
	}
	return o.conditions[i]
}

// without returns the content of the object less some of its conditions: itself, if it has
// none of these.
func (o object) without(drop func(condition) bool) map[string]any {
	if !slices.ContainsFunc(o.conditions, drop) {
		return o.content
	}
	kept := []any{}
	for _, c := range o.conditions {
		if !drop(c) {
			kept = append(kept, c.raw)
		}
	}
	content := maps.Clone(o.content)
	status, _ := content["status"].(map[string]any)
	if status = maps.Clone(status); status == nil {
		status = make(map[string]any)
	}
	status["conditions"] = kept
	content["status"] = status
	if text(content, "metadata", "annotations", conditionsAnnotation) != "" {
		metadata, _ := content["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
		delete(annotations, conditionsAnnotation) // its conditions are among those of the status now
		metadata["annotations"] = annotations
		content["metadata"] = metadata
	}
	return content
}

// isRancher says whether the object is one of Rancher's own APIs, where the conditions'
// statuses have the meaning that wrangler gives them.
func (o object) isRancher() bool {
	return o.gvk.Group == "cattle.io" || strings.HasSuffix(o.gvk.Group, ".cattle.io")
}
