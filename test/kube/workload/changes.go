package workload

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	previewEvery  = 200 // ticks between two preview namespaces
	maxConfigMaps = 12  // in a namespace
	maxJobs       = 5
	maxBackups    = 4
)

// change makes one change of a kind and in a namespace that chance picks.
func (c *churner) change(ctx context.Context) error {
	if c.tick%previewEvery == 1 {
		return c.preview(ctx)
	}
	p := &c.plans[c.source.IntN(len(c.plans))]
	switch n := c.source.IntN(100); {
	case n < 30:
		return c.turnPod(ctx, p)
	case n < 55:
		return c.replacePod(ctx, p)
	case n < 80:
		return c.changeConfigMap(ctx, p)
	case n < 90:
		return c.runJob(ctx, p)
	case n < 97:
		return c.takeBackup(ctx, p)
	default:
		return c.loseNode(ctx)
	}
}

// turnPod makes a good Pod bad for a while, or a bad one good.
func (c *churner) turnPod(ctx context.Context, p *plan) error {
	a := &p.apps[c.source.IntN(len(p.apps))]
	one := &a.pods[c.source.IntN(len(a.pods))]
	switch one.state {
	case terminating, failed: // stay so until they are replaced
		return nil
	case running:
		one.state = crashLoop
	case unschedulable:
		one.node = nodeName(0)
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: one.name},
			Target:     corev1.ObjectReference{Kind: "Node", Name: one.node},
		}
		if err := c.writer.client.CoreV1().Pods(p.namespace).Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("scheduling pod %s/%s: %w", p.namespace, one.name, err)
		}
		one.state = creating
	default:
		one.state = running
	}
	return c.podTurned(ctx, p.namespace, *a, *one)
}

// podTurned writes the Pod's status and what follows for its app.
func (c *churner) podTurned(ctx context.Context, namespace string, a app, one pod) error {
	if err := setStatus(ctx, c.writer.client.CoreV1().Pods(namespace), one.name, podStatus(one.state, time.Now())); err != nil {
		return err
	}
	return c.writer.appStatus(ctx, namespace, a)
}

// replacePod deletes one and creates another, which is ready some seconds later.
func (c *churner) replacePod(ctx context.Context, p *plan) error {
	a := &p.apps[c.source.IntN(len(p.apps))]
	i := c.source.IntN(len(a.pods))
	old, next := a.pods[i], c.source.pod(a.replicaSet(), creating)
	a.pods[i] = next
	pods := c.writer.client.CoreV1().Pods(p.namespace)
	if err := pods.Delete(ctx, old.name, metav1.DeleteOptions{}); ignoreOthers(err) != nil {
		return fmt.Errorf("deleting pod %s/%s: %w", p.namespace, old.name, err)
	}
	c.after(func(ctx context.Context) error { return c.removePod(ctx, p.namespace, old) })
	c.after(func(ctx context.Context) error {
		// It may have been replaced or turned since.
		if i := slices.Index(a.pods, next); i >= 0 {
			a.pods[i].state = running
			return c.podTurned(ctx, p.namespace, *a, a.pods[i])
		}
		return nil
	})
	set, err := c.writer.client.AppsV1().ReplicaSets(p.namespace).Get(ctx, a.replicaSet(), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("getting the replicaset of %s/%s: %w", p.namespace, a.name, err)
	}
	owner := *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	if err := c.writer.pod(ctx, p.namespace, next, a.name, owner); err != nil {
		return err
	}
	return c.writer.appStatus(ctx, p.namespace, *a)
}

// removePod does what the kubelet does when the containers have ended, and takes
// off the finalizer of a Pod that hung.
func (c *churner) removePod(ctx context.Context, namespace string, p pod) error {
	pods := c.writer.client.CoreV1().Pods(namespace)
	if p.state == terminating {
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		if _, err := pods.Patch(ctx, p.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("taking the finalizer off pod %s/%s: %w", namespace, p.name, err)
		}
	}
	if err := pods.Delete(ctx, p.name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		return fmt.Errorf("removing pod %s/%s: %w", namespace, p.name, err)
	}
	return nil
}

// changeConfigMap creates, updates or deletes one.
func (c *churner) changeConfigMap(ctx context.Context, p *plan) error {
	client := c.writer.client.CoreV1().ConfigMaps(p.namespace)
	i := c.source.IntN(len(p.configMaps) + 1)
	if i == len(p.configMaps) && i < maxConfigMaps {
		name := c.name("settings")
		p.configMaps = append(p.configMaps, name)
		return c.writer.configMap(ctx, p.namespace, name)
	}
	i = min(i, len(p.configMaps)-1)
	name := p.configMaps[i]
	if len(p.configMaps) > 1 && c.source.IntN(3) == 0 {
		p.configMaps = slices.Delete(p.configMaps, i, i+1)
		if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("deleting configmap %s/%s: %w", p.namespace, name, err)
		}
		return nil
	}
	if _, err := client.Update(ctx, newConfigMap(name, c.tick), metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("updating configmap %s/%s: %w", p.namespace, name, err)
	}
	return nil
}

// runJob starts one, which ends some seconds later, and deletes the oldest.
func (c *churner) runJob(ctx context.Context, p *plan) error {
	jobs := c.writer.client.BatchV1().Jobs(p.namespace)
	if len(p.jobs) >= maxJobs {
		old := p.jobs[0]
		p.jobs = p.jobs[1:]
		if err := c.removePod(ctx, p.namespace, old.pod()); ignoreOthers(err) != nil {
			return err
		}
		if err := jobs.Delete(ctx, old.name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}); err != nil {
			return fmt.Errorf("deleting job %s/%s: %w", p.namespace, old.name, err)
		}
		return nil
	}
	j, start := job{name: c.name("import"), state: running}, time.Now()
	p.jobs = append(p.jobs, j)
	end := succeeded
	if c.source.IntN(5) == 0 {
		end = failed
	}
	c.after(func(ctx context.Context) error {
		one := j.pod()
		if err := setStatus(ctx, c.writer.client.CoreV1().Pods(p.namespace), one.name, podStatus(end, time.Now())); err != nil {
			return err
		}
		return setStatus(ctx, jobs, j.name, jobStatus(end, start, time.Now()))
	})
	return c.writer.job(ctx, p.namespace, j, start)
}

// takeBackup starts one, which ends some seconds later, and deletes the oldest.
func (c *churner) takeBackup(ctx context.Context, p *plan) error {
	if len(p.backups) >= maxBackups {
		old := p.backups[0]
		p.backups = p.backups[1:]
		if err := c.writer.dynamic.Resource(backups()).Namespace(p.namespace).Delete(ctx, old.name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("deleting backup %s/%s: %w", p.namespace, old.name, err)
		}
		return nil
	}
	b := backup{name: c.name("backup"), state: running}
	p.backups = append(p.backups, b)
	done := backup{name: b.name, state: c.source.endState()}
	c.after(func(ctx context.Context) error { return c.writer.backupStatus(ctx, p.namespace, done) })
	return c.writer.backup(ctx, p.namespace, b)
}

// loseNode makes a node's kubelet silent for some seconds. The last node's stays
// silent.
func (c *churner) loseNode(ctx context.Context) error {
	name := nodeName(c.source.IntN(nodes - 1))
	c.after(func(ctx context.Context) error {
		return setStatus(ctx, c.writer.client.CoreV1().Nodes(), name, nodeStatus(corev1.ConditionTrue, time.Now()))
	})
	return setStatus(ctx, c.writer.client.CoreV1().Nodes(), name, nodeStatus(corev1.ConditionUnknown, time.Now()))
}

// preview makes a namespace and deletes the one before, whose Pods go some seconds
// later, and it with them.
func (c *churner) preview(ctx context.Context) error {
	if old := c.lastPreview; old.namespace != "" {
		if err := c.writer.client.CoreV1().Namespaces().Delete(ctx, old.namespace, metav1.DeleteOptions{}); ignoreOthers(err) != nil {
			return fmt.Errorf("deleting namespace %s: %w", old.namespace, err)
		}
		c.after(func(ctx context.Context) error {
			for _, p := range old.allPods() {
				if err := c.removePod(ctx, old.namespace, p); ignoreOthers(err) != nil {
					return err
				}
			}
			return nil
		})
	}
	c.lastPreview = c.source.plan("preview-" + strconv.Itoa(c.tick/previewEvery))
	return c.writer.namespace(ctx, c.lastPreview)
}
