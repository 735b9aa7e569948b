package workload

import (
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
)

// daemonSet has a Pod on each of many nodes. Some of them are not ready for a while, nodes
// come and go, and seldom it is rolled out.
type daemonSet struct {
	appsv1.DaemonSet
	steps []func()
}

func newDaemonSet(r *rand.Rand, n int) life {
	d := &daemonSet{DaemonSet: appsv1.DaemonSet{ObjectMeta: metaOf(r, "DaemonSet", n), Spec: appsv1.DaemonSetSpec{Selector: selector(), Template: template()}}}
	d.Generation = generations(r)
	d.settle(100)
	return d
}

func (d *daemonSet) settle(nodes int32) {
	d.Status = appsv1.DaemonSetStatus{
		ObservedGeneration: d.Generation, DesiredNumberScheduled: nodes, CurrentNumberScheduled: nodes, UpdatedNumberScheduled: nodes,
		NumberReady: nodes, NumberAvailable: nodes,
	}
}

func (d *daemonSet) ready(change int32) {
	d.Status.NumberReady += change
	d.Status.NumberAvailable += change
	d.Status.NumberUnavailable -= change
}

func (d *daemonSet) next(r *rand.Rand) Message {
	if len(d.steps) == 0 {
		nodes := d.Status.DesiredNumberScheduled
		settle := func() { d.settle(nodes) }
		switch chance := r.IntN(1000); {
		case chance < 300:
			d.steps = []func(){func() { touch(r, d) }}
		case chance < 890:
			d.steps = []func(){func() { d.ready(-1) }, settle}
		case chance < 990: // a node comes, or goes
			change := int32(1)
			if nodes > 100 {
				change = -1
			}
			nodes += change
			d.steps = []func(){func() { d.Status.DesiredNumberScheduled += change }, func() { d.Status.CurrentNumberScheduled += change }, settle}
		default:
			d.steps = []func(){func() { d.Generation++ }, func() { d.Status.ObservedGeneration, d.Status.UpdatedNumberScheduled = d.Generation, 0 }}
			for range nodes {
				d.steps = append(d.steps, func() { d.ready(-1) }, func() { d.ready(1); d.Status.UpdatedNumberScheduled++ })
			}
		}
	}
	d.steps[0]()
	d.steps = d.steps[1:]
	return &d.DaemonSet
}
