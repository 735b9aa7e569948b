package workload

import (
	"fmt"
	"math/rand/v2"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// population is how many objects of each kind there are at a time.
const population = 500

// Message is an object that can be encoded in protobuf.
type Message interface {
	runtime.Object
	metav1.Object
	Marshal() ([]byte, error)
	Unmarshal(raw []byte) error
}

// Kind is one kind of object. It is immutable.
type Kind struct {
	schema.GroupVersionKind
	// Empty returns an object to decode what is encoded into.
	Empty func() Message
	begin func(r *rand.Rand, n int) life
	renew func(m Message, n int) // nil: it is served as metadata, of which nothing can be new
}

// Metadata says that objects come as PartialObjectMetadata.
func (k Kind) Metadata() bool { return k.renew == nil }

// encode encodes what an API server sends of an object.
func (k Kind) encode(m Message) ([]byte, error) {
	if !k.Metadata() {
		return m.Marshal()
	}
	var meta metav1.ObjectMeta
	switch o := m.(type) {
	case *discoveryv1.EndpointSlice:
		meta = o.ObjectMeta
	case *corev1.Event:
		meta = o.ObjectMeta
	case *coordinationv1.Lease:
		meta = o.ObjectMeta
	}
	return (&metav1.PartialObjectMetadata{ObjectMeta: meta}).Marshal()
}

// life is what happens to one object.
type life interface {
	// next returns the object after its next event. It is the life's own, and
	// good until the next.
	next(r *rand.Rand) Message
}

// Stream is what a client gets, each object encoded without an envelope.
type Stream struct {
	// Initial are the objects of the first list.
	Initial [][]byte
	// Events are the objects of the events that follow.
	Events [][]byte
}

// Stream returns so many events. Where fresh is set, none has values that any
// object had before; ok is false where the kind has no such values.
func (k Kind) Stream(seed uint64, events int, fresh bool) (s Stream, ok bool, err error) {
	if fresh && k.renew == nil {
		return s, false, nil
	}
	r := rand.New(rand.NewPCG(seed, 0))
	lives := make([]life, population)
	for i := range lives {
		lives[i] = k.begin(r, i)
		for range r.IntN(20) {
			lives[i].next(r)
		}
		raw, err := k.encode(lives[i].next(r))
		if err != nil {
			return s, false, fmt.Errorf("encoding a %s: %w", k.Kind, err)
		}
		s.Initial = append(s.Initial, raw)
	}
	for i := range events {
		m := lives[r.IntN(population)].next(r)
		m.SetResourceVersion(fmt.Sprint(1_000_000_000 + i))
		if fresh {
			m = m.DeepCopyObject().(Message) //nolint:errcheck // a copy has the same type
			k.renew(m, i)
		}
		raw, err := k.encode(m)
		if err != nil {
			return s, false, fmt.Errorf("encoding a %s: %w", k.Kind, err)
		}
		s.Events = append(s.Events, raw)
	}
	return s, true, nil
}

// Envelope puts around what is encoded what an API server does.
func (k Kind) Envelope(raw []byte) ([]byte, error) {
	of := k.GroupVersionKind
	if k.Metadata() {
		of = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
	}
	apiVersion, kind := of.ToAPIVersionAndKind()
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	data, err := u.Marshal()
	return append([]byte("k8s\x00"), data...), err
}
