package state

import (
	"github.com/countd/countd/pkg/counts"
)

// pod reads a Pod. Wrangler goes by its conditions, which say "not ready" of one that
// crashes in a loop as of one that starts.
func (o object) pod() counts.State {
	phase := text(o.content, "status", "phase")
	switch phase {
	case "Failed":
		return counts.State{Word: "failed", Error: true} // evicted ones too: status.reason says so
	case "Succeeded":
		// Its conditions are those of a Pod that is not ready, with the reason
		// PodCompleted.
		return counts.State{Word: "succeeded"}
	}
	if reason := o.waiting(); reason != "" {
		return counts.State{Word: lower(reason), Error: true}
	}
	if c := o.condition("PodScheduled"); c.status == "False" {
		return unscheduled(c)
	}
	if o.condition("Initialized").status == "False" {
		return counts.State{Word: "initializing", Transitioning: true}
	}
	switch phase {
	case "Pending", "":
		return counts.State{Word: "pending", Transitioning: true}
	case "Running":
		switch c := o.condition("Ready"); c.status {
		case "False", "Unknown":
			// Also where one container has completed and others go on, as kubectl has it.
			return counts.State{Word: "not-ready", Transitioning: true}
		}
	case "Unknown": // its node cannot be asked
		return counts.State{Word: "unknown", Error: true}
	}
	return counts.State{Word: lower(phase)}
}

// unscheduled reads the condition of a Pod that has no node.
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/staging/src/k8s.io/api/core/v1/types.go (PodReason…)
func unscheduled(c condition) counts.State {
	switch {
	case c.reason == "Unschedulable":
		return counts.State{Word: "unschedulable", Error: true}
	case c.reason == "SchedulingGated":
		// Somebody holds it back on purpose, for instance a queue of batch jobs.
		return counts.State{Word: "schedulinggated", Transitioning: true}
	case saysFailure(c.reason): // SchedulerError
		return counts.State{Word: lower(c.reason), Error: true}
	}
	return counts.State{Word: "scheduling", Transitioning: true}
}

// waiting returns why a container of a Pod cannot start, if one cannot. The containers
// that run first come first. Ephemeral ones are somebody's debugging, not the Pod's work.
func (o object) waiting() string {
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, c := range list(o.content, "status", field) {
			if reason := text(c, "state", "waiting", "reason"); cannotStart(reason) {
				return reason
			}
		}
	}
	return ""
}

// startErrors are the reasons why a kubelet cannot start a container that do not say
// by their words that something failed.
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/kubelet/images/types.go
var startErrors = map[string]bool{
	"RegistryUnavailable": true,
}

// cannotStart says whether a container waits because of a failure. Of the kubelet's
// reasons all but ContainerCreating and PodInitializing are one; but kubelets that are not
// Kubernetes' own have others, so it goes by what a reason says: CrashLoopBackOff,
// ErrImagePull, InvalidImageName, CreateContainerConfigError, SignatureValidationFailed …
func cannotStart(reason string) bool {
	return startErrors[reason] || saysFailure(reason)
}
