package state

import (
	"slices"
	"time"

	"github.com/rancher/wrangler/v3/pkg/summary"

	"github.com/countd/countd/pkg/counts"
)

// patience is how long a custom resource may say that it is not ready before that is
// an error. Kubernetes' own answer to the same question is ten minutes: the default of a
// Deployment's progressDeadlineSeconds.
// https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#progress-deadline-seconds
const patience = 10 * time.Minute

// readiness are the conditions that are False while an object does not do its work,
// with wrangler's word for that.
var readiness = map[string]string{
	"Ready":     "unavailable",
	"Available": "updating",
}

// rests are conditions that are False when nothing is going on. Wrangler's table of
// conditions whose False is an error has them among others such as Installed.
var rests = map[string]bool{
	"Inactive": true,
	"Pending":  true,
	"Updating": true,
	"Waiting":  true,
}

// settled are phases after which it does not matter whether the object is ready, for
// instance of a virtual machine that was shut down. Wrangler has them so, too.
var settled = map[string]bool{
	"Succeeded": true,
	"Bound":     true,
}

// reasonWord in wrangler's table stands for the reason of the condition.
const reasonWord = "%REASON%"

// custom reads a resource of which nothing is known but conventions. Wrangler says of
// Ready=False that it is in progress, for ever; of Ready=Unknown, and of a dozen
// conditions such as Installed=False, that it is an error, at once. But a controller
// that has not come to an object yet, or that waits for another one, says just that;
// and one that has given up says it as well. So a condition that is doubtful (see doubts)
// is
//
//   - an error at once where its reason says failure ([saysFailure]: BuildFailed,
//     InvalidSpec, QuotaExceeded);
//   - no error, ever, where its reason says that somebody wants it so ([onPurpose]:
//     Suspended);
//   - otherwise in progress, and an error once it has been so for the time of patience. Where
//     it does not say since when, that never comes: an age that is guessed is an alarm
//     that is guessed.
//
// An Unknown one is in progress as long as it is unknown: nobody says that it failed.
// All else is wrangler's.
func (o object) custom(steve counts.State, now time.Time) counts.State {
	if !o.clock.stuck.IsZero() {
		return steve // it is being removed
	}
	if o.gvk.Group == "operation.cattle.io" { // its conditions are phases, which wrangler knows
		if word := o.failure(); word != "" && !steve.Error {
			return counts.State{Word: word, Error: true}
		}
		return steve
	}
	rest := steve // what wrangler says of all but the doubts
	if content := o.without(o.misread); len(o.conditions) > 0 {
		rest = summarize(o.clock.content(content, now))
	}
	phase := text(o.content, "status", "phase")
	rest.Error = rest.Error || saysFailure(phase) && rest.Word == lower(phase)
	said := o.saysState()
	if word := o.failure(); word != "" {
		if said {
			rest.Error = true
			return rest
		}
		return counts.State{Word: word, Error: true}
	}
	if rest.Error || said || settled[phase] {
		return rest
	}
	if c, at, ever := o.firstFailure(); ever && !at.After(now) {
		return counts.State{Word: c.failedWord(), Error: true}
	}
	if rest.Transitioning {
		return rest
	}
	for _, c := range o.conditions {
		if !o.doubts(c) {
			continue
		}
		word := onPurpose(c.reason)
		if word == "" {
			return counts.State{Word: c.word(), Transitioning: true}
		}
		if rest.Word == "" {
			rest.Word = word
		}
	}
	return rest
}

// doubts says whether a condition says that the object is not what it should be.
func (o object) doubts(c condition) bool {
	if readiness[c.kind] != "" {
		return c.status == "False" || c.status == "Unknown"
	}
	// In Rancher's own APIs, Unknown is in progress and False is an error, as
	// wrangler has it.
	_, known := summary.TransitioningUnknown[c.kind]
	return known && !rests[c.kind] && !o.isRancher() && c.status == "False"
}

// misread says whether a condition is one that wrangler must not judge. One with the
// reason Error is an error, whatever it is: that is how Rancher's controllers say so. Of
// Cluster API's kinds it reads all of them well, but for a Cluster that may be available.
func (o object) misread(c condition) bool {
	if o.isClusterAPI() {
		return c.kind == "Available" && c.status == "Unknown"
	}
	return o.doubts(c) || rests[c.kind] && c.status == "False" && c.reason != "Error"
}

// firstFailure returns which of the conditions that doubt the object is an error first,
// or has been so for longest, and since when; it may be that none ever is. As only the
// first one counts, a state changes once because of them, however many there are.
func (o object) firstFailure() (first condition, at time.Time, ever bool) {
	for _, c := range o.conditions {
		if !o.doubts(c) || c.status != "False" {
			continue
		}
		var from time.Time // always
		if !saysFailure(c.reason) {
			if c.since.IsZero() || onPurpose(c.reason) != "" {
				continue
			}
			from = c.since.Add(patience)
		}
		if !ever || from.Before(at) {
			first, at, ever = c, from, true
		}
	}
	return first, at, ever
}

// word is that of an object which a condition doubts.
func (c condition) word() string {
	switch word := readiness[c.kind]; {
	case word != "" && c.status == "Unknown":
		return "unknown"
	case word != "":
		return word
	}
	if word := summary.TransitioningUnknown[c.kind]; word != reasonWord {
		return word
	}
	return lower(c.reason)
}

// failedWord is its word once that is an error.
func (c condition) failedWord() string {
	if readiness[c.kind] != "" {
		return readiness["Ready"]
	}
	return c.word()
}

// saysState says whether the object names its state itself, for wrangler to take as it is.
func (o object) saysState() bool {
	for _, field := range []string{"display", "summary"} {
		status, _ := o.content["status"].(map[string]any)
		if said, _ := status[field].(map[string]any); len(said) > 0 {
			return text(said, "state") != ""
		}
	}
	return false
}

// isClusterAPI says whether wrangler has rules for the very kind, by which it reads its
// conditions with all their messages.
func (o object) isClusterAPI() bool {
	return o.gvk.Group == "cluster.x-k8s.io" &&
		slices.Contains([]string{"Cluster", "Machine", "MachineDeployment", "MachineSet"}, o.gvk.Kind)
}
