package workload

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// node says that it is well, again and again; seldom it is not. A third of them have the
// conditions of a problem detector besides the kubelet's.
type node struct {
	corev1.Node
	well []corev1.NodeCondition
}

func newNode(r *rand.Rand, n int) life {
	o := &node{Node: corev1.Node{ObjectMeta: metaOf(r, "Node", n)}}
	o.Namespace = ""
	o.Spec.ProviderID = "example:///zone/" + o.Name
	o.Status = corev1.NodeStatus{
		Capacity:    corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")},
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("15"), corev1.ResourceMemory: resource.MustParse("60Gi"), corev1.ResourcePods: resource.MustParse("110")},
		Addresses:   []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeHostName, Address: o.Name}},
		NodeInfo:    corev1.NodeSystemInfo{KernelVersion: "6.1.0", OSImage: "Linux", ContainerRuntimeVersion: "containerd://2.0.0", KubeletVersion: "v1.37.2", Architecture: "amd64"},
	}
	for i := range 20 {
		o.Status.Images = append(o.Status.Images, corev1.ContainerImage{SizeBytes: 1 << 26, Names: []string{fmt.Sprintf("registry.example.com/shop/app-%d:1.14.0", i), fmt.Sprintf("registry.example.com/shop/app-%d@sha256:%064d", i, i)}})
	}
	add := func(kind, status, reason string) {
		o.well = append(o.well, corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status), Reason: reason, LastHeartbeatTime: since(), LastTransitionTime: since()})
	}
	add("NetworkUnavailable", "False", "RouteCreated")
	add("MemoryPressure", "False", "KubeletHasSufficientMemory")
	add("DiskPressure", "False", "KubeletHasNoDiskPressure")
	add("PIDPressure", "False", "KubeletHasSufficientPID")
	add("Ready", "True", "KubeletReady")
	if n%3 == 0 {
		for _, problem := range []string{"KernelDeadlock", "ReadonlyFilesystem", "FrequentKubeletRestart", "FrequentContainerdRestart", "CorruptDockerOverlay2"} {
			add(problem, "False", "No"+problem)
		}
	}
	return o
}

func (o *node) next(r *rand.Rand) Message {
	o.Status.Conditions = append(o.Status.Conditions[:0], o.well...)
	switch chance := r.IntN(100); {
	case chance < 1:
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].Status, o.Status.Conditions[i].Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
		}
	case chance < 2:
		o.Status.Conditions[1].Status, o.Status.Conditions[1].Reason = corev1.ConditionTrue, "KubeletHasInsufficientMemory"
	}
	return &o.Node
}
