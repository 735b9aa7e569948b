package workload

import (
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
)

// replicaSet is scaled up by one Pod after the other, has one that is not ready for a
// while, and is scaled down.
type replicaSet struct {
	appsv1.ReplicaSet
	steps []func()
}

func newReplicaSet(r *rand.Rand, n int) life {
	of := replicas(r)
	s := &replicaSet{ReplicaSet: appsv1.ReplicaSet{ObjectMeta: metaOf(r, "ReplicaSet", n), Spec: appsv1.ReplicaSetSpec{Replicas: &of, Selector: selector(), Template: template()}}}
	s.settle()
	return s
}

func (s *replicaSet) settle() {
	n := *s.Spec.Replicas
	s.Status = appsv1.ReplicaSetStatus{ObservedGeneration: s.Generation, Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
}

func (s *replicaSet) next(r *rand.Rand) Message {
	if len(s.steps) == 0 {
		switch chance := r.IntN(100); {
		case chance < 20:
			s.steps = []func(){func() { touch(r, s) }}
		case chance < 50 && *s.Spec.Replicas > 0:
			s.steps = []func(){func() { s.Status.ReadyReplicas--; s.Status.AvailableReplicas-- }, s.settle}
		case *s.Spec.Replicas > 0:
			s.scale(0)
		default:
			*s = *newReplicaSet(r, r.IntN(population)).(*replicaSet) //nolint:errcheck // it is one
			to := *s.Spec.Replicas
			*s.Spec.Replicas = 0
			s.settle()
			s.scale(to)
		}
	}
	s.steps[0]()
	s.steps = s.steps[1:]
	return &s.ReplicaSet
}

// scale goes by ones, as rollouts do. Of each there are three events, and of a Pod that
// comes a fourth, when it is ready.
func (s *replicaSet) scale(to int32) {
	step := int32(1)
	if to < *s.Spec.Replicas {
		step = -1
	}
	for n := *s.Spec.Replicas; n != to; n += step {
		s.steps = append(s.steps,
			func() { *s.Spec.Replicas += step; s.Generation++ },
			func() { s.Status.ObservedGeneration = s.Generation },
			func() { s.Status.Replicas, s.Status.FullyLabeledReplicas = *s.Spec.Replicas, *s.Spec.Replicas },
			s.settle)
	}
}
