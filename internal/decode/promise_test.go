package decode

import (
	"strings"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/summary"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/pkg/counts"
)

// A promise is what countd says of objects that wrangler misreads, written down once more,
// from what the states mean, for objects that fuzzers make.

// conditionsSaid are the conditions of an object by their type: status and reason.
type conditionsSaid map[string][2]string

func (c conditionsSaid) is(kind, status string) bool { return c[kind][0] == status }

// troubled says whether a condition says that an object of whatever kind has failed.
func (c conditionsSaid) troubled() bool {
	return c.is("Stalled", "True") || c.is("Failed", "True") || c.is("Degraded", "True")
}

// conditionsOf returns false where two are of one type, of which there is no saying.
func conditionsOf(content map[string]any) (conditionsSaid, bool) {
	said := make(conditionsSaid)
	for _, c := range summary.GetUnstructuredConditions(content) {
		if _, twice := said[c.Type()]; twice {
			return nil, false
		}
		said[c.Type()] = [2]string{c.Status(), c.Reason()}
	}
	return said, true
}

// keepsPromises wants of a corrected reading what was promised of its object.
func keepsPromises(t *testing.T, r state.Reading, content map[string]any) {
	t.Helper()
	want, promised := promise(content)
	if promised && r.State != want {
		t.Errorf("it is %+v, and was to be %+v", r.State, want)
	}
	if c, clear := conditionsOf(content); clear && c.troubled() && !deleted(content) && !r.State.Error && removed(content) == "" {
		t.Errorf("it is %+v, and has failed", r.State)
	}
}

func deleted(content map[string]any) bool {
	return textAt(content, "metadata", "deletionTimestamp") != ""
}

func removed(content map[string]any) string { return textAt(content, "metadata", "removed") }

func textAt(content map[string]any, path ...string) string {
	text, _, err := unstructured.NestedString(content, path...)
	if err != nil {
		return ""
	}
	return text
}

// promise returns false where nothing is promised.
func promise(content map[string]any) (counts.State, bool) {
	if deleted(content) {
		return counts.State{Word: "terminating", Transitioning: true}, true
	}
	c, clear := conditionsOf(content)
	if !clear {
		return counts.State{}, false
	}
	phase := textAt(content, "status", "phase")
	gvk := (&unstructured.Unstructured{Object: content}).GroupVersionKind()
	switch gvk.GroupKind().String() {
	case "Pod":
		return podPromise(content, phase, c)
	case "Node":
		return nodePromise(c)
	case "PersistentVolumeClaim", "PersistentVolume":
		switch phase {
		case "Pending":
			return counts.State{Word: "pending", Transitioning: true}, !c.troubled()
		case "Lost", "Failed":
			return counts.State{Word: strings.ToLower(phase), Error: true}, true
		}
	case "Job.batch":
		switch {
		case c.is("Failed", "True"):
			return counts.State{Word: "failed", Error: true}, true
		case c.troubled():
		case c.is("Complete", "True"):
			return counts.State{Word: "complete"}, true
		case len(c) == 0 && textAt(content, "status", "startTime") != "":
			return counts.State{Word: "running", Transitioning: true}, true
		}
	case "HorizontalPodAutoscaler.autoscaling":
		if c["ScalingActive"] == [2]string{"False", "ScalingDisabled"} && len(c) == 1 && gvk.Version == "v2" && upToDate(content) {
			return counts.State{Word: "disabled"}, true
		}
	case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Service":
		return wranglers(content), !c.troubled()
	default:
		return restPromise(gvk, content, c)
	}
	return counts.State{}, false
}

func podPromise(content map[string]any, phase string, c conditionsSaid) (counts.State, bool) {
	switch phase {
	case "Failed":
		return counts.State{Word: "failed", Error: true}, true
	case "Succeeded":
		return counts.State{Word: "succeeded"}, !c.troubled()
	}
	waits := false
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		containers, _, _ := unstructured.NestedSlice(content, "status", list)
		for _, container := range containers {
			status, _ := container.(map[string]any)
			switch reason := textAt(status, "state", "waiting", "reason"); reason {
			case "CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError", "CreateContainerError",
				"InvalidImageName", "ErrImageNeverPull", "RunContainerError":
				return counts.State{Word: strings.ToLower(reason), Error: true}, !waits
			case "", "ContainerCreating", "PodInitializing":
			default:
				waits = true // what that means is not in the table
			}
		}
	}
	switch {
	case waits || c.troubled():
	case c["PodScheduled"] == [2]string{"False", "Unschedulable"}:
		return counts.State{Word: "unschedulable", Error: true}, true
	case c.is("PodScheduled", "False"):
	case c.is("Initialized", "False"):
		return counts.State{Word: "initializing", Transitioning: true}, true
	case phase == "Running" && c.is("Ready", "False"):
		return counts.State{Word: "not-ready", Transitioning: true}, true
	case phase == "Running" && c.is("Ready", "True"):
		return counts.State{Word: "running"}, true
	}
	return counts.State{}, false
}

func nodePromise(c conditionsSaid) (counts.State, bool) {
	problems := 0
	for _, kind := range []string{"NetworkUnavailable", "MemoryPressure", "DiskPressure", "PIDPressure", "OutOfDisk"} {
		if c.is(kind, "True") {
			problems++
		}
	}
	switch {
	case c.is("Ready", "False"):
		return counts.State{Word: "not-ready", Error: true}, true
	case c.is("Ready", "Unknown"):
		return counts.State{Word: "unknown", Error: true}, true
	case problems == 1 && c.is("MemoryPressure", "True"):
		return counts.State{Word: "memory-pressure", Error: true}, true
	case problems == 1 && c.is("PIDPressure", "True"):
		return counts.State{Word: "pid-pressure", Error: true}, true
	}
	return counts.State{}, false
}

// restPromise is of custom kinds, and of those that have no conditions of their own.
func restPromise(gvk schema.GroupVersionKind, content map[string]any, c conditionsSaid) (counts.State, bool) {
	if state.MetadataSuffices(gvk) {
		return counts.State{}, len(c) == 0
	}
	plain := strings.HasSuffix(gvk.Group, "example.com") && !strings.Contains(gvk.Group, "cattle.io") && removed(content) == "" &&
		len(c) == 1 && onlyConditions(content) && upToDate(content)
	for kind, word := range map[string]string{"Stalled": "stalled", "Failed": "failed", "Degraded": "degraded"} {
		if plain && c.is(kind, "True") {
			return counts.State{Word: word, Error: true}, true
		}
	}
	for _, kind := range []string{"Updating", "Pending", "Waiting"} {
		if plain && c.is(kind, "False") && c[kind][1] != "Error" {
			return counts.State{}, true
		}
	}
	if plain && c.is("Ready", "Unknown") && c["Ready"][1] == "" {
		return counts.State{Word: "unknown", Transitioning: true}, true
	}
	return counts.State{}, false
}

// onlyConditions says whether there is nothing else in an object that wrangler makes a state of.
func onlyConditions(content map[string]any) bool {
	for _, path := range [][]string{{"spec", "active"}, {"status", "phase"}, {"status", "display"}, {"status", "summary"}, {"type"}} {
		if _, found, err := unstructured.NestedFieldNoCopy(content, path...); found || err != nil {
			return false
		}
	}
	return true
}

// upToDate says whether a status is surely that of the present spec.
func upToDate(content map[string]any) bool {
	_, found, err := unstructured.NestedFieldNoCopy(content, "status", "observedGeneration")
	return !found && err == nil
}
