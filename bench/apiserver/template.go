package apiserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The placeholders of what differs between the objects of one template. Each is as
// wide as every value that it stands for, and stands nowhere else in an object.
const (
	appPlace       = "@APP@@"       // twenty objects have the same; decimal
	serialPlace    = "@SER@@"       // the object's number; hexadecimal
	namespacePlace = "@NSP@@"       // decimal
	nodePlace      = "@NOD"         // decimal
	addressPlace   = "@ADDRES"      // the end of an IP address: 1dd.1dd
	versionPlace   = "@VERSION@@"   // decimal, without zeros before it
	uidPlace       = "@UID@@@@@@@@" // hexadecimal
	ownerPlace     = "@OWNER@@@@@@" // hexadecimal
)

var places = [...]string{appPlace, serialPlace, namespacePlace, nodePlace, addressPlace, versionPlace, uidPlace, ownerPlace}

// Most objects and namespaces that fit into the placeholders.
const (
	maxObjects    = 10_000_000
	maxNamespaces = 1_000_000
)

// values are what stands in the places of one object, in the order of places.
type values [len(places)][12]byte

func (v *values) set(o object) {
	decimal(v[0][:len(appPlace)], o.number/20)
	hexadecimal(v[1][:len(serialPlace)], o.number)
	decimal(v[2][:len(namespacePlace)], o.namespace)
	decimal(v[3][:len(nodePlace)], o.number%200)
	decimal(v[4][:3], 100+o.number/100%100)
	v[4][3] = '.'
	decimal(v[4][4:len(addressPlace)], 100+o.number%100)
	decimal(v[5][:len(versionPlace)], o.version)
	hexadecimal(v[6][:len(uidPlace)], o.number)
	hexadecimal(v[7][:len(ownerPlace)], o.number/20)
}

func decimal(b []byte, n int) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}

func hexadecimal(b []byte, n int) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = "0123456789abcdef"[n&15]
		n >>= 4
	}
}

// form is one encoding of a template. It is immutable.
type form struct {
	text  []byte
	slots []slot
}

// slot is where a value belongs.
type slot struct{ at, place, width int }

func newForm(text []byte) form {
	f := form{text: text}
	for place, name := range places {
		for from := 0; ; {
			i := bytes.Index(text[from:], []byte(name))
			if i < 0 {
				break
			}
			f.slots = append(f.slots, slot{at: from + i, place: place, width: len(name)})
			from += i + len(name)
		}
	}
	return f
}

func (f form) append(b []byte, v *values) []byte {
	begin := len(b)
	b = append(b, f.text...)
	object := b[begin:]
	for _, s := range f.slots {
		copy(object[s.at:], v[s.place][:s.width])
	}
	return b
}

type eventType int

const (
	added eventType = iota
	modified
	deleted
)

var eventNames = [...]string{added: "ADDED", modified: "MODIFIED", deleted: "DELETED"}

// template is an object with placeholders, in one encoding. It is immutable.
type template struct {
	item   form                  // in a list
	events [len(eventNames)]form // in a watch
}

// message is an object that can be encoded in both ways.
type message interface {
	runtime.Object
	metav1.Object
	Marshal() ([]byte, error)
}

// newTemplate encodes an object, or its metadata alone.
func (e encoding) newTemplate(m message) (t template, err error) {
	if e.metadata {
		m = partial(m)
	}
	item, err := e.item(m)
	if err != nil {
		return t, err
	}
	t.item = newForm(item)
	for i, name := range eventNames {
		event, err := e.event(name, m)
		if err != nil {
			return t, err
		}
		t.events[i] = newForm(event)
	}
	return t, nil
}

// partial is the metadata of an object as an object. It shares its maps.
func partial(m message) *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}}
	switch m := m.(type) {
	case *corev1.Pod:
		p.ObjectMeta = m.ObjectMeta
	case *corev1.ConfigMap:
		p.ObjectMeta = m.ObjectMeta
	case *metav1.PartialObjectMetadata:
		p.ObjectMeta = m.ObjectMeta
	}
	return p
}

// item is an object in a list: whole ones have no kind there.
func (e encoding) item(m message) ([]byte, error) {
	if e.protobuf {
		raw, err := m.Marshal()
		return appendField(nil, 2, raw), err
	}
	if !e.metadata {
		kinds := m.GetObjectKind()
		gvk := kinds.GroupVersionKind()
		kinds.SetGroupVersionKind(schema.GroupVersionKind{})
		defer kinds.SetGroupVersionKind(gvk)
	}
	return json.Marshal(m)
}

// event is a whole event of a watch. In protobuf it begins with its length, in 4
// bytes, and has the object in its envelope.
func (e encoding) event(name string, obj interface {
	runtime.Object
	Marshal() ([]byte, error)
},
) ([]byte, error) {
	if !e.protobuf {
		text, err := json.Marshal(obj)
		return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", name, text), err
	}
	raw, err := envelope(obj)
	if err != nil {
		return nil, err
	}
	event := metav1.WatchEvent{Type: name, Object: runtime.RawExtension{Raw: raw}}
	body, err := event.Marshal()
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), nil
}

// encode returns the templates of a kind, by number.
func (e encoding) encode(kind string) ([]template, error) {
	var messages []message
	switch kind {
	case "Pod":
		for state := range podStates {
			for n := range maxContainers {
				messages = append(messages, pod(state, n+1))
			}
		}
	case "ConfigMap":
		for lines := range slices.Values([]int{10, 40, 70, 100}) {
			messages = append(messages, &corev1.ConfigMap{
				TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, ObjectMeta: objectMeta(),
				Data: map[string]string{"config.yaml": strings.Repeat("log_level: info\n", lines)},
			})
		}
	default:
		messages = append(messages, custom(kind))
	}
	templates := make([]template, len(messages))
	for i, m := range messages {
		var err error
		if templates[i], err = e.newTemplate(m); err != nil {
			return nil, fmt.Errorf("encoding a %s: %w", kind, err)
		}
	}
	return templates, nil
}

// templateOf is the number of an object's template.
func templateOf(kind string, o object) int {
	if kind == "Pod" {
		return int(o.state())*maxContainers + o.containers() - 1
	}
	if kind == "ConfigMap" {
		return int(o.chance() % 4)
	}
	return 0
}
