package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/countd/countd/pkg/counts"
)

// sameObjects are resources that serve the objects of another one, which is
// stored once. Discovery does not tell (its storage hash is not in the
// aggregated form), so they are listed.
var sameObjects = map[string]string{
	"events.events.k8s.io": "events",
}

// discovered is what the API server serves at one moment.
type discovered struct {
	// countable are the resources to count, by key.
	countable map[string]counts.Resource
	// excluded are the resources that are left out, by key, with the reason.
	excluded map[string]counts.Status
	// failed are the groups that could not be asked, with the reason. What was
	// known of them stays as it was.
	failed map[string]error
}

// discover asks for everything that can be listed and watched, one version of
// each. It fails only where nothing could be learned at all.
func discover(ctx context.Context, client discovery.DiscoveryInterfaceWithContext, f filter) (discovered, error) {
	lists, err := discovery.ServerPreferredResourcesWithContext(ctx, client)
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return discovered{}, fmt.Errorf("discovering resources: %w", err)
	}
	d := discovered{
		countable: make(map[string]counts.Resource),
		excluded:  make(map[string]counts.Status),
		failed:    make(map[string]error),
	}
	for gv, cause := range failed {
		d.failed[gv.Group] = cause
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // an API server that serves this fails its own group only
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || r.Kind == "" || !slices.Contains(r.Verbs, "list") {
				continue // no objects to count
			}
			resource := counts.Resource{Group: gv.Group, Version: gv.Version, Name: r.Name, Kind: r.Kind, Namespaced: r.Namespaced}
			if slices.Contains(r.Verbs, "watch") {
				d.countable[resource.Key()] = resource
			} else {
				d.excluded[resource.Key()] = counts.Status{
					Resource: resource, Phase: counts.Excluded, Reason: "NotWatchable", Message: "can be listed, but not watched",
				}
			}
		}
	}
	d.exclude(f)
	return d, nil
}

// oftenMany are kinds of which a cluster often holds very many objects. They are
// read last, so that the others are ready within a moment. That is all that
// depends on it: a large kind that is not named here keeps none waiting either.
var oftenMany = map[string]bool{
	"pods":                                   true,
	"events":                                 true,
	"events.events.k8s.io":                   true,
	"secrets":                                true,
	"configmaps":                             true,
	"endpoints":                              true,
	"serviceaccounts":                        true,
	"replicasets.apps":                       true,
	"controllerrevisions.apps":               true,
	"jobs.batch":                             true,
	"leases.coordination.k8s.io":             true,
	"endpointslices.discovery.k8s.io":        true,
	"rolebindings.rbac.authorization.k8s.io": true,
	"certificaterequests.cert-manager.io":    true,
	"ciliumendpoints.cilium.io":              true,
	"ciliumidentities.cilium.io":             true,
	"policyreports.wgpolicyk8s.io":           true,
}

// inOrder returns resources so that what a person looks for first is read first:
// those of the core group, then the others, and last those with many objects.
func inOrder(resources map[string]counts.Resource) []counts.Resource {
	many := func(r counts.Resource) int {
		if oftenMany[r.Key()] {
			return 1
		}
		return 0
	}
	return slices.SortedFunc(maps.Values(resources), func(x, y counts.Resource) int {
		return cmp.Or(cmp.Compare(many(x), many(y)), cmp.Compare(x.Group, y.Group), cmp.Compare(x.Name, y.Name))
	})
}

// exclude moves what is not to be counted out of d.countable.
func (d *discovered) exclude(f filter) {
	for key, r := range d.countable {
		status := counts.Status{Resource: r, Phase: counts.Excluded}
		if same, ok := sameObjects[key]; ok {
			if _, served := d.countable[same]; served && f.wants(same) {
				status.Reason, status.Message = "Duplicate", "serves the same objects as "+same
			}
		}
		if status.Reason == "" && !f.wants(key) {
			status.Reason, status.Message = "Filtered", "left out by the resource filter"
		}
		if status.Reason == "" && f.namespaces != nil && !r.Namespaced {
			status.Reason, status.Message = "ClusterScoped", "in no namespace, and only those in "+strings.Join(f.namespaces, ", ")+" are counted"
		}
		if status.Reason != "" {
			d.excluded[key] = status
		}
	}
	for key := range d.excluded {
		delete(d.countable, key)
	}
}

// filter says which resources are wanted, by patterns over their keys.
type filter struct {
	only, exclude []string
	namespaces    []string // nil: all
}

func newFilter(only, exclude []string) (filter, error) {
	for _, pattern := range slices.Concat(only, exclude) {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return filter{}, fmt.Errorf("resource pattern %q: must be a resource such as pods or deployments.apps, where * stands for any characters", pattern)
		}
	}
	return filter{only: only, exclude: exclude}, nil
}

func (f filter) wants(key string) bool {
	matches := func(pattern string) bool {
		ok, _ := path.Match(pattern, key) // checked by newFilter
		return ok
	}
	if slices.ContainsFunc(f.exclude, matches) {
		return false
	}
	return len(f.only) == 0 || slices.ContainsFunc(f.only, matches)
}
