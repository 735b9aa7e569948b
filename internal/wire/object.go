package wire

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// someTime stands for a time that is there: which it is does not matter to who
// reads with a schema.
const someTime = "1970-01-01T00:00:00Z"

// Object returns values that the schema read as the content of an unstructured
// object, which the caller owns. It lacks apiVersion, kind and identity. Numbers are
// int64, as in an unstructured object that was decoded from JSON.
func (s *Schema) Object(values []byte) map[string]any {
	object, _ := s.root.object(values)
	return object
}

// object reads what Sparse.read has written, up to the end of the message, and
// returns what is left.
func (m *message) object(values []byte) (map[string]any, []byte) {
	object := make(map[string]any)
	for len(values) > 0 {
		number, n := protowire.ConsumeVarint(values)
		values = values[n:]
		if number == 0 {
			break
		}
		f := m.fields[number]
		var value any
		switch f.kind {
		case kindMessage:
			value, values = f.message.object(values)
		case kindTime:
			value = someTime
		case kindInt, kindBool:
			v, n := protowire.ConsumeVarint(values)
			values = values[n:]
			value = v != 0
			if f.kind == kindInt {
				value = int64(v & math.MaxUint64) //nolint:gosec // two's complement, as protobuf has it
			}
		case kindMap:
			key, n := protowire.ConsumeString(values)
			values = values[n:]
			text, n := protowire.ConsumeString(values)
			values = values[n:]
			entries, ok := object[f.name].(map[string]any)
			if !ok {
				entries = make(map[string]any)
			}
			entries[key] = text
			value = entries
		default:
			text, n := protowire.ConsumeString(values)
			values = values[n:]
			value = text
		}
		if f.list {
			list, _ := object[f.name].([]any)
			value = append(list, value)
		}
		object[f.name] = value
	}
	return object, values
}
