package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/internal/wire"
	"github.com/countd/countd/pkg/counts"
)

// rememberedBytes bounds what a decoder remembers: the values of the fields, and
// perReading for each reading. Values longer than longestRemembered are not: those of
// custom objects may have any length. A Node with the usual conditions of a problem
// detector has some 400.
const (
	rememberedBytes   = 320 << 10
	perReading        = 64
	longestRemembered = 1024
)

// Decoder decodes the objects of one resource into an [Object] or a [List]. It is safe
// for concurrent use: the goroutine of a watch that has ended may still decode while
// the next one begins.
type Decoder struct {
	rules    state.Rules
	gvk      schema.GroupVersionKind
	metadata bool         // it suffices
	proto    *wire.Schema // nil: the resource is not read in protobuf
	text     *wire.Text

	mu       sync.Mutex
	buffer   []byte
	readings map[string]state.Reading // by the values of the fields
	held     int                      // bytes in readings, as rememberedBytes has them
}

var _ runtime.Serializer = (*Decoder)(nil)

// New returns a decoder of the objects of a resource.
func New(r counts.Resource, rules state.Rules) (*Decoder, error) {
	d := &Decoder{
		rules:    rules,
		gvk:      schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind},
		readings: make(map[string]state.Reading),
	}
	d.metadata = state.MetadataSuffices(d.gvk)
	fields := state.Fields(d.gvk)
	if fields == nil {
		fields = state.CustomFields()
	}
	d.text = wire.NewText(fields...)
	object, ok := typed[d.gvk]
	if d.metadata {
		object, ok = metav1.PartialObjectMetadata{}, true
	}
	if ok {
		var err error
		if d.proto, err = wire.New(object, fields...); err != nil {
			return nil, fmt.Errorf("reading %s: %w", r.Key(), err)
		}
	}
	return d, nil
}

// Decode decodes protobuf or JSON, whichever it finds. It returns an *Object or, where
// into is one, a *List, or the *metav1.Status that the API server sent instead.
func (d *Decoder) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list, _ := into.(*List)
	decode := d.fromJSON
	if bytes.HasPrefix(data, []byte(wire.Prefix)) {
		decode = d.fromProtobuf
	}
	obj, err := decode(data, list)
	if _, refused := obj.(*metav1.Status); refused {
		return obj, &schema.GroupVersionKind{Version: statusVersion, Kind: statusKind}, err
	}
	return obj, &d.gvk, err
}

// What an API server sends instead of what was asked for.
const statusVersion, statusKind = "v1", "Status"

func (d *Decoder) fromProtobuf(data []byte, list *List) (runtime.Object, error) {
	kind, raw, err := wire.Open(data)
	switch {
	case err != nil:
		return nil, err
	case kind == statusKind:
		status := new(metav1.Status)
		return status, status.Unmarshal(raw)
	case d.proto == nil:
		return nil, fmt.Errorf("decode: a %s came in protobuf, which was not asked for", kind)
	case list == nil:
		return d.protobuf(raw)
	case !isList(kind):
		return nil, notList(kind)
	}
	list.ResourceVersion, list.Continue, err = wire.List(raw, func(raw []byte) error {
		o, err := d.protobuf(raw)
		list.Items = append(list.Items, o)
		return err
	})
	return list, err
}

// protobuf reads an object without its envelope.
func (d *Decoder) protobuf(raw []byte) (*Object, error) {
	sparse, err := d.proto.Read(raw, d.buffer)
	if err != nil {
		return nil, err
	}
	return d.object(sparse, func(values []byte) (map[string]any, error) { return d.proto.Object(values), nil }), nil
}

func (d *Decoder) fromJSON(data []byte, list *List) (runtime.Object, error) {
	var said wire.Sparse
	var err error
	if list == nil {
		said, err = d.text.Read(data, d.buffer)
		switch {
		case err != nil || isStatus(said):
		case said.Kind == "":
			return nil, errors.New("decode: what came is no object: it has no kind")
		default:
			return d.object(said, wire.TextObject), nil
		}
	} else {
		said, err = d.text.List(data, d.buffer, func(sparse wire.Sparse) error {
			list.Items = append(list.Items, d.object(sparse, wire.TextObject))
			return nil
		})
		list.ResourceVersion, list.Continue = said.ResourceVersion, said.Continue
	}
	if err != nil {
		return nil, err
	}
	if isStatus(said) {
		status := new(metav1.Status)
		return status, json.Unmarshal(data, status)
	}
	if !isList(said.Kind) {
		return nil, notList(said.Kind)
	}
	return list, nil
}

// isList keeps an answer that is something else from being taken for an empty list.
func isList(kind string) bool { return strings.HasSuffix(kind, "List") }

func notList(kind string) error { return fmt.Errorf("decode: the answer to a list is a %q", kind) }

func isStatus(said wire.Sparse) bool {
	return said.Kind == statusKind && said.APIVersion == statusVersion
}

// object reads the state of what was read.
func (d *Decoder) object(sparse wire.Sparse, content func(values []byte) (map[string]any, error)) *Object {
	d.buffer = sparse.Values
	o := &Object{
		Object:          counts.Object{Namespace: sparse.Namespace, Name: sparse.Name},
		ResourceVersion: sparse.ResourceVersion,
		EndsList:        sparse.EndsList,
	}
	reading, known := d.readings[string(sparse.Values)]
	if !known {
		fields, err := content(sparse.Values)
		if err == nil {
			reading, err = d.rules.Read(d.named(fields), time.Now())
		}
		o.Err = err
		if err == nil && reading.Next == nil && len(sparse.Values) <= longestRemembered {
			d.remember(sparse.Values, reading)
		}
	}
	o.State, o.Steve, o.Next = reading.State, reading.Steve, reading.Next
	return o
}

// remember forgets all where there would be too much: it is faster than to choose.
func (d *Decoder) remember(values []byte, reading state.Reading) {
	size := len(values) + perReading
	if d.held+size > rememberedBytes {
		clear(d.readings)
		d.held = 0
	}
	d.readings[string(values)] = reading
	d.held += size
}

// named gives content, which it owns, the API version and the kind of the resource.
func (d *Decoder) named(content map[string]any) map[string]any {
	content["apiVersion"], content["kind"] = d.gvk.ToAPIVersionAndKind()
	return content
}

// Identifier is that of a runtime.Encoder.
func (d *Decoder) Identifier() runtime.Identifier { return "countd" }

// Encode refuses: nothing is ever written.
func (d *Decoder) Encode(runtime.Object, io.Writer) error {
	return errors.New("countd writes no objects")
}
