package apiserver

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// podState is what a Pod of the benchmark is in.
type podState int

const (
	running podState = iota
	crashLoop
	unschedulable
	creating
	succeeded
	failed
	terminating
	podStates
)

// maxContainers is how many containers a Pod has at most; it has one at least.
const maxContainers = 3

// state returns what a Pod is in: nearly all run.
func (o object) state() podState {
	switch n := o.chance() % 100; {
	case n < 88:
		return running
	case n < 91:
		return crashLoop
	case n < 94:
		return unschedulable
	case n < 96:
		return creating
	case n < 98:
		return succeeded
	case n < 99:
		return failed
	default:
		return terminating
	}
}

func (o object) containers() int { return 1 + int(o.chance()>>32%maxContainers) }

// since is when everything happened: clocks do not matter here.
func since(seconds int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC))
}

// objectMeta is what all objects have, with placeholders in it. The name is as long as
// those of Pods are that Deployments make.
func objectMeta() metav1.ObjectMeta {
	const app = "app-" + appPlace
	yes := true
	return metav1.ObjectMeta{
		Name: app + "-6d4b75c5f-" + serialPlace, GenerateName: app + "-6d4b75c5f-", Namespace: namespacePrefix + namespacePlace,
		UID: "00000000-0000-4000-8000-" + uidPlace, ResourceVersion: versionPlace, Generation: 1, CreationTimestamp: since(0),
		Labels: map[string]string{
			"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "shop", "app.kubernetes.io/version": "1.14.0", "pod-template-hash": "6d4b75c5f",
		},
		Annotations: map[string]string{
			"prometheus.io/scrape": "true", "prometheus.io/port": "9090",
		},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-6d4b75c5f", UID: "00000000-0000-4000-9000-" + ownerPlace, Controller: &yes, BlockOwnerDeletion: &yes,
		}},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &metav1.Time{Time: since(0).Time},
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(managedFields),
		}},
	}
}

const managedFields = `{"f:metadata":{"f:annotations":{".":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/part-of":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"00000000-0000-4000-9000-` + ownerPlace + `\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"POD_NAME\"}":{".":{},"f:name":{},"f:valueFrom":{".":{},"f:fieldRef":{}}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:limits":{".":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{},"f:terminationGracePeriodSeconds":{}}}`

// pod is a Pod with placeholders: 3 to 6 KB of JSON.
func pod(state podState, containers int) *corev1.Pod {
	yes, none := true, int32(0)
	seconds, tolerated, mode := int64(30), int64(300), int32(420)
	p := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: objectMeta(),
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				DefaultMode: &mode,
				Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &[]int64{3607}[0], Path: "token"}},
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
				},
			}}}},
			RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &seconds, DNSPolicy: corev1.DNSClusterFirst,
			ServiceAccountName: "default", SchedulerName: "default-scheduler", Priority: &none, EnableServiceLinks: &yes,
			Tolerations: []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &tolerated}},
		},
	}
	for i := range containers {
		p.Spec.Containers = append(p.Spec.Containers, container(i))
	}
	if state != unschedulable {
		p.Spec.NodeName = "node-" + nodePlace
	}
	if state == terminating {
		at := since(3600)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &seconds
	}
	p.Status = podStatus(state, containers)
	return p
}

func image(i int) string {
	return fmt.Sprintf("registry.example.com/shop/app-%s-%d:1.14.0", appPlace, i)
}

func container(i int) corev1.Container {
	return corev1.Container{
		Name: fmt.Sprintf("c%d", i), Image: image(i), ImagePullPolicy: corev1.PullIfNotPresent,
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		Env: []corev1.EnvVar{
			{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
		},
		Resources: corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "kube-api-access", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}},
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 10, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP},
		}},
		TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
}

func podStatus(state podState, containers int) corev1.PodStatus {
	condition := func(kind corev1.PodConditionType, is corev1.ConditionStatus, reason, message string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: is, Reason: reason, Message: message, LastTransitionTime: since(10)}
	}
	if state == unschedulable {
		return corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable, Conditions: []corev1.PodCondition{
			condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, "0/200 nodes are available: 200 Insufficient cpu."),
		}}
	}
	phase, ready, reason, now, before := containerState(state)
	start := since(0)
	s := corev1.PodStatus{
		Phase: phase, QOSClass: corev1.PodQOSBurstable, HostIP: "10.0.0.1", PodIP: "10.1." + addressPlace, PodIPs: []corev1.PodIP{{IP: "10.1." + addressPlace}}, StartTime: &start,
		Conditions: []corev1.PodCondition{
			condition(corev1.PodInitialized, corev1.ConditionTrue, "", ""), condition(corev1.PodReady, ready, reason, ""),
			condition(corev1.ContainersReady, ready, reason, ""), condition(corev1.PodScheduled, corev1.ConditionTrue, "", ""),
		},
	}
	started := ready == corev1.ConditionTrue
	for i := range containers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name: fmt.Sprintf("c%d", i), State: now, LastTerminationState: before, Ready: started, Started: &started, Image: image(i),
			ImageID:     "registry.example.com/shop/app-" + appPlace + "@sha256:" + strings.Repeat("6", 58) + appPlace,
			ContainerID: fmt.Sprintf("containerd://%s%02d%s", strings.Repeat("c", 56), i, serialPlace),
		})
	}
	return s
}

// containerState returns what a state means for a Pod and each of its containers.
func containerState(state podState) (phase corev1.PodPhase, ready corev1.ConditionStatus, reason string, now, before corev1.ContainerState) {
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	terminated := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: since(5), FinishedAt: since(6)}}
	}
	const notReady = "ContainersNotReady"
	switch state {
	case crashLoop:
		return corev1.PodRunning, corev1.ConditionFalse, notReady, waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"), terminated(1, "Error")
	case creating:
		return corev1.PodPending, corev1.ConditionFalse, notReady, waiting("ContainerCreating", ""), before
	case succeeded:
		return corev1.PodSucceeded, corev1.ConditionFalse, "PodCompleted", terminated(0, "Completed"), before
	case failed:
		return corev1.PodFailed, corev1.ConditionFalse, "PodFailed", terminated(1, "Error"), before
	default:
		return corev1.PodRunning, corev1.ConditionTrue, "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since(9)}}, before
	}
}
