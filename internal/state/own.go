package state

import (
	"strings"
	"time"

	"github.com/countd/countd/pkg/counts"
)

// terminating is any object that is being deleted, whatever else it says: wrangler lets
// a Pod that runs, and a Namespace that is going, look at rest.
const terminating = "terminating"

// core is the group of Kubernetes' first kinds.
const core = ""

// failures are conditions that, when True, say that the object has failed, with the word
// for it. Degraded is not among wrangler's.
var failures = map[string]string{
	"Stalled":  "stalled",
	"Failed":   "failed",
	"Degraded": "degraded",
}

// own is countd's own reading, given wrangler's at the same moment.
func (o object) own(steve counts.State, now time.Time) counts.State {
	if text(o.content, "metadata", "deletionTimestamp") != "" {
		return counts.State{Word: terminating, Transitioning: true}
	}
	var state counts.State
	switch o.gvk.GroupKind().String() {
	case "Pod":
		state = o.pod()
	case "Node":
		state = o.node(steve)
	case "PersistentVolume", "PersistentVolumeClaim":
		state = o.volume(steve)
	case "Job.batch":
		state = o.job(steve)
	case "HorizontalPodAutoscaler.autoscaling":
		state = o.autoscaler(steve)
	default:
		if !builtIn(o.gvk) {
			return o.custom(steve, now)
		}
		state = steve
	}
	if word := o.failure(); word != "" && !state.Error {
		return counts.State{Word: word, Error: true}
	}
	return state
}

// moments are those at which countd's own reading may change, besides those of
// wrangler's clock.
func (o object) moments() []time.Time {
	if builtIn(o.gvk) {
		return nil
	}
	if _, at, ever := o.firstFailure(); ever {
		return []time.Time{at}
	}
	return nil
}

// failure returns the word of the first condition that says that the object has failed.
func (o object) failure() string {
	for _, c := range o.conditions {
		if word := failures[c.kind]; word != "" && c.status == "True" {
			return word
		}
	}
	return ""
}

func lower(word string) string { return strings.ToLower(strings.TrimSpace(word)) }
