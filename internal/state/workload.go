package state

import (
	"github.com/countd/countd/pkg/counts"
)

// job reads a Job, of which wrangler says nothing while it runs.
func (o object) job(steve counts.State) counts.State {
	switch {
	case o.condition("Failed").status == "True":
		return counts.State{Word: "failed", Error: true}
	case o.condition("Complete").status == "True":
		return counts.State{Word: "complete"}
	case steve.Error:
		return steve
	case o.condition("Suspended").status == "True":
		return counts.State{Word: "suspended"} // somebody wants it so
	case text(o.content, "status", "startTime") == "":
		return steve // in progress: no controller has seen it
	}
	return counts.State{Word: "running", Transitioning: true}
}

// autoscaler reads a HorizontalPodAutoscaler. One whose target has 0 replicas rests: the
// reason of its condition that is not True is then ScalingDisabled.
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/controller/podautoscaler/horizontal.go
func (o object) autoscaler(steve counts.State) counts.State {
	disabled := func(c condition) bool {
		return c.kind == "ScalingActive" && c.status == "False" && c.reason == "ScalingDisabled"
	}
	if !disabled(o.condition("ScalingActive")) {
		return steve
	}
	if others := summarize(o.without(disabled)); others != (counts.State{}) {
		return others
	}
	return counts.State{Word: "disabled"}
}

// volume reads a PersistentVolume or a PersistentVolumeClaim, whose phases wrangler takes
// for words that mean no more.
func (o object) volume(steve counts.State) counts.State {
	switch phase := text(o.content, "status", "phase"); phase {
	case "Pending":
		return counts.State{Word: lower(phase), Transitioning: true}
	case "Lost", "Failed":
		return counts.State{Word: lower(phase), Error: true}
	}
	return steve
}
