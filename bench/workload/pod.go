package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podStage is where a Pod is in its life.
type podStage int

const (
	created podStage = iota
	unschedulable
	scheduled
	creating
	started
	ready
	crashed
	terminating
	ended
)

// pod lives from its creation to its end, and is then another Pod.
type pod struct {
	corev1.Pod
	stage podStage
}

func newPod(r *rand.Rand, n int) life {
	p := new(pod)
	p.begin(r, n)
	return p
}

func (p *pod) begin(r *rand.Rand, n int) {
	containers := []int{1, 1, 1, 1, 1, 2, 2, 2, 3, 4}[r.IntN(10)]
	p.Pod = corev1.Pod{ObjectMeta: metaOf(r, "Pod", n), Spec: podSpec(containers)}
	p.stage = created
}

func (p *pod) next(r *rand.Rand) Message {
	chance := r.IntN(100)
	switch p.stage {
	case created:
		if p.stage = scheduled; chance < 5 {
			p.stage = unschedulable
		}
	case unschedulable:
		p.stage = scheduled
	case scheduled:
		p.stage = creating
	case creating:
		p.stage = started
	case started:
		if p.stage = ready; chance < 8 {
			p.stage = crashed
		}
	case ready:
		switch {
		case chance < 60:
			touch(r, p)
		case chance < 68:
			p.stage = crashed
		case chance < 75:
			p.stage = started // its probe fails
		default:
			p.stage = terminating
		}
	case crashed:
		p.stage = started
	case terminating:
		p.stage = ended
	case ended:
		p.begin(r, r.IntN(population))
	}
	p.show()
	return &p.Pod
}

// show writes what API server, scheduler and kubelet write in each stage.
func (p *pod) show() {
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable}
	if p.stage == created {
		return
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: since()}}
	if p.stage == unschedulable {
		p.Status.Conditions[0].Status, p.Status.Conditions[0].Reason = corev1.ConditionFalse, corev1.PodReasonUnschedulable
		return
	}
	p.Spec.NodeName = "node-12"
	if p.stage == scheduled {
		return
	}
	start := since()
	p.Status.StartTime, p.Status.HostIP, p.Status.PodIP = &start, "10.0.0.1", "10.1.2.3"
	if p.stage >= terminating {
		p.DeletionTimestamp = &metav1.Time{Time: start.Time}
	}
	is, reason := corev1.ConditionFalse, "ContainersNotReady"
	if p.stage == ready || p.stage == terminating {
		is, reason = corev1.ConditionTrue, ""
	}
	if p.stage != creating {
		p.Status.Phase = corev1.PodRunning
	}
	for _, c := range []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue}, {Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: is, Reason: reason}, {Type: corev1.ContainersReady, Status: is, Reason: reason},
	} {
		c.LastTransitionTime = since()
		p.Status.Conditions = append(p.Status.Conditions, c)
	}
	for i := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, p.container(i, is == corev1.ConditionTrue))
	}
}

func (p *pod) container(i int, isReady bool) corev1.ContainerStatus {
	s := corev1.ContainerStatus{
		Name: fmt.Sprintf("c%d", i), Ready: isReady, Started: &isReady, Image: "registry.example.com/shop/app:1.14.0",
		ImageID: "registry.example.com/shop/app@sha256:" + strings.Repeat("6", 64), ContainerID: "containerd://" + strings.Repeat("c", 64),
	}
	switch {
	case p.stage == creating:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	case p.stage == crashed && i == 0:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s restarting failed container"}
	case p.stage == ended:
		s.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: since(), FinishedAt: since()}
	default:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: since()}
	}
	return s
}
