package cluster

import (
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/summary"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/countd/countd/pkg/counts"
)

// metadataSuffices are the built-in resources of whose objects wrangler's
// summary reads nothing but metadata, because they have no status, or none that
// it looks at. They are watched as PartialObjectMetadata: the contents of a
// Secret never enter the process. TestMetadataSaysTheSame holds the list against
// whole objects.
var metadataSuffices = map[string]bool{
	"configmaps":                                    true,
	"endpoints":                                     true,
	"events":                                        true,
	"limitranges":                                   true,
	"podtemplates":                                  true,
	"resourcequotas":                                true,
	"secrets":                                       true,
	"serviceaccounts":                               true,
	"leases.coordination.k8s.io":                    true,
	"endpointslices.discovery.k8s.io":               true,
	"events.events.k8s.io":                          true,
	"controllerrevisions.apps":                      true,
	"ingressclasses.networking.k8s.io":              true,
	"ipaddresses.networking.k8s.io":                 true,
	"networkpolicies.networking.k8s.io":             true,
	"runtimeclasses.node.k8s.io":                    true,
	"priorityclasses.scheduling.k8s.io":             true,
	"csidrivers.storage.k8s.io":                     true,
	"csinodes.storage.k8s.io":                       true,
	"csistoragecapacities.storage.k8s.io":           true,
	"storageclasses.storage.k8s.io":                 true,
	"volumeattributesclasses.storage.k8s.io":        true,
	"clusterrolebindings.rbac.authorization.k8s.io": true,
	"clusterroles.rbac.authorization.k8s.io":        true,
	"rolebindings.rbac.authorization.k8s.io":        true,
	"roles.rbac.authorization.k8s.io":               true,
	"mutatingwebhookconfigurations.admissionregistration.k8s.io":     true,
	"validatingadmissionpolicybindings.admissionregistration.k8s.io": true,
	"validatingwebhookconfigurations.admissionregistration.k8s.io":   true,
}

// conditionsAnnotation may hold conditions that wrangler reads like those of a
// status.
const conditionsAnnotation = "cattle.io/status"

// stateOf returns what wrangler says of an object, whole or metadata alone. The
// API version and kind are those of the resource: objects of typed clients and
// of metadata lists do not say theirs.
func stateOf(obj runtime.Object, gvk schema.GroupVersionKind) (counts.State, error) {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		return summarize(o), nil
	case *metav1.PartialObjectMetadata:
		if o.DeletionTimestamp == nil && o.Annotations[conditionsAnnotation] == "" {
			return counts.State{}, nil // nothing else of metadata makes a state
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return counts.State{}, fmt.Errorf("converting %T: %w", obj, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	return summarize(u), nil
}

func summarize(u *unstructured.Unstructured) counts.State {
	s := summary.Summarize(u)
	if s.State == "active" {
		s.State = ""
	}
	return counts.State{Word: s.State, Error: s.Error, Transitioning: s.Transitioning}
}
