package workload

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const hostIP = "192.0.2.10" // of RFC 5737, for documentation

// podStatus is what scheduler and kubelet write for a Pod in the state.
func podStatus(s state, now time.Time) corev1.PodStatus {
	began := metav1.NewTime(now)
	condition := func(kind corev1.PodConditionType, ok bool, reason, message string) corev1.PodCondition {
		status := corev1.ConditionFalse
		if ok {
			status = corev1.ConditionTrue
		}
		return corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: began}
	}
	if s == unschedulable {
		return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			condition(corev1.PodScheduled, false, corev1.PodReasonUnschedulable, "0/4 nodes are available: 4 Insufficient memory."),
		}}
	}
	container := corev1.ContainerStatus{Name: "main"}
	status := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &began, HostIP: hostIP}
	reason, message := "ContainersNotReady", "containers with unready status: [main]"
	switch s {
	case creating:
		status.Phase = corev1.PodPending
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	case imagePull:
		status.Phase = corev1.PodPending
		container.State.Waiting = &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: "Back-off pulling image: not found",
		}
	case crashLoop:
		container.RestartCount = 7
		container.State.Waiting = &corev1.ContainerStateWaiting{
			Reason: "CrashLoopBackOff", Message: "back-off 5m0s restarting failed container=main",
		}
		container.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: began}
	case succeeded:
		status.Phase, reason, message = corev1.PodSucceeded, "PodCompleted", ""
		container.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: began}
	case failed:
		status.Phase, reason, message = corev1.PodFailed, "PodFailed", ""
		container.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", FinishedAt: began}
	default: // running, and terminating until the kubelet is done
		container.Ready, reason, message = true, "", ""
		container.State.Running = &corev1.ContainerStateRunning{StartedAt: began}
	}
	status.ContainerStatuses = []corev1.ContainerStatus{container}
	status.Conditions = []corev1.PodCondition{
		condition(corev1.PodScheduled, true, "", ""),
		condition(corev1.PodInitialized, true, "", ""),
		condition(corev1.ContainersReady, container.Ready, reason, message),
		condition(corev1.PodReady, container.Ready, reason, message),
	}
	return status
}

// deploymentStatus is what the controller writes when ready of the wanted Pods are
// ready.
func deploymentStatus(generation int64, wanted, ready int32, now time.Time) appsv1.DeploymentStatus {
	when := metav1.NewTime(now)
	available := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue,
		Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability.",
		LastUpdateTime: when, LastTransitionTime: when,
	}
	progressing := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue,
		Reason: "NewReplicaSetAvailable", Message: "ReplicaSet has successfully progressed.",
		LastUpdateTime: when, LastTransitionTime: when,
	}
	// The controller allows a quarter of the Pods to be unavailable.
	if missing := wanted - ready; missing > wanted/4 {
		available.Status, available.Reason = corev1.ConditionFalse, "MinimumReplicasUnavailable"
		available.Message = "Deployment does not have minimum availability."
		progressing.Reason, progressing.Message = "ReplicaSetUpdated", "ReplicaSet is progressing."
	}
	return appsv1.DeploymentStatus{
		ObservedGeneration:  generation,
		Replicas:            wanted,
		UpdatedReplicas:     wanted,
		ReadyReplicas:       ready,
		AvailableReplicas:   ready,
		UnavailableReplicas: wanted - ready,
		Conditions:          []appsv1.DeploymentCondition{available, progressing},
	}
}

func replicaSetStatus(generation int64, wanted, ready int32) appsv1.ReplicaSetStatus {
	return appsv1.ReplicaSetStatus{
		ObservedGeneration:   generation,
		Replicas:             wanted,
		FullyLabeledReplicas: wanted,
		ReadyReplicas:        ready,
		AvailableReplicas:    ready,
	}
}

// jobStatus is what the controller writes. Validation wants the condition that
// announces an end beside the end, and the start never to change.
func jobStatus(s state, start, now time.Time) batchv1.JobStatus {
	began, ended := metav1.NewTime(start), metav1.NewTime(now)
	status := batchv1.JobStatus{StartTime: &began, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}}
	end := func(reason string, kinds ...batchv1.JobConditionType) {
		for _, kind := range kinds {
			status.Conditions = append(status.Conditions, batchv1.JobCondition{
				Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastProbeTime: ended, LastTransitionTime: ended,
			})
		}
	}
	switch s {
	case succeeded:
		status.Succeeded, status.CompletionTime = 1, &ended
		end(batchv1.JobReasonCompletionsReached, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
	case failed:
		status.Failed = 1
		end(batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailureTarget, batchv1.JobFailed)
	default:
		status.Active = 1
	}
	return status
}

// nodeStatus is what a kubelet writes, and the node controller when it does not.
func nodeStatus(ready corev1.ConditionStatus, now time.Time) corev1.NodeStatus {
	reason := "KubeletReady"
	if ready != corev1.ConditionTrue {
		reason = "NodeStatusUnknown"
	}
	when := metav1.NewTime(now)
	return corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: ready, Reason: reason, LastHeartbeatTime: when, LastTransitionTime: when,
		}},
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: hostIP}},
	}
}

// backupStatus follows the conventions that many operators share.
func backupStatus(s state) map[string]any {
	ready, reason, message := "True", "Finished", ""
	switch s {
	case failed:
		ready, reason, message = "False", "UploadFailed", "the bucket does not exist"
	case running:
		ready, reason = "Unknown", "InProgress"
	}
	return map[string]any{"conditions": []any{map[string]any{
		"type": "Ready", "status": ready, "reason": reason, "message": message,
	}}}
}
