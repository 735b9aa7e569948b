package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// since is when everything happened: clocks do not matter here.
func since() metav1.Time { return metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) }

// word is hexadecimal, and new.
func word(r *rand.Rand) string { return fmt.Sprintf("%010x", r.Uint64()>>24) }

// metaOf is the metadata of an object with an owner, two writers and usual labels: some
// 2 KB, most of it managedFields.
func metaOf(r *rand.Rand, kind string, n int) metav1.ObjectMeta {
	name := fmt.Sprintf("%s-%d-%s", strings.ToLower(kind), n, word(r))
	fields := func(field string) *metav1.FieldsV1 {
		return metav1.NewFieldsV1("{" + strings.TrimSuffix(strings.Repeat(`"`+field+`":{},`, 50), ",") + "}") // as long as usual
	}
	return metav1.ObjectMeta{
		Name: name, Namespace: fmt.Sprintf("team-%d", n%50), UID: types.UID("00000000-0000-4000-8000-00" + word(r)), ResourceVersion: "1000000000", Generation: 1, CreationTimestamp: since(),
		Labels:          map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop", "app.kubernetes.io/version": "1.14.0"},
		Annotations:     map[string]string{"deployment.kubernetes.io/revision": "7", "example.com/contact": "team@example.com"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Shop", Name: "shop", UID: "00000000-0000-4000-9000-000000000000"}},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: fields("f:spec")},
			{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: fields("f:status")},
		},
	}
}

// touch is an update that changes nothing that decides a state.
func touch(r *rand.Rand, m metav1.Object) { m.GetAnnotations()["example.com/checksum"] = word(r) }

func podSpec(containers int) corev1.PodSpec {
	yes, seconds := true, int64(30)
	spec := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &seconds, DNSPolicy: corev1.DNSClusterFirst,
		ServiceAccountName: "default", SchedulerName: "default-scheduler", EnableServiceLinks: &yes,
		Tolerations: []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		Volumes:     []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}}},
	}
	for i := range containers {
		c := corev1.Container{
			Name: fmt.Sprintf("c%d", i), Image: "registry.example.com/shop/app:1.14.0", ImagePullPolicy: corev1.PullIfNotPresent,
			Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", ReadOnly: true, MountPath: "/etc/app"}},
			Resources: corev1.ResourceRequirements{
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
			},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 10, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http")}}},
		}
		for e := range 5 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", e), Value: "a value of usual length"})
		}
		spec.Containers = append(spec.Containers, c)
	}
	return spec
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/name": "app"}}, Spec: podSpec(1)}
}

func selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "app"}}
}

// replicas of a workload are few.
func replicas(r *rand.Rand) int32 {
	return []int32{1, 1, 1, 1, 2, 2, 3, 3, 5, 10}[r.IntN(10)]
}

// generations that a workload has behind it: some have many.
func generations(r *rand.Rand) int64 { return 1 + int64(r.ExpFloat64()*12) }
