package workload

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	nodes     = 4
	finalizer = "demo.example.com/hold"
	appLabel  = "app.kubernetes.io/name"
)

// backups is the custom resource.
func backups() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "demo.example.com", Version: "v1", Resource: "backups"}
}

func nodeName(i int) string { return "node-" + strconv.Itoa(i) }

func podTemplate(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appLabel: name}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name:  "main",
			Image: "registry.example.com/" + name + ":1.0",
		}}},
	}
}

func newDeployment(a app) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(len(a.pods))),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: a.name}},
			Template: podTemplate(a.name),
		},
	}
}

func newReplicaSet(a app, name string, replicas int32, owner *appsv1.Deployment) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: a.name}},
			Template: podTemplate(a.name),
		},
	}
}

// newPod belongs to a ReplicaSet of the app, or to a Job of that name.
func newPod(p pod, appName string, owner metav1.OwnerReference) *corev1.Pod {
	template := podTemplate(appName)
	template.Spec.NodeName = p.node
	meta := metav1.ObjectMeta{Name: p.name, Labels: template.Labels, OwnerReferences: []metav1.OwnerReference{owner}}
	if p.state == terminating {
		meta.Finalizers = []string{finalizer}
	}
	return &corev1.Pod{ObjectMeta: meta, Spec: template.Spec}
}

func newService(a app) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, // the address range is small
			Selector:  map[string]string{appLabel: a.name},
			Ports:     []corev1.ServicePort{{Port: 80}},
		},
	}
}

func newJob(j job) *batchv1.Job {
	template := podTemplate(j.name)
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: j.name}, Spec: batchv1.JobSpec{Template: template}}
}

func newConfigMap(name string, revision int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string]string{"revision": strconv.Itoa(revision)},
	}
}

func newSecret(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		StringData: map[string]string{"user": "demo", "password": "not-a-secret"},
	}
}

func newBackup(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": backups().GroupVersion().String(),
		"kind":       "Backup",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"schedule": "0 3 * * *"},
	}}
}
