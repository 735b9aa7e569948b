package workload

import (
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// deployment is rolled out, one Pod after the other, or one of its Pods is not ready for
// a while.
type deployment struct {
	appsv1.Deployment
	steps []func() // that are still to come of what has begun
}

func newDeployment(r *rand.Rand, n int) life {
	of, seconds := replicas(r), int32(600)
	d := &deployment{Deployment: appsv1.Deployment{ObjectMeta: metaOf(r, "Deployment", n), Spec: appsv1.DeploymentSpec{
		Replicas: &of, Selector: selector(), Template: template(), ProgressDeadlineSeconds: &seconds,
	}}}
	d.Generation = generations(r)
	d.settle()
	return d
}

// settle is the status of a rollout that has ended.
func (d *deployment) settle() {
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	d.conditions("NewReplicaSetAvailable")
}

func (d *deployment) conditions(reason string) {
	available, why := corev1.ConditionTrue, "MinimumReplicasAvailable"
	if d.Status.AvailableReplicas < *d.Spec.Replicas-*d.Spec.Replicas/4 {
		available, why = corev1.ConditionFalse, "MinimumReplicasUnavailable"
	}
	d.Status.UnavailableReplicas = max(0, *d.Spec.Replicas-d.Status.AvailableReplicas)
	d.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: available, Reason: why, Message: "Deployment has minimum availability.", LastUpdateTime: since(), LastTransitionTime: since()},
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason, Message: "ReplicaSet has progressed.", LastUpdateTime: since(), LastTransitionTime: since()},
	}
}

func (d *deployment) next(r *rand.Rand) Message {
	if len(d.steps) == 0 {
		switch chance := r.IntN(100); {
		case chance < 30:
			d.steps = []func(){func() { touch(r, d) }}
		case chance < 60:
			d.flap()
		default:
			d.rollOut()
		}
	}
	d.steps[0]()
	d.steps = d.steps[1:]
	return &d.Deployment
}

func (d *deployment) flap() {
	d.steps = []func(){func() {
		d.Status.ReadyReplicas--
		d.Status.AvailableReplicas--
		d.conditions("NewReplicaSetAvailable")
	}, d.settle}
}

// rollOut begins with a new spec; of each Pod there are three events.
func (d *deployment) rollOut() {
	progress := func(change func(s *appsv1.DeploymentStatus)) {
		d.steps = append(d.steps, func() {
			change(&d.Status)
			d.conditions("ReplicaSetUpdated")
		})
	}
	d.steps = []func(){func() { d.Generation++ }}
	progress(func(s *appsv1.DeploymentStatus) { s.ObservedGeneration, s.UpdatedReplicas = d.Generation, 0 })
	for i := range *d.Spec.Replicas {
		progress(func(s *appsv1.DeploymentStatus) { s.Replicas, s.UpdatedReplicas = *d.Spec.Replicas+1, i+1 })
		progress(func(s *appsv1.DeploymentStatus) { s.ReadyReplicas, s.AvailableReplicas = s.Replicas, s.Replicas })
		progress(func(s *appsv1.DeploymentStatus) { s.Replicas--; s.ReadyReplicas--; s.AvailableReplicas-- })
	}
	d.steps = append(d.steps, d.settle)
}
