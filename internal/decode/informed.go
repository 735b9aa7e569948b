package decode

import (
	"fmt"
	"maps"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/countd/countd/pkg/counts"
)

// Informed reads an object that an informer holds, of whatever Go type. To convert a
// typed one to what wrangler reads costs more than all else; so one of a kind that is
// read in protobuf is encoded, and read like one that comes from the API server, and of
// one whose metadata suffices only that is. The object is not modified.
//
// An error is that obj is no object at all.
func (d *Decoder) Informed(obj any) (*Object, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("decode: %T: %w", obj, err)
	}
	o, err := d.informed(m, obj)
	if err != nil {
		o = &Object{Err: err}
	}
	o.Object.Namespace, o.Object.Name = m.GetNamespace(), m.GetName()
	return o, nil
}

// informed returns an object that the caller owns.
func (d *Decoder) informed(m metav1.Object, obj any) (*Object, error) {
	if d.metadata {
		return d.encoded(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			DeletionTimestamp: m.GetDeletionTimestamp(), Annotations: m.GetAnnotations(),
		}})
	}
	if t, ok := typed[d.gvk]; ok && reflect.TypeOf(obj) == reflect.PointerTo(reflect.TypeOf(t)) {
		if encodes, ok := obj.(marshaler); ok {
			return d.encoded(encodes)
		}
	}
	var content map[string]any
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content = maps.Clone(u.Object)
	} else {
		var err error
		if content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj); err != nil {
			return nil, fmt.Errorf("converting %T: %w", obj, err)
		}
	}
	reading, err := d.rules.Read(d.named(content), time.Now())
	return &Object{Object: counts.Object{State: reading.State, Steve: reading.Steve}, Next: reading.Next}, err
}

// marshaler is what encodes itself in protobuf.
type marshaler interface{ Marshal() ([]byte, error) }

func (d *Decoder) encoded(obj marshaler) (*Object, error) {
	raw, err := obj.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", obj, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.protobuf(raw)
}
