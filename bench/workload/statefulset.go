package workload

import (
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
)

// statefulSet is like a Deployment, but its status names revisions, which no other has.
type statefulSet struct {
	appsv1.StatefulSet
	steps []func()
}

func newStatefulSet(r *rand.Rand, n int) life {
	of, partition := replicas(r), int32(0)
	s := &statefulSet{StatefulSet: appsv1.StatefulSet{ObjectMeta: metaOf(r, "StatefulSet", n), Spec: appsv1.StatefulSetSpec{
		Replicas: &of, Selector: selector(), Template: template(), ServiceName: "app",
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}},
	}}}
	s.Generation = generations(r)
	s.Status.UpdateRevision = s.Name + "-" + word(r)
	s.settle()
	return s
}

func (s *statefulSet) settle() {
	n, revision := *s.Spec.Replicas, s.Status.UpdateRevision
	s.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: s.Generation, Replicas: n, ReadyReplicas: n, AvailableReplicas: n, CurrentReplicas: n, UpdatedReplicas: n,
		CurrentRevision: revision, UpdateRevision: revision,
	}
}

func (s *statefulSet) next(r *rand.Rand) Message {
	if len(s.steps) == 0 {
		switch chance := r.IntN(100); {
		case chance < 30:
			s.steps = []func(){func() { touch(r, s) }}
		case chance < 80:
			s.steps = []func(){func() { s.Status.ReadyReplicas--; s.Status.AvailableReplicas-- }, s.settle}
		default:
			s.rollOut(r)
		}
	}
	s.steps[0]()
	s.steps = s.steps[1:]
	return &s.StatefulSet
}

// rollOut has three events of each Pod.
func (s *statefulSet) rollOut(r *rand.Rand) {
	s.steps = []func(){
		func() { s.Generation++ },
		func() {
			s.Status.ObservedGeneration, s.Status.UpdatedReplicas, s.Status.UpdateRevision = s.Generation, 0, s.Name+"-"+word(r)
		},
	}
	for range *s.Spec.Replicas {
		s.steps = append(s.steps,
			func() { s.Status.ReadyReplicas--; s.Status.AvailableReplicas-- },
			func() { s.Status.CurrentReplicas--; s.Status.UpdatedReplicas++ },
			func() { s.Status.ReadyReplicas++; s.Status.AvailableReplicas++ })
	}
	s.steps = append(s.steps, s.settle)
}
