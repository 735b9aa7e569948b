package wire

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// Text says which fields of an object are read out of JSON. It is immutable.
type Text struct {
	root, list *node
}

// node is what is read of a JSON object: members by their name. One without
// members is read as it is, with all that is in it.
type node struct {
	members  map[string]*node
	identity identity
}

// annotations is the path after which all is one key.
const annotations = "metadata.annotations."

// listNode has the members of a list that are read, besides its items.
func listNode() *node {
	n := new(node)
	n.add("kind").identity = isKind
	n.add("apiVersion").identity = isAPIVersion
	n.add("metadata.resourceVersion").identity = isVersion
	n.add("metadata.continue").identity = isContinue
	return n
}

// NewText returns what reads fields out of JSON. The paths are those of [New]; but no
// type is certain, so what is found on the way of a path and is neither an object nor a
// list is read as it is.
func NewText(paths ...string) *Text {
	root := new(node)
	for _, path := range paths {
		root.add(path)
	}
	root.add("kind").identity = isKind
	root.add("apiVersion").identity = isAPIVersion
	root.add("metadata.name").identity = isName
	root.add("metadata.namespace").identity = isNamespace
	root.add("metadata.resourceVersion").identity = isVersion
	root.add(annotations + metav1.InitialEventsAnnotationKey).identity = isAnnotations
	return &Text{root: root, list: listNode()}
}

func (n *node) add(path string) *node {
	names := strings.Split(path, ".")
	if key, ok := strings.CutPrefix(path, annotations); ok {
		names = []string{"metadata", "annotations", key}
	}
	for _, name := range names {
		if n.members == nil {
			n.members = make(map[string]*node)
		}
		if n.members[name] == nil {
			n.members[name] = new(node)
		}
		n = n.members[name]
	}
	return n
}

// Read reads an object. It appends its values to buffer as [Schema.Read] does: they
// are the JSON of an object that has the fields and nothing else.
func (t *Text) Read(raw, buffer []byte) (Sparse, error) {
	o := Sparse{Values: buffer[:0]}
	err := o.readText(decoder(raw), t.root)
	return o, err
}

// List reads a list: its own identity, with the token that asks for what follows, and
// calls item with each object. Of an answer that is no list the identity is all that is read.
func (t *Text) List(raw, buffer []byte, item func(Sparse) error) (Sparse, error) {
	var o Sparse
	d := decoder(raw)
	err := members(d, func(name []byte) error {
		if string(name) != "items" {
			return o.member(d, t.list.members[string(name)])
		}
		return elements(d, func() error {
			i := Sparse{Values: buffer[:0]}
			if err := i.readText(d, t.root); err != nil {
				return err
			}
			buffer = i.Values
			return item(i)
		})
	})
	return o, err
}

// TextObject returns values that a Text has read, as [Schema.Object] does those of a
// Schema. The caller owns it.
func TextObject(values []byte) (object map[string]any, err error) {
	err = json.Unmarshal(values, &object)
	return object, err
}

// decoder reads what is there, as Kubernetes' own does: whatever is not well-formed
// was let in by an API server.
func decoder(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// readText appends what a node wants of the next value.
func (o *Sparse) readText(d *jsontext.Decoder, n *node) error {
	switch kind := d.PeekKind(); {
	case n.members == nil || kind != '{' && kind != '[':
		value, err := d.ReadValue()
		o.Values = append(o.Values, value...)
		return malformed(err)
	case kind == '[':
		o.Values = append(o.Values, '[')
		first := true
		err := elements(d, func() error {
			if !first {
				o.Values = append(o.Values, ',')
			}
			first = false
			return o.readText(d, n)
		})
		o.Values = append(o.Values, ']')
		return err
	}
	o.Values = append(o.Values, '{')
	begun := len(o.Values)
	err := members(d, func(name []byte) error {
		m := n.members[string(name)]
		if m == nil || m.identity != none {
			return o.member(d, m)
		}
		if len(o.Values) > begun {
			o.Values = append(o.Values, ',')
		}
		o.Values = append(append(append(o.Values, '"'), name...), `":`...) // the name is of a path
		return o.readText(d, m)
	})
	o.Values = append(o.Values, '}')
	return err
}

// member takes the next value for what is identity in it, and nothing else.
func (o *Sparse) member(d *jsontext.Decoder, n *node) error {
	kind := d.PeekKind()
	switch {
	case n != nil && n.members != nil && kind == '{':
		return members(d, func(name []byte) error { return o.member(d, n.members[string(name)]) })
	case n == nil || n.identity == none || kind != '"':
		return malformed(d.SkipValue())
	}
	value, err := d.ReadToken()
	if err != nil {
		return malformed(err)
	}
	switch text := value.String(); n.identity {
	case isKind:
		o.Kind = text
	case isAPIVersion:
		o.APIVersion = text
	case isName:
		o.Name = text
	case isNamespace:
		o.Namespace = text
	case isVersion:
		o.ResourceVersion = text
	case isContinue:
		o.Continue = text
	case isAnnotations:
		o.EndsList = text == "true"
	case none:
	}
	return nil
}

// members calls f for each member of the object that follows, whose value f consumes;
// the name is good until then. Nothing that is not an object has any.
func members(d *jsontext.Decoder, f func(name []byte) error) error {
	if d.PeekKind() != '{' {
		return malformed(d.SkipValue())
	}
	if _, err := d.ReadToken(); err != nil {
		return malformed(err)
	}
	for d.PeekKind() == '"' {
		quoted, err := d.ReadValue()
		if err != nil {
			return malformed(err)
		}
		name := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name, _ = jsontext.AppendUnquote(nil, quoted) // it was read, so it is well-formed
		}
		if err := f(name); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return malformed(err)
}

// elements calls f for each element of the list that follows, which f consumes.
func elements(d *jsontext.Decoder, f func() error) error {
	if d.PeekKind() != '[' {
		return malformed(d.SkipValue())
	}
	if _, err := d.ReadToken(); err != nil {
		return malformed(err)
	}
	for kind := d.PeekKind(); kind != ']' && kind != jsontext.KindInvalid; kind = d.PeekKind() {
		if err := f(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return malformed(err)
}

func malformed(err error) error {
	if err != nil {
		return fmt.Errorf("wire: malformed JSON: %w", err)
	}
	return nil
}
