package cluster

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/countd/countd/pkg/counts"
)

// informedReader reads the states of an informer's objects. wrangler converts a typed
// object to an unstructured one first, which for a Pod costs more than all else; so
// a typed object of a kind that is read in part is encoded and read like one that
// comes from the API server, and of one whose metadata suffices only that is converted.
type informedReader struct {
	gvk      schema.GroupVersionKind
	metadata bool
	typed    reflect.Type // of the objects that decoder can read; nil: none
	decoder  *partialDecoder
}

func newInformedReader(r counts.Resource) (*informedReader, error) {
	ir := &informedReader{
		gvk:      schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind},
		metadata: metadataSuffices[r.Key()],
	}
	fields, err := schemaOf(r)
	if err != nil {
		return nil, err
	}
	if fields != nil && !ir.metadata {
		ir.typed = reflect.PointerTo(reflect.TypeOf(partly[r.Key()].object))
		ir.decoder = newPartialDecoder(fields, ir.gvk)
	}
	return ir, nil
}

// state returns the state of an object, whatever it is for a Go type. It is safe for
// concurrent use.
func (ir *informedReader) state(obj runtime.Object) (counts.State, error) {
	if ir.metadata {
		m, err := meta.Accessor(obj)
		if err != nil {
			return counts.State{}, err
		}
		return stateOf(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			DeletionTimestamp: m.GetDeletionTimestamp(), Annotations: m.GetAnnotations(),
		}}, ir.gvk)
	}
	if encoded, ok := obj.(interface{ Marshal() ([]byte, error) }); ok && ir.typed != nil && reflect.TypeOf(obj) == ir.typed {
		raw, err := encoded.Marshal()
		if err != nil {
			return counts.State{}, fmt.Errorf("encoding %T: %w", obj, err)
		}
		ir.decoder.mu.Lock()
		defer ir.decoder.mu.Unlock()
		p, err := ir.decoder.object(raw)
		if err != nil {
			return counts.State{}, fmt.Errorf("reading %T: %w", obj, err)
		}
		return p.State, p.err
	}
	return stateOf(obj, ir.gvk)
}
