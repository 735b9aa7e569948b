package workload

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kinds returns the ten kinds that change often.
func Kinds() []Kind {
	return []Kind{
		{corev1.SchemeGroupVersion.WithKind("Pod"), func() Message { return new(corev1.Pod) }, newPod, renew},
		{corev1.SchemeGroupVersion.WithKind("Node"), func() Message { return new(corev1.Node) }, newNode, renew},
		{appsv1.SchemeGroupVersion.WithKind("Deployment"), func() Message { return new(appsv1.Deployment) }, newDeployment, renew},
		{appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), func() Message { return new(appsv1.ReplicaSet) }, newReplicaSet, renew},
		{appsv1.SchemeGroupVersion.WithKind("StatefulSet"), func() Message { return new(appsv1.StatefulSet) }, newStatefulSet, renew},
		{appsv1.SchemeGroupVersion.WithKind("DaemonSet"), func() Message { return new(appsv1.DaemonSet) }, newDaemonSet, renew},
		{batchv1.SchemeGroupVersion.WithKind("Job"), func() Message { return new(batchv1.Job) }, newJob, renew},
		{discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), partial, newEndpointSlice, nil},
		{corev1.SchemeGroupVersion.WithKind("Event"), partial, newEvent, nil},
		{coordinationv1.SchemeGroupVersion.WithKind("Lease"), partial, newLease, nil},
	}
}

func partial() Message { return new(metav1.PartialObjectMetadata) }

// renew gives an object a value that no other has: a condition of a type of its own, or a
// generation.
func renew(m Message, n int) {
	custom := fmt.Sprintf("example.com/%06d", n)
	generation := int64(1000 + n)
	behind := m.GetGeneration()
	m.SetGeneration(generation)
	switch o := m.(type) {
	case *corev1.Pod:
		o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(custom), Status: corev1.ConditionTrue})
	case *corev1.Node:
		o.Status.Conditions = append(o.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(custom), Status: corev1.ConditionTrue})
	case *batchv1.Job:
		o.Status.Conditions = append(o.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobConditionType(custom), Status: corev1.ConditionTrue})
	case *appsv1.Deployment:
		o.Status.ObservedGeneration += generation - behind
	case *appsv1.ReplicaSet:
		o.Status.ObservedGeneration += generation - behind
	case *appsv1.StatefulSet:
		o.Status.ObservedGeneration += generation - behind
	case *appsv1.DaemonSet:
		o.Status.ObservedGeneration += generation - behind
	}
}
