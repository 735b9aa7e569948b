package decode

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/countd/countd/internal/state"
)

// BenchmarkPod is what a Pod of usual size costs with its state, from each encoding: ours
// with a state that was seen before and with a new one, and what client-go has for it,
// which for all but the typed one, whose state is not read, ends in wrangler's reading.
func BenchmarkPod(b *testing.B) {
	pod := usualPod()
	raw, err := pod.Marshal()
	must(b, err)
	text, err := json.Marshal(pod)
	must(b, err)
	b.Run(fmt.Sprintf("protobuf-%d-bytes/typed", len(raw)), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(b, new(corev1.Pod).Unmarshal(raw))
		}
	})
	ways := newDecoder(b, pods)
	benchmarkOurs(b, "protobuf", ways, inEnvelope(b, "Pod", pod))
	benchmarkOurs(b, fmt.Sprintf("JSON-%d-bytes", len(text)), ways, text)
	benchmarkUnstructured(b, text)
}

// BenchmarkWidget is what a custom object costs.
func BenchmarkWidget(b *testing.B) {
	content := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{
			"name": "w", "namespace": "a", "resourceVersion": "7", "generation": 3, "uid": "3f1c2a52-0b6e-4f0e-9d6b-1f2e3d4c5b6a",
			"managedFields": []any{map[string]any{"manager": "m", "fieldsV1": fieldsOf("f:spec", 60)}},
		},
		"spec": map[string]any{"template": fieldsOf("setting", 30), "replicas": 3},
		"status": map[string]any{"observedGeneration": 3, "readyReplicas": 3, "conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "reason": "Ready", "message": "all is well", "lastTransitionTime": "2024-01-01T00:00:00Z"},
		}},
	}
	text, err := json.Marshal(content)
	must(b, err)
	benchmarkOurs(b, fmt.Sprintf("JSON-%d-bytes", len(text)), newDecoder(b, widgets), text)
	benchmarkUnstructured(b, text)
}

func benchmarkOurs(b *testing.B, encoding string, d *Decoder, data []byte) {
	b.Helper()
	run := func(name string, before func()) {
		b.Run(encoding+"/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				before()
				_, _, err := d.Decode(data, nil, nil)
				must(b, err)
			}
		})
	}
	run("seen", func() {})
	run("new", func() { clear(d.readings); d.held = 0 })
}

// benchmarkUnstructured decodes what client-go's dynamic client gets, JSON and CBOR, and
// asks wrangler.
func benchmarkUnstructured(b *testing.B, text []byte) {
	b.Helper()
	whole := new(unstructured.Unstructured)
	must(b, whole.UnmarshalJSON(text))
	binary, err := direct.Marshal(whole.Object)
	must(b, err)
	b.Run("JSON/unstructured", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			u := new(unstructured.Unstructured)
			must(b, u.UnmarshalJSON(text))
			_, err := state.Wrangler.Read(u.Object, time.Now())
			must(b, err)
		}
	})
	b.Run(fmt.Sprintf("CBOR-%d-bytes/unstructured", len(binary)), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var object map[string]any
			must(b, direct.Unmarshal(binary, &object))
			_, err := state.Wrangler.Read(object, time.Now())
			must(b, err)
		}
	})
}

// BenchmarkInformed is what the state of a typed Pod costs that an informer holds: as
// wrangler reads it, and as CountInformer does.
func BenchmarkInformed(b *testing.B) {
	pod := usualPod()
	d := newDecoder(b, pods)
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			_, err := d.Informed(pod)
			must(b, err)
		}
	})
	b.Run("converted", func(b *testing.B) {
		for b.Loop() {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
			must(b, err)
			_, err = state.Wrangler.Read(content, time.Now())
			must(b, err)
		}
	})
}

func fieldsOf(name string, n int) map[string]any {
	fields := make(map[string]any)
	for i := range n {
		fields[fmt.Sprint(name, "-", i)] = map[string]any{"f:value": strings.Repeat("v", 20)}
	}
	return fields
}

// usualPod is a Pod of two containers, with what controllers and kubelets have written.
func usualPod() *corev1.Pod {
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
		return metav1.NewFieldsV1("{" + strings.TrimSuffix(strings.Repeat(`"`+name+`":{},`, 60), ",") + "}") // as long as usual
	}
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "app-6d4b75c5f-00000", Namespace: "team-7", ResourceVersion: "123456789", UID: "3f1c2a52-0b6e-4f0e-9d6b-1f2e3d4c5b6a",
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
