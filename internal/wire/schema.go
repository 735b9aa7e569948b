package wire

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Schema says which fields of an object are read.
type Schema struct {
	root *message
}

// message is what is read of a protobuf message: fields by their number.
type message struct {
	fields []*field // nil where a number is skipped
}

// field is one that is read.
type field struct {
	name string // in JSON
	kind kind
	list bool
	// omitEmpty: a zero value is left out of the JSON form.
	omitEmpty bool
	message   *message // of a kindMessage
	keys      []string // of a kindMap: the keys that are read
	identity  identity
}

type kind uint8

const (
	kindString kind = iota
	kindInt
	kindBool
	kindMessage
	kindTime // only its presence is told
	kindMap  // of strings
)

// identity says which part of a Sparse a field is. Such a field is not among the
// values, which many objects share.
type identity uint8

const (
	none identity = iota
	isName
	isNamespace
	isVersion
	isAnnotations // of which one says that an initial list is complete
	isKind
	isAPIVersion
	isContinue
)

// New returns the schema that reads the given fields of a Go type of Kubernetes'
// API. A path is of JSON names, through lists as if they were not there; what follows
// a map is one of its keys: "status.conditions.type", "metadata.annotations.a/b". A
// path that names no field is an error.
func New(object any, paths ...string) (*Schema, error) {
	t := reflect.TypeOf(object)
	s := &Schema{root: new(message)}
	for _, path := range paths {
		if err := s.root.add(t, path); err != nil {
			return nil, fmt.Errorf("wire: field %q of %s: %w", path, t, err)
		}
	}
	for path, is := range map[string]identity{
		"metadata.name":            isName,
		"metadata.namespace":       isNamespace,
		"metadata.resourceVersion": isVersion,
		"metadata.annotations." + metav1.InitialEventsAnnotationKey: isAnnotations,
	} {
		if err := s.root.add(t, path); err != nil {
			return nil, fmt.Errorf("wire: %s has no object metadata: %w", t, err)
		}
		s.root.at(path).identity = is
	}
	return s, nil
}

// at returns the field that a path that was added ends in.
func (m *message) at(path string) *field {
	for _, f := range m.fields {
		if f == nil {
			continue
		}
		if rest, ok := strings.CutPrefix(path, f.name); ok && (rest == "" || rest[0] == '.') {
			if f.kind == kindMessage && rest != "" {
				return f.message.at(rest[1:])
			}
			return f
		}
	}
	return nil
}

// add adds a path of a struct.
func (m *message) add(t reflect.Type, path string) error {
	name, rest, _ := strings.Cut(path, ".")
	sf, number, ok := lookup(t, name)
	if !ok {
		return fmt.Errorf("%s has no field %q", t, name)
	}
	for int(number) >= len(m.fields) {
		m.fields = append(m.fields, nil)
	}
	f := m.fields[number]
	if f == nil {
		f = &field{name: name, omitEmpty: strings.Contains(sf.Tag.Get("json"), ",omitempty") && sf.Type.Kind() != reflect.Pointer}
		m.fields[number] = f
	}
	of := sf.Type
	if of.Kind() == reflect.Slice {
		f.list, of = true, of.Elem()
	}
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of == reflect.TypeFor[metav1.Time]():
		f.kind = kindTime
	case of.Kind() == reflect.Struct:
		f.kind = kindMessage
		if f.message == nil {
			f.message = new(message)
		}
		if rest == "" {
			return nil // only that it is there
		}
		return f.message.add(of, rest)
	case of.Kind() == reflect.Map && of.Elem().Kind() == reflect.String && rest != "":
		f.kind = kindMap
		f.keys = append(f.keys, rest)
		return nil
	case of.Kind() == reflect.String:
		f.kind = kindString
	case of.Kind() == reflect.Bool:
		f.kind = kindBool
	case of.Kind() == reflect.Int32 || of.Kind() == reflect.Int64:
		f.kind = kindInt
	default:
		return fmt.Errorf("cannot read a %s", of)
	}
	if rest != "" {
		return fmt.Errorf("%s has no fields", of)
	}
	return nil
}

// lookup finds a field by its JSON name, and its protobuf number.
func lookup(t reflect.Type, name string) (reflect.StructField, protowire.Number, bool) {
	for sf := range t.Fields() {
		tag, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		wire := strings.Split(sf.Tag.Get("protobuf"), ",")
		if tag != name || len(wire) < 2 {
			continue
		}
		number, err := strconv.ParseInt(wire[1], 10, 32)
		if err != nil {
			continue
		}
		return sf, protowire.Number(number), true
	}
	return reflect.StructField{}, 0, false
}
