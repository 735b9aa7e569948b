package workload

import (
	"fmt"
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// endpointSlice tells which of its endpoints are ready.
type endpointSlice struct{ discoveryv1.EndpointSlice }

func newEndpointSlice(r *rand.Rand, n int) life {
	s := &endpointSlice{discoveryv1.EndpointSlice{ObjectMeta: metaOf(r, "EndpointSlice", n), AddressType: discoveryv1.AddressTypeIPv4}}
	port, name, zone := int32(8080), "http", "zone-a"
	s.Ports = []discoveryv1.EndpointPort{{Name: &name, Port: &port}}
	for i := range 10 {
		is := true
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf("10.1.2.%d", i)}, Conditions: discoveryv1.EndpointConditions{Ready: &is, Serving: &is}, NodeName: &zone, Zone: &zone,
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: s.Namespace, Name: "app-" + word(r), UID: s.UID},
		})
	}
	return s
}

func (s *endpointSlice) next(r *rand.Rand) Message {
	c := &s.Endpoints[r.IntN(len(s.Endpoints))].Conditions
	*c.Ready = !*c.Ready
	return &s.EndpointSlice
}

// event is told once, or again.
type event struct{ corev1.Event }

func newEvent(r *rand.Rand, n int) life {
	e := new(event)
	e.begin(r, n)
	return e
}

func (e *event) begin(r *rand.Rand, n int) {
	m := metaOf(r, "Event", n)
	m.Labels, m.Annotations, m.OwnerReferences, m.ManagedFields = nil, nil, nil, m.ManagedFields[:1]
	e.Event = corev1.Event{
		ObjectMeta: m, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: m.Namespace, Name: "app-" + word(r), UID: m.UID, APIVersion: "v1"},
		Reason: "BackOff", Message: "Back-off restarting failed container app in pod app_shop(00000000-0000-4000-8000-000000000000)",
		Source: corev1.EventSource{Component: "kubelet", Host: "node-12"}, FirstTimestamp: since(), Type: corev1.EventTypeWarning,
	}
}

func (e *event) next(r *rand.Rand) Message {
	if r.IntN(2) == 0 {
		e.begin(r, r.IntN(population))
	}
	e.Count++
	e.LastTimestamp = metav1.NewTime(e.FirstTimestamp.Add(time.Duration(e.Count) * time.Minute))
	return &e.Event
}

// lease is renewed.
type lease struct{ coordinationv1.Lease }

func newLease(r *rand.Rand, n int) life {
	l := &lease{coordinationv1.Lease{ObjectMeta: metaOf(r, "Lease", n)}}
	holder, seconds := "node-12", int32(40)
	l.Labels, l.Annotations, l.ManagedFields = nil, nil, l.ManagedFields[:1]
	l.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &metav1.MicroTime{Time: since().Time}}
	return l
}

func (l *lease) next(*rand.Rand) Message {
	l.Spec.RenewTime = &metav1.MicroTime{Time: l.Spec.RenewTime.Add(10 * time.Second)}
	return &l.Lease
}
