package cluster

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/countd/countd/internal/wire"
	"github.com/countd/countd/pkg/counts"
)

// metadataFields are the fields of an object's metadata that decide its state.
var metadataFields = []string{"metadata.deletionTimestamp", "metadata.annotations." + conditionsAnnotation}

// statusFields are those that decide it for any built-in kind that has a status
// with conditions, besides metadataFields.
var statusFields = []string{
	"metadata.generation", "status.conditions.type", "status.conditions.status", "status.conditions.reason",
}

// partly are built-in resources that change often and whose state is decided by a few
// fields: they are read in protobuf, of which all other fields are skipped.
// TestPartSaysTheSame holds the fields against whole objects. Each has its version: of
// another one, or of a group that an aggregated API serves, objects are read whole.
var partly = map[string]struct {
	version string
	object  any
	fields  []string
}{
	"pods": {"v1", corev1.Pod{}, []string{
		"status.phase", "status.observedGeneration",
	}},
	"nodes": {"v1", corev1.Node{}, []string{
		"status.phase",
	}},
	"deployments.apps": {"v1", appsv1.Deployment{}, []string{
		"spec.replicas", "spec.progressDeadlineSeconds", "status.observedGeneration", "status.replicas", "status.updatedReplicas",
		"status.readyReplicas", "status.availableReplicas",
	}},
	"replicasets.apps": {"v1", appsv1.ReplicaSet{}, []string{
		"spec.replicas", "status.observedGeneration", "status.replicas", "status.fullyLabeledReplicas", "status.readyReplicas",
		"status.availableReplicas",
	}},
	"statefulsets.apps": {"v1", appsv1.StatefulSet{}, []string{
		"spec.replicas", "spec.updateStrategy.type", "spec.updateStrategy.rollingUpdate.partition", "status.observedGeneration",
		"status.replicas", "status.readyReplicas", "status.currentReplicas", "status.updatedReplicas", "status.currentRevision",
		"status.updateRevision",
	}},
	"daemonsets.apps": {"v1", appsv1.DaemonSet{}, []string{
		"status.observedGeneration", "status.desiredNumberScheduled", "status.currentNumberScheduled", "status.updatedNumberScheduled",
		"status.numberAvailable", "status.numberReady",
	}},
	"jobs.batch": {"v1", batchv1.Job{}, []string{
		"status.startTime",
	}},
}

// schemaOf returns how the objects of a resource are read from protobuf, or nil
// where they are read whole.
func schemaOf(r counts.Resource) (*wire.Schema, error) {
	if metadataSuffices[r.Key()] {
		return wire.New(metav1.PartialObjectMetadata{}, metadataFields...)
	}
	if p, ok := partly[r.Key()]; ok && p.version == r.Version {
		schema, err := wire.New(p.object, slices.Concat(p.fields, statusFields, metadataFields)...)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", r.Key(), err)
		}
		return schema, nil
	}
	return nil, nil //nolint:nilnil // said above
}
