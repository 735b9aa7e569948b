package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// writer creates objects together with the status that controllers would write.
// It may be used by any goroutine.
type writer struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

// patcher is a typed client for one resource.
type patcher[T any] interface {
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (T, error)
}

// setStatus replaces the whole status: a merge would keep a count that is zero
// now, for JSON leaves zeros out.
func setStatus[T any](ctx context.Context, client patcher[T], name string, status any) error {
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": status}})
	if err != nil {
		return fmt.Errorf("encoding the status of %s: %w", name, err)
	}
	if _, err := client.Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("writing the status of %s: %w", name, err)
	}
	return nil
}

// node is one whose kubelet reports, or does not.
func (w writer) node(ctx context.Context, name string, ready corev1.ConditionStatus) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := w.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating node %s: %w", name, err)
	}
	return setStatus(ctx, w.client.CoreV1().Nodes(), name, nodeStatus(ready, time.Now()))
}

// namespace makes all that is planned for it.
func (w writer) namespace(ctx context.Context, p plan) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
	if _, err := w.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", p.namespace, err)
	}
	for _, name := range p.configMaps {
		if err := w.configMap(ctx, p.namespace, name); err != nil {
			return err
		}
	}
	for _, name := range p.secrets {
		if _, err := w.client.CoreV1().Secrets(p.namespace).Create(ctx, newSecret(name), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating secret %s/%s: %w", p.namespace, name, err)
		}
	}
	for _, a := range p.apps {
		if err := w.app(ctx, p.namespace, a); err != nil {
			return err
		}
	}
	for _, j := range p.jobs {
		if err := w.job(ctx, p.namespace, j, time.Now()); err != nil {
			return err
		}
	}
	for _, b := range p.backups {
		if err := w.backup(ctx, p.namespace, b); err != nil {
			return err
		}
	}
	return nil
}

func (w writer) configMap(ctx context.Context, namespace, name string) error {
	if _, err := w.client.CoreV1().ConfigMaps(namespace).Create(ctx, newConfigMap(name, 1), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating configmap %s/%s: %w", namespace, name, err)
	}
	return nil
}

// app is a Deployment, its ReplicaSet and the one before, its Pods and a Service.
func (w writer) app(ctx context.Context, namespace string, a app) error {
	deployment, err := w.client.AppsV1().Deployments(namespace).Create(ctx, newDeployment(a), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating deployment %s/%s: %w", namespace, a.name, err)
	}
	sets := w.client.AppsV1().ReplicaSets(namespace)
	if _, err := sets.Create(ctx, newReplicaSet(a, a.name+"-5f7c9d8b4", 0, deployment), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the old replicaset of %s/%s: %w", namespace, a.name, err)
	}
	set, err := sets.Create(ctx, newReplicaSet(a, a.replicaSet(), int32(len(a.pods)), deployment), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the replicaset of %s/%s: %w", namespace, a.name, err)
	}
	owner := *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	for _, p := range a.pods {
		if err := w.pod(ctx, namespace, p, a.name, owner); err != nil {
			return err
		}
	}
	if _, err := w.client.CoreV1().Services(namespace).Create(ctx, newService(a), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating service %s/%s: %w", namespace, a.name, err)
	}
	return w.appStatus(ctx, namespace, a)
}

// appStatus writes what the Pods of the app come to.
func (w writer) appStatus(ctx context.Context, namespace string, a app) error {
	wanted := int32(len(a.pods))
	set := replicaSetStatus(1, wanted, a.ready())
	if err := setStatus(ctx, w.client.AppsV1().ReplicaSets(namespace), a.replicaSet(), set); err != nil {
		return err
	}
	deployment := deploymentStatus(1, wanted, a.ready(), time.Now())
	return setStatus(ctx, w.client.AppsV1().Deployments(namespace), a.name, deployment)
}

func (w writer) pod(ctx context.Context, namespace string, p pod, appName string, owner metav1.OwnerReference) error {
	pods := w.client.CoreV1().Pods(namespace)
	if _, err := pods.Create(ctx, newPod(p, appName, owner), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating pod %s/%s: %w", namespace, p.name, err)
	}
	if err := setStatus(ctx, pods, p.name, podStatus(p.state, time.Now())); err != nil {
		return err
	}
	if p.state != terminating {
		return nil
	}
	if err := pods.Delete(ctx, p.name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting pod %s/%s: %w", namespace, p.name, err)
	}
	return nil
}

// job is a Job with its one Pod.
func (w writer) job(ctx context.Context, namespace string, j job, start time.Time) error {
	jobs := w.client.BatchV1().Jobs(namespace)
	created, err := jobs.Create(ctx, newJob(j), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating job %s/%s: %w", namespace, j.name, err)
	}
	owner := *metav1.NewControllerRef(created, batchv1.SchemeGroupVersion.WithKind("Job"))
	if err := w.pod(ctx, namespace, j.pod(), j.name, owner); err != nil {
		return err
	}
	return setStatus(ctx, jobs, j.name, jobStatus(j.state, start, time.Now()))
}

func (j job) pod() pod { return pod{name: j.name + "-0", node: nodeName(0), state: j.state} }

func (w writer) backup(ctx context.Context, namespace string, b backup) error {
	client := w.dynamic.Resource(backups()).Namespace(namespace)
	if _, err := client.Create(ctx, newBackup(b.name), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating backup %s/%s: %w", namespace, b.name, err)
	}
	return w.backupStatus(ctx, namespace, b)
}

func (w writer) backupStatus(ctx context.Context, namespace string, b backup) error {
	return setStatus(ctx, w.dynamic.Resource(backups()).Namespace(namespace), b.name, backupStatus(b.state))
}
