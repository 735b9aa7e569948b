package state

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countd/countd/pkg/counts"
)

// stamp is a time as it stands in an object.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// custom returns a custom resource with the given conditions.
func custom(conditions ...any) map[string]any {
	return map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "a", "generation": int64(1)},
		"status":   map[string]any{"conditions": conditions},
	}
}

// timed are objects whose state changes without an event, with the words of all that
// they go through.
func timed(now time.Time) map[string]struct {
	content map[string]any
	states  []counts.State
} {
	type row = struct {
		content map[string]any
		states  []counts.State
	}
	rancher := func(field string, at time.Time) map[string]any {
		return map[string]any{
			"apiVersion": "management.cattle.io/v3", "kind": "Thing",
			"metadata": map[string]any{field: stamp(at), "finalizers": []any{"controller.cattle.io/x"}},
			"status":   map[string]any{"conditions": []any{}},
		}
	}
	both := rancher("removed", now)
	both["status"] = custom(map[string]any{"type": "Ready", "status": "False", "lastTransitionTime": stamp(now.Add(-9 * time.Minute))})["status"]
	quick := maps.Clone(both)
	quick["metadata"] = map[string]any{"created": stamp(now), "removed": stamp(now.Add(-5 * time.Minute)), "finalizers": "x"}
	wait, fail := counts.State{Word: "unavailable", Transitioning: true}, counts.State{Word: "unavailable", Error: true}
	removing, stuck := counts.State{Word: "removing", Transitioning: true}, counts.State{Word: "removing", Transitioning: true, Error: true}
	return map[string]row{
		"not ready": {
			custom(map[string]any{"type": "Ready", "status": "False", "reason": "Creating", "lastTransitionTime": stamp(now)}),
			[]counts.State{wait, fail},
		},
		"not ready, in an annotation": {
			map[string]any{
				"apiVersion": "example.com/v1", "kind": "Thing",
				"metadata": map[string]any{"annotations": map[string]any{
					conditionsAnnotation: `{"conditions":[{"type":"Ready","status":"False","lastUpdateTime":"` + stamp(now) + `"}]}`,
				}},
			},
			[]counts.State{wait, fail},
		},
		"two that fail one after the other": {
			custom(
				map[string]any{"type": "Installed", "status": "False", "lastTransitionTime": stamp(now)},
				map[string]any{"type": "Ready", "status": "False", "lastTransitionTime": stamp(now.Add(-time.Minute))},
			),
			[]counts.State{{Word: "installing", Transitioning: true}, fail},
		},
		"initializing":           {rancher("created", now), []counts.State{{Word: "initializing", Transitioning: true}, {}}},
		"removing":               {rancher("removed", now), []counts.State{removing, stuck}},
		"removing and not ready": {both, []counts.State{removing, stuck}},
		"at the very moment":     {quick, []counts.State{removing, stuck}},
	}
}

// TestNextIsWhatWillBe: what is said of a later moment is what is said at that
// moment; a nanosecond before it, it is not so yet.
func TestNextIsWhatWillBe(t *testing.T) {
	for _, rules := range []Rules{Corrected, Wrangler} {
		for name := range timed(time.Time{}) {
			synctest.Test(t, func(t *testing.T) {
				o := timed(time.Now())[name]
				r, err := rules.Read(o.content, time.Now())
				if err != nil {
					t.Fatal(err)
				}
				states := []counts.State{r.State}
				for r.Next != nil {
					next := r.Next
					time.Sleep(time.Until(next.At) - 1)
					before, err := rules.Read(o.content, time.Now())
					if diff := cmp.Diff(r, before); err != nil || diff != "" {
						t.Errorf("%s: a moment before %s (-before +then): %s, %v", name, next.At, diff, err)
					}
					time.Sleep(time.Nanosecond)
					r, err = rules.Read(o.content, time.Now())
					if diff := cmp.Diff(next.Reading, r); err != nil || diff != "" {
						t.Errorf("%s: at %s (-said before +said then): %s, %v", name, next.At, diff, err)
					}
					if w := summarize(o.content); rules == Wrangler && w != r.State {
						t.Errorf("%s: at %s it is %+v, wrangler says %+v", name, next.At, r.State, w)
					}
					states = append(states, r.State)
				}
				if diff := cmp.Diff(o.states, states); diff != "" && rules == Corrected {
					t.Errorf("%s: states (-want +got):\n%s", name, diff)
				}
				time.Sleep(1000 * time.Hour)
				if after, err := rules.Read(o.content, time.Now()); err != nil || !after.same(r) {
					t.Errorf("%s: later it is %+v (%v), which was not said", name, after, err)
				}
			})
		}
	}
}
