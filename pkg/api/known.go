package api

import (
	"maps"
	"slices"
	"strings"
)

// settled says whether it is known of each resource if it is counted. Before,
// nobody can say that a name is wrong.
func (s *Server) settled() bool {
	select {
	case <-s.options.Settled:
		return true
	default:
		return false
	}
}

// unknown returns a refusal for the first of some resources that the cluster
// does not serve, and nil where it serves them all. With mayCome, a resource that
// could be installed later is as good as one that is there.
func (s *Server) unknown(resources []string, mayCome bool) error {
	snapshot := s.options.Counter.Snapshot()
	var known map[string]bool // made when it is needed
	for _, name := range resources {
		if snapshot.Resource(name) != nil || !s.settled() || (mayCome && installable(name)) {
			continue
		}
		if known == nil {
			known = s.known()
		}
		if !known[name] {
			hint := didYouMean(name, slices.Sorted(maps.Keys(known)))
			if !mayCome && installable(name) {
				hint += "; /api/v1/watch waits for it to be installed"
			}
			return badRequest("resource %q is not served by this cluster%s", name, hint)
		}
	}
	return nil
}

// installable says whether a custom resource could have the name. Its group has
// a dot, which the built-in "deployments.apps" and "pods" lack: where those are
// not there, the name is wrong.
func installable(name string) bool {
	_, group, _ := strings.Cut(name, ".")
	return strings.Contains(group, ".")
}

// known are the keys of all resources that the cluster serves, counted or not.
func (s *Server) known() map[string]bool {
	known := make(map[string]bool)
	for c := range s.options.Counter.Snapshot().Resources() {
		known[c.Key()] = true
	}
	for _, status := range s.options.Status() {
		known[status.Resource.Key()] = true
	}
	return known
}
