package decode

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// typed are the Go types of the built-in kinds that are read in protobuf, besides
// those of which metadata suffices: whatever there may be many of, or changes often.
var typed = map[schema.GroupVersionKind]any{
	corev1.SchemeGroupVersion.WithKind("Pod"):                            corev1.Pod{},
	corev1.SchemeGroupVersion.WithKind("Node"):                           corev1.Node{},
	corev1.SchemeGroupVersion.WithKind("Namespace"):                      corev1.Namespace{},
	corev1.SchemeGroupVersion.WithKind("PersistentVolume"):               corev1.PersistentVolume{},
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"):          corev1.PersistentVolumeClaim{},
	corev1.SchemeGroupVersion.WithKind("ReplicationController"):          corev1.ReplicationController{},
	corev1.SchemeGroupVersion.WithKind("Service"):                        corev1.Service{},
	appsv1.SchemeGroupVersion.WithKind("Deployment"):                     appsv1.Deployment{},
	appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):                     appsv1.ReplicaSet{},
	appsv1.SchemeGroupVersion.WithKind("StatefulSet"):                    appsv1.StatefulSet{},
	appsv1.SchemeGroupVersion.WithKind("DaemonSet"):                      appsv1.DaemonSet{},
	batchv1.SchemeGroupVersion.WithKind("Job"):                           batchv1.Job{},
	autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"): autoscalingv2.HorizontalPodAutoscaler{},
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"):          policyv1.PodDisruptionBudget{},
}
