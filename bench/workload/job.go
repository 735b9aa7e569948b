package workload

import (
	"math/rand/v2"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// job runs once, and is then another Job. One in ten fails.
type job struct {
	batchv1.Job
	stage int
}

func newJob(r *rand.Rand, n int) life {
	j := new(job)
	j.begin(r, n)
	return j
}

func (j *job) begin(r *rand.Rand, n int) {
	one := int32(1)
	j.Job = batchv1.Job{ObjectMeta: metaOf(r, "Job", n), Spec: batchv1.JobSpec{Parallelism: &one, Completions: &one, BackoffLimit: &one, Selector: selector(), Template: template()}}
	j.stage = 0
}

func (j *job) next(r *rand.Rand) Message {
	conditions := func(types ...batchv1.JobConditionType) {
		j.Status.Conditions = nil
		for _, t := range types {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, Reason: string(t), LastProbeTime: since(), LastTransitionTime: since()})
		}
	}
	if j.stage++; j.stage > 6 {
		j.begin(r, r.IntN(population))
	}
	fails := j.UID[len(j.UID)-1] == '7' || j.UID[len(j.UID)-1] == 'a' && r.IntN(2) == 0
	switch j.stage {
	case 1:
		start := since()
		j.Status.StartTime, j.Status.Active = &start, 1
	case 2:
		one := int32(1)
		j.Status.Ready = &one
	case 3:
		touch(r, j)
	case 4:
		if conditions(batchv1.JobSuccessCriteriaMet); fails {
			conditions(batchv1.JobFailureTarget)
		}
	case 5:
		end := since()
		j.Status.Active, j.Status.CompletionTime = 0, &end
		if j.Status.Conditions[0].Type == batchv1.JobFailureTarget {
			conditions(batchv1.JobFailureTarget, batchv1.JobFailed)
		} else {
			conditions(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
		}
	}
	return &j.Job
}
