package decode

import "strings"

// values are those that fields have on clusters, by the name of the type and the field, or of
// the field alone, in lower case. They are what API servers, controllers, kubelets and cloud
// providers write.
var values = map[string][]string{
	"podstatus.phase":   {"Pending", "Running", "Succeeded", "Failed", "Unknown"},
	"podstatus.reason":  {"Evicted", "NodeLost", "NodeShutdown", "OutOfcpu", "UnexpectedAdmissionError"},
	"podcondition.type": {"PodScheduled", "Initialized", "ContainersReady", "Ready", "PodReadyToStartContainers", "DisruptionTarget"},
	"podcondition.reason": {
		"Unschedulable", "SchedulingGated", "SchedulerError", "ContainersNotReady", "ContainersNotInitialized", "PodCompleted",
		"PreemptionByScheduler",
	},
	"containerstatewaiting.reason": {
		"ContainerCreating", "PodInitializing", "CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError",
		"CreateContainerError", "InvalidImageName", "ErrImageNeverPull", "RunContainerError", "RegistryUnavailable",
	},
	"containerstateterminated.reason": {"Completed", "Error", "OOMKilled", "ContainerCannotRun", "DeadlineExceeded", "StartError"},
	"nodestatus.phase":                {"Pending", "Running", "Terminated"},
	"nodecondition.type": {
		"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "OutOfDisk", "EtcdIsVoter", "KernelDeadlock",
		"FrequentKubeletRestart",
	},
	"nodecondition.reason": {
		"KubeletReady", "KubeletNotReady", "NodeStatusUnknown", "KubeletHasSufficientMemory", "KubeletHasInsufficientMemory",
		"FlannelIsUp", "NoFrequentKubeletRestart",
	},
	"namespacestatus.phase": {"Active", "Terminating"},
	"namespacecondition.type": {
		"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionContentFailure", "NamespaceContentRemaining",
		"NamespaceFinalizersRemaining",
	},
	"persistentvolumestatus.phase":      {"Pending", "Available", "Bound", "Released", "Failed"},
	"persistentvolumeclaimstatus.phase": {"Pending", "Bound", "Lost"},
	"persistentvolumeclaimcondition.type": {
		"Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError", "ModifyingVolume", "ModifyVolumeError",
	},
	"replicationcontrollercondition.type": {"ReplicaFailure"},
	"deploymentcondition.type":            {"Available", "Progressing", "ReplicaFailure"},
	"deploymentcondition.reason": {
		"MinimumReplicasAvailable", "MinimumReplicasUnavailable", "NewReplicaSetAvailable", "ReplicaSetUpdated",
		"ProgressDeadlineExceeded", "DeploymentPaused", "FailedCreate",
	},
	"replicasetcondition.type":          {"ReplicaFailure", "Terminating"},
	"replicasetcondition.reason":        {"FailedCreate", "FailedDelete"},
	"statefulsetstatus.currentrevision": {"db-1", "db-2"},
	"statefulsetstatus.updaterevision":  {"db-1", "db-2"},
	"statefulsetupdatestrategy.type":    {"RollingUpdate", "OnDelete"},
	"daemonsetupdatestrategy.type":      {"RollingUpdate", "OnDelete"},
	"jobcondition.type":                 {"Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"},
	"jobcondition.reason": {
		"BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "JobSuspended", "CompletionsReached", "Error",
	},
	"horizontalpodautoscalercondition.type": {
		"ScalingActive", "AbleToScale", "ScalingLimited",
	},
	"horizontalpodautoscalercondition.reason": {
		"ScalingDisabled", "ValidMetricFound", "FailedGetResourceMetric", "SucceededGetScale", "FailedGetScale", "DesiredWithinRange",
		"TooManyReplicas",
	},
	"servicespec.type":                        {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"},
	"servicespec.clusterip":                   {"None", "10.96.0.9"},
	"certificatesigningrequestcondition.type": {"Approved", "Denied", "Failed"},
	"flowschemacondition.type":                {"Dangling"},
	"secret.type":                             {"Opaque", "kubernetes.io/tls", "helm.sh/release.v1"},
	"event.type":                              {"Normal", "Warning"},
	"condition.type":                          {"Ready", "DisruptionAllowed", "Paused", "Available"},

	"conditiontype": {
		"Ready", "Available", "Stalled", "Failed", "Degraded", "Updating", "Pending", "Waiting", "Installed", "Reconciled", "Deleting",
		"Paused", "ScalingUp", "RollingOut",
	},
	"servicekind": {"LoadBalancer", "ClusterIP"},
	"phase": {
		"Pending", "Provisioning", "Provisioned", "Running", "Deleting", "Deleted", "Failed", "Unknown", "ScalingUp", "ScalingDown",
		"Succeeded", "Bound", "Ready", "Error", "Active",
	},
	"reason": {
		"Error", "Ready", "NotReady", "Available", "WaitingForInfrastructure", "Provisioning", "Suspended", "ReconcileError",
		"DependencyNotReady", "BuildFailed", "InProgress", "NotPaused", "Paused", "ScalingUp", "InternalError",
	},
	"message": {
		"", "all is well", "1 of 2 completed", "* BootstrapConfigReady: status.initialization.dataSecretCreated is false",
		"* InfrastructureReady: status.initialization.provisioned is false", "* InfrastructureReady:\n  * InstanceReady: 0 of 3 completed",
		"* NodeHealthy: Waiting for machine to report spec.providerID", "* RemoteConnectionProbe: Remote connection not established yet",
		"* ControlPlaneAvailable: no", "* MachineDeployments: deleting", "Drain not completed yet",
	},
}

// plausible returns the values of a field of a type, if they are known.
func plausible(of, field string) []string {
	of, field = strings.ToLower(of), strings.ToLower(field)
	if known := values[of+"."+field]; len(known) > 0 {
		return known
	}
	return values[field]
}
