package wire

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Sparse is what is read of an object.
type Sparse struct {
	Namespace, Name, ResourceVersion string
	// EndsList says that the object is the bookmark that ends a streaming list.
	EndsList bool
	// Kind and APIVersion are read from JSON only: protobuf has them in its envelope.
	Kind, APIVersion string
	// Continue is the token of a list in JSON that asks for what follows.
	Continue string
	// Values are the fields of the schema that the object has, in a form of the
	// package's own; see [Schema.Object]
	// and [TextObject]. They are appended to what Read was given.
	Values []byte
}

var errMalformed = errors.New("wire: malformed protobuf")

// Read reads the encoding of an object, without the envelope that Kubernetes puts
// around it. It appends the values to buffer, whose content is overwritten, so that
// who reads many objects one after the other allocates once. The bytes of raw are not
// kept. What the schema does not know is skipped.
func (s *Schema) Read(raw, buffer []byte) (Sparse, error) {
	var o Sparse
	o.Values = buffer[:0]
	err := o.read(s.root, raw)
	return o, err
}

// read appends the fields of one message: each is its number, then its value, which
// for a message is its fields and a 0, and otherwise bytes with their length.
func (o *Sparse) read(m *message, raw []byte) error {
	for len(raw) > 0 {
		number, wireType, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return errMalformed
		}
		raw = raw[n:]
		var f *field
		if int(number) < len(m.fields) {
			f = m.fields[number]
		}
		if f == nil || wireType != f.wireType() {
			if n = protowire.ConsumeFieldValue(number, wireType, raw); n < 0 {
				return errMalformed
			}
			raw = raw[n:]
			continue
		}
		if wireType == protowire.VarintType {
			v, n := protowire.ConsumeVarint(raw)
			if n < 0 {
				return errMalformed
			}
			raw = raw[n:]
			if v != 0 || !f.omitEmpty {
				o.begin(number)
				o.Values = protowire.AppendVarint(o.Values, v)
			}
			continue
		}
		v, n := protowire.ConsumeBytes(raw)
		if n < 0 {
			return errMalformed
		}
		raw = raw[n:]
		if err := o.take(number, f, v); err != nil {
			return err
		}
	}
	return nil
}

func (f *field) wireType() protowire.Type {
	if f.kind == kindInt || f.kind == kindBool {
		return protowire.VarintType
	}
	return protowire.BytesType
}

// take takes a field that is bytes on the wire.
func (o *Sparse) take(number protowire.Number, f *field, v []byte) error {
	switch f.identity {
	case isName:
		o.Name = string(v)
		return nil
	case isNamespace:
		o.Namespace = string(v)
		return nil
	case isVersion:
		o.ResourceVersion = string(v)
		return nil
	}
	switch f.kind {
	case kindMessage:
		at := len(o.Values)
		o.begin(number)
		begun := len(o.Values)
		if err := o.read(f.message, v); err != nil {
			return err
		}
		if len(o.Values) == begun && !f.list && len(f.message.fields) > 0 {
			o.Values = o.Values[:at] // it has nothing that is read
			return nil
		}
		o.Values = append(o.Values, 0)
	case kindTime:
		if len(v) > 0 { // an empty one is the zero time
			o.begin(number)
		}
	case kindMap:
		key, value, err := entry(v)
		if err != nil {
			return err
		}
		if f.identity == isAnnotations && string(key) == metav1.InitialEventsAnnotationKey {
			o.EndsList = string(value) == "true"
			return nil
		}
		for _, wanted := range f.keys {
			if wanted == string(key) {
				o.begin(number)
				o.Values = protowire.AppendBytes(o.Values, key)
				o.Values = protowire.AppendBytes(o.Values, value)
			}
		}
	default:
		if len(v) > 0 || !f.omitEmpty {
			o.begin(number)
			o.Values = protowire.AppendBytes(o.Values, v)
		}
	}
	return nil
}

func (o *Sparse) begin(number protowire.Number) {
	o.Values = protowire.AppendVarint(o.Values, uint64(number)) //nolint:gosec // field numbers are positive
}

// entry reads an entry of a map of strings.
func entry(raw []byte) (key, value []byte, err error) {
	for len(raw) > 0 {
		number, wireType, n := protowire.ConsumeTag(raw)
		if n < 0 || wireType != protowire.BytesType {
			return nil, nil, errMalformed
		}
		raw = raw[n:]
		v, n := protowire.ConsumeBytes(raw)
		if n < 0 {
			return nil, nil, errMalformed
		}
		raw = raw[n:]
		switch number {
		case 1:
			key = v
		case 2:
			value = v
		}
	}
	return key, value, nil
}
