package cluster

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// BenchmarkDecode is what a Pod of usual size costs, from protobuf to its state:
// typed decoding alone, which is what any typed informer pays, and ours with the
// state, remembered and not.
func BenchmarkDecode(b *testing.B) {
	raw, err := usualPod(0).Marshal()
	must(b, err)
	fields, err := schemaOf(podsResource)
	must(b, err)
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	b.Run(fmt.Sprintf("typed-%d-bytes", len(raw)), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(b, new(corev1.Pod).Unmarshal(raw))
		}
	})
	b.Run("partial", func(b *testing.B) {
		d := newPartialDecoder(fields, gvk)
		b.ReportAllocs()
		for b.Loop() {
			_, err := d.object(raw)
			must(b, err)
		}
	})
	b.Run("partial-not-remembered", func(b *testing.B) {
		d := newPartialDecoder(fields, gvk)
		b.ReportAllocs()
		for b.Loop() {
			clear(d.states)
			_, err := d.object(raw)
			must(b, err)
		}
	})
}

// BenchmarkInformed is what the state of a typed Pod costs that an informer holds:
// as wrangler reads it, and as CountInformer does.
func BenchmarkInformed(b *testing.B) {
	pod := usualPod(0)
	ir, err := newInformedReader(podsResource)
	must(b, err)
	b.Run("wrangler", func(b *testing.B) {
		for b.Loop() {
			_, err := stateOf(pod, ir.gvk)
			must(b, err)
		}
	})
	b.Run("encoded", func(b *testing.B) {
		for b.Loop() {
			_, err := ir.state(pod)
			must(b, err)
		}
	})
}

func usualPod(n int) *corev1.Pod {
	var env []corev1.EnvVar
	for i := range 20 {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: strings.Repeat("v", 30)})
	}
	container := func(name string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example.com/team/" + name + ":1.2.3", Env: env,
			VolumeMounts: []corev1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
		}
	}
	status := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: name, Ready: true, Image: "registry.example.com/team/" + name + ":1.2.3", ContainerID: "containerd://" + strings.Repeat("a", 64),
			ImageID: strings.Repeat("b", 100), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(1.7e9, 0)}},
		}
	}
	fields := func(name string) *metav1.FieldsV1 {
		return metav1.NewFieldsV1("{" + strings.TrimSuffix(strings.Repeat(`"`+name+`":{},`, 60), ",") + "}")
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("app-6d4b75c5f-%05d", n), Namespace: "team-7", ResourceVersion: "123456789", UID: "3f1c2a52-0b6e-4f0e-9d6b-1f2e3d4c5b6a",
			Labels:            map[string]string{"app": "app", "pod-template-hash": "6d4b75c5f", "team": "seven"},
			CreationTimestamp: metav1.Unix(1.7e9, 0),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "app-6d4b75c5f"}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kube-controller-manager", FieldsV1: fields("f:metadata")},
				{Manager: "kubelet", FieldsV1: fields("f:status")},
			},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{container("app"), container("proxy")}, NodeName: "node-12"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.1.2.3", HostIP: "10.0.0.12",
			ContainerStatuses: []corev1.ContainerStatus{status("app"), status("proxy")},
		},
	}
	for _, t := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: t, Status: "True", LastTransitionTime: metav1.Unix(1.7e9, 0)})
	}
	return pod
}
