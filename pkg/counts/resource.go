package counts

import (
	"strings"
	"time"
)

// Resource names a kind of object as the API server serves it.
type Resource struct {
	Group   string // empty for the core group
	Version string // the version that it is read in
	Name    string // plural: "deployments"
	Kind    string // "Deployment"
	// Namespaced is false for cluster-scoped resources; the namespaces of
	// their objects are ignored.
	Namespaced bool
}

// Key is Kubernetes' own name for the resource, without its version: "pods",
// "deployments.apps". Two resources with the same key are the same.
func (r Resource) Key() string {
	if r.Group == "" {
		return r.Name
	}
	return r.Name + "." + r.Group
}

// SchemaID is the name that steve and the Rancher dashboard have for the
// resource: "pod", "apps.deployment".
func (r Resource) SchemaID() string {
	kind := strings.ToLower(r.Kind)
	if r.Group == "" {
		return kind
	}
	return r.Group + "." + kind
}

// State is what an object is in. The zero State is that of an object with
// nothing to say.
type State struct {
	// Word is the state in one word: "running", "crashloopbackoff". Empty and
	// "active" mean the same. Words come from objects, so they are bounded:
	// see [MaxWords].
	Word string
	// Error and Transitioning may both be set.
	Error, Transitioning bool
}

// Object is what is known of one object. Nothing else of it is kept.
type Object struct {
	Namespace, Name string
	State           State
	// Steve is the state in the reading of Rancher's steve, where it is another
	// than State; nil: the same. Of it only Error and Transitioning count, which is
	// all that steve shows. It is read, never kept.
	Steve *State
}

// Reading is a way to read the states of objects.
type Reading uint8

const (
	// Own is countd's own reading, with all state words.
	Own Reading = iota
	// Steve is that of Rancher's steve, which has two: error and in-progress.
	Steve

	readings = 2
)

// Phase says how far a resource has come to being counted.
type Phase string

// The phases of a resource. Only a Ready one has counts that follow the
// cluster; one that had been ready keeps its last counts while it is listed anew
// or fails, and they are then stale since Status.Since.
const (
	Syncing   Phase = "syncing"
	Ready     Phase = "ready"
	Forbidden Phase = "forbidden"
	Failing   Phase = "failing"
	Excluded  Phase = "excluded"
)

// Status says whether a resource is counted and if not, why not.
type Status struct {
	Resource Resource
	Phase    Phase
	// Since is when the phase began.
	Since time.Time
	// Counted says that there is a count in the snapshot, stale or not.
	Counted bool
	// Read is the number of objects read so far by a list that is under way.
	Read int
	// Reason is one word in the manner of Kubernetes' reasons, and Message a
	// sentence; both are empty when there is nothing to say.
	Reason, Message string
	// Rounds, Restarts and Errors are how often, since the start, the resource
	// was read as a whole, its watch was taken up again, and either failed.
	Rounds, Restarts, Errors uint64
	// Note says what is unusual although the resource is counted, for instance
	// that its streaming list did not end and pages are used.
	Note string
}
