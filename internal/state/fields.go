package state

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// metadataFields are those of any object's metadata that decide its state.
var metadataFields = []string{
	"metadata.deletionTimestamp",
	"metadata.annotations." + conditionsAnnotation,
}

// conditionFields are those of a status with conditions. Of a built-in kind their messages
// and times decide nothing.
var conditionFields = []string{"status.conditions.type", "status.conditions.status", "status.conditions.reason"}

// generationFields say whether a status is that of the present spec.
var generationFields = []string{"metadata.generation", "status.observedGeneration"}

// builtInFields are the fields of each built-in kind, besides metadataFields.
var builtInFields = map[schema.GroupVersionKind][][]string{
	{Version: "v1", Kind: "Pod"}: {conditionFields, {
		"status.phase", "status.initContainerStatuses.state.waiting.reason", "status.containerStatuses.state.waiting.reason",
	}},
	{Version: "v1", Kind: "Node"}:                  {conditionFields, {"status.phase"}},
	{Version: "v1", Kind: "Namespace"}:             {conditionFields, {"status.phase"}},
	{Version: "v1", Kind: "PersistentVolume"}:      {{"status.phase"}},
	{Version: "v1", Kind: "PersistentVolumeClaim"}: {conditionFields, {"status.phase"}},
	{Version: "v1", Kind: "ReplicationController"}: {conditionFields, generationFields},
	{Version: "v1", Kind: "Service"}:               {conditionFields, {"spec.type", "spec.clusterIP", "status.loadBalancer.ingress"}},
	{Group: "apps", Version: "v1", Kind: "Deployment"}: {conditionFields, generationFields, {
		"spec.replicas", "spec.progressDeadlineSeconds", "status.replicas", "status.updatedReplicas", "status.readyReplicas",
		"status.availableReplicas",
	}},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"}: {conditionFields, generationFields, {
		"spec.replicas", "status.replicas", "status.fullyLabeledReplicas", "status.readyReplicas", "status.availableReplicas",
	}},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}: {conditionFields, generationFields, {
		"spec.replicas", "spec.updateStrategy.type", "spec.updateStrategy.rollingUpdate.partition", "status.replicas",
		"status.readyReplicas", "status.currentReplicas", "status.updatedReplicas", "status.currentRevision", "status.updateRevision",
	}},
	{Group: "apps", Version: "v1", Kind: "DaemonSet"}: {conditionFields, generationFields, {
		"status.desiredNumberScheduled", "status.currentNumberScheduled", "status.updatedNumberScheduled", "status.numberAvailable",
		"status.numberReady",
	}},
	{Group: "batch", Version: "v1", Kind: "Job"}:                                               {conditionFields, {"status.startTime"}},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}:                     {conditionFields, generationFields},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}:                              {conditionFields, generationFields},
	{Group: "networking.k8s.io", Version: "v1", Kind: "ServiceCIDR"}:                           {conditionFields},
	{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}:           {conditionFields},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "FlowSchema"}:                 {conditionFields},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "PriorityLevelConfiguration"}: {conditionFields},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"}:  {conditionFields, generationFields},

	// Of the following nothing but metadata decides it, for all that some have a status.
	{Version: "v1", Kind: "ConfigMap"}:                                                               nil,
	{Version: "v1", Kind: "Endpoints"}:                                                               nil,
	{Version: "v1", Kind: "Event"}:                                                                   nil,
	{Version: "v1", Kind: "LimitRange"}:                                                              nil,
	{Version: "v1", Kind: "PodTemplate"}:                                                             nil,
	{Version: "v1", Kind: "ResourceQuota"}:                                                           nil,
	{Version: "v1", Kind: "Secret"}:                                                                  nil,
	{Version: "v1", Kind: "ServiceAccount"}:                                                          nil,
	{Group: "apps", Version: "v1", Kind: "ControllerRevision"}:                                       nil,
	{Group: "batch", Version: "v1", Kind: "CronJob"}:                                                 nil,
	{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}:                                     nil,
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}:                                nil,
	{Group: "events.k8s.io", Version: "v1", Kind: "Event"}:                                           nil,
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}:                                     nil,
	{Group: "networking.k8s.io", Version: "v1", Kind: "IngressClass"}:                                nil,
	{Group: "networking.k8s.io", Version: "v1", Kind: "IPAddress"}:                                   nil,
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}:                               nil,
	{Group: "node.k8s.io", Version: "v1", Kind: "RuntimeClass"}:                                      nil,
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}:                         nil,
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"}:                  nil,
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}:                                nil,
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}:                         nil,
	{Group: "resource.k8s.io", Version: "v1", Kind: "DeviceClass"}:                                   nil,
	{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}:                                 nil,
	{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaimTemplate"}:                         nil,
	{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceSlice"}:                                 nil,
	{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}:                               nil,
	{Group: "storage.k8s.io", Version: "v1", Kind: "CSIDriver"}:                                      nil,
	{Group: "storage.k8s.io", Version: "v1", Kind: "CSINode"}:                                        nil,
	{Group: "storage.k8s.io", Version: "v1", Kind: "CSIStorageCapacity"}:                             nil,
	{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}:                                   nil,
	{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"}:                               nil,
	{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttributesClass"}:                          nil,
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}:     nil,
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"}: nil,
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}:   nil,
}

// customFields are the fields of all other kinds.
var customFields = []string{
	"type", // Rancher's own APIs: wrangler does not ask kstatus of them
	"metadata.deletionTimestamp", "metadata.annotations." + conditionsAnnotation, "metadata.generation",
	"metadata.created", "metadata.removed", "metadata.finalizers", "spec.finalizers",
	"spec.active",
	"spec.type", "spec.serviceKind", "status.loadBalancer.ingress", // any kind that is called Service
	"spec.replicas", "status.replicas", "status.readyReplicas", "status.workers.desiredReplicas", "status.workers.replicas",
	"status.workers.readyReplicas", // Cluster API
	"status.conditions.type", "status.conditions.status", "status.conditions.reason", "status.conditions.message",
	"status.conditions.lastTransitionTime", "status.conditions.lastUpdateTime",
	"status.phase", "status.observedGeneration", "status.display", "status.summary",
}

// builtIn says whether a kind is one that is known field by field. Of these no state
// depends on the clock.
func builtIn(gvk schema.GroupVersionKind) bool {
	_, ok := builtInFields[gvk]
	return ok
}

// Fields returns the fields that decide the state of an object of a built-in kind, as paths
// of JSON names in which lists are as if they were not there: "status.conditions.type".
// What follows "metadata.annotations." is the key of one, with its dots and slashes. Of a
// field that is an object, or a list of objects, only whether it is there, and how many
// are in it, matters. Of other kinds Fields returns nil: see [CustomFields].
//
// The readings of two objects of the kind whose fields have the same values are the same,
// in all their moments. Fields that Kubernetes would not serve are not among them,
// so this holds of objects as an API server sends them. Nor is the type of a Secret or of
// an Event: wrangler takes one whose type begins with a slash for an object of Rancher's own APIs,
// and then does not say that it is being removed.
func Fields(gvk schema.GroupVersionKind) []string {
	fields, ok := builtInFields[gvk]
	if !ok {
		return nil
	}
	return slices.Concat(append([][]string{metadataFields}, fields...)...)
}

// CustomFields returns the fields that decide the state of an object of any kind of which
// Fields knows none, in the same form; but each with all that is in it, and whatever
// type it has: where a path meets neither an object nor a list, what is there matters.
//
// Wrangler reads more fields of workloads in API groups that Kubernetes stopped to serve with
// 1.16 (extensions, apps/v1beta1); these would be read wrongly.
func CustomFields() []string { return slices.Clone(customFields) }

// MetadataSuffices says whether nothing but its metadata decides the state of an object
// of a built-in kind.
func MetadataSuffices(gvk schema.GroupVersionKind) bool {
	fields, ok := builtInFields[gvk]
	return ok && len(fields) == 0
}
