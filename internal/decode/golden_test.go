package decode

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rancher/wrangler/v3/pkg/summary"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/pkg/counts"
)

// TestStatesOfRealObjects: of each object of the corpus the two readings are as its author
// wrote them down, on every way on which an object comes, when it is new and when it is
// remembered, now and later; and steve's is wrangler's of the whole object.
func TestStatesOfRealObjects(t *testing.T) {
	scheme := builtIn(t)
	for file, all := range corpus(t) {
		for _, e := range all {
			t.Run(file+"/"+e.Case, func(t *testing.T) {
				typed, err := typedObject(scheme, e.Object, e.text, true)
				if err != nil {
					t.Fatalf("no API server serves it: %v", err)
				}
				for _, rules := range []state.Rules{state.Corrected, state.Wrangler} {
					synctest.Test(t, func(t *testing.T) { e.check(t, rules, typed) })
				}
			})
		}
	}
}

// check looks at an example at each of its times. Only within a bubble of synctest is it
// corpusTime.
func (e example) check(t *testing.T, rules state.Rules, typed runtime.Object) {
	t.Helper()
	gvk := (&unstructured.Unstructured{Object: e.Object}).GroupVersionKind()
	d, err := New(resourceOf(gvk), rules)
	must(t, err)
	ways := e.ways(t, d, gvk, typed)
	own, steve := e.Own, e.Steve
	changes := e.Later
	for at := corpusTime; ; {
		time.Sleep(time.Until(at))
		if w := wranglers(e.Object); w != counts.State(steve) {
			t.Errorf("at %s: wrangler says %+v, the corpus %+v", at, w, counts.State(steve))
		}
		want := expected(rules, own, steve)
		for name, read := range ways {
			for _, time := range []string{"new", "again"} {
				o, err := read()
				if err == nil {
					err = o.Err
				}
				if err != nil {
					t.Errorf("at %s, %s, %s: %v", at, name, time, err)
				} else if diff := cmp.Diff(want, readingOf(o)); diff != "" {
					t.Errorf("at %s, %s, %s (-want +got):\n%s", at, name, time, diff)
				} else if (o.Next != nil) != (len(changes) > 0) && rules == state.Corrected {
					t.Errorf("at %s, %s, %s: next is %+v, want %d changes", at, name, time, o.Next, len(changes))
				}
			}
		}
		if len(changes) == 0 {
			return
		}
		at = corpusTime.Add(time.Duration(changes[0].After))
		if changes[0].Own != nil {
			own = *changes[0].Own
		}
		if changes[0].Steve != nil {
			steve = *changes[0].Steve
		}
		changes = changes[1:]
	}
}

// both are the two readings of an object.
type both struct{ Own, Steve counts.State }

func expected(rules state.Rules, own, steve said) both {
	if rules == state.Wrangler {
		own = steve
	}
	return both{counts.State(own), counts.State(steve)}
}

func readingOf(o *Object) both {
	if o.Steve == nil {
		return both{o.State, o.State}
	}
	return both{o.State, *o.Steve}
}

// wranglers is what wrangler says of a whole object.
func wranglers(content map[string]any) counts.State {
	s := summary.Summarize(&unstructured.Unstructured{Object: content})
	if s.State == "active" {
		s.State = ""
	}
	return counts.State{Word: s.State, Error: s.Error, Transitioning: s.Transitioning}
}

// ways are all on which an object comes, by name.
func (e example) ways(t *testing.T, d *Decoder, gvk schema.GroupVersionKind, typed runtime.Object) map[string]func() (*Object, error) {
	t.Helper()
	ways := map[string]func() (*Object, error){
		"whole": func() (*Object, error) {
			r, err := d.rules.Read(e.Object, time.Now())
			return &Object{Object: counts.Object{State: r.State, Steve: r.Steve}, Next: r.Next}, err
		},
		"informer of unstructured": func() (*Object, error) {
			return d.Informed(&unstructured.Unstructured{Object: e.Object})
		},
	}
	add := func(name string, text []byte, kind string) {
		ways[name] = func() (*Object, error) { return decodeOne(d, text) }
		page := fmt.Appendf(nil, `{"kind":%q,"metadata":{"resourceVersion":"9"},"items":[%s,%[2]s]}`, kind+"List", text)
		ways[name+" list"] = func() (*Object, error) { return decodeListed(d, page) }
	}
	add("JSON", e.text, gvk.Kind)
	if typed != nil {
		ways["informer"] = func() (*Object, error) { return d.Informed(typed) }
	}
	binary := func(name, kind string, object any) {
		m, ok := object.(marshaler)
		if !ok {
			t.Fatalf("%T has no protobuf", object)
		}
		data := inEnvelope(t, kind, m)
		ways[name] = func() (*Object, error) { return decodeOne(d, data) }
		page := inEnvelope(t, kind+"List", pageOf(t, m))
		ways[name+" list"] = func() (*Object, error) { return decodeListed(d, page) }
	}
	switch {
	case d.metadata:
		partial := new(metav1.PartialObjectMetadata)
		must(t, json.Unmarshal(e.text, partial))
		ways["informer of metadata"] = func() (*Object, error) { return d.Informed(partial) }
		partial.APIVersion, partial.Kind = "meta.k8s.io/v1", "PartialObjectMetadata"
		text, err := json.Marshal(partial)
		must(t, err)
		add("JSON of metadata", text, partial.Kind)
		binary("protobuf of metadata", partial.Kind, partial)
	case d.proto != nil:
		binary("protobuf", gvk.Kind, typed)
	}
	return ways
}

func decodeOne(d *Decoder, data []byte) (*Object, error) {
	decoded, _, err := d.Decode(data, nil, nil)
	o, ok := decoded.(*Object)
	if err == nil && !ok {
		err = fmt.Errorf("decoded is a %T", decoded)
	}
	return o, err
}

// decodeListed decodes a list with the same object in it twice, and returns the second.
func decodeListed(d *Decoder, data []byte) (*Object, error) {
	page := new(List)
	if _, _, err := d.Decode(data, nil, page); err != nil {
		return nil, err
	}
	if len(page.Items) != 2 {
		return nil, fmt.Errorf("%d objects were read of a list of 2", len(page.Items))
	}
	return page.Items[1], nil
}

// encoded is what was encoded before.
type encoded []byte

func (e encoded) Marshal() ([]byte, error) { return e, nil }

// pageOf is a list with an object in it twice: lists of all kinds have the same encoding.
func pageOf(t *testing.T, object marshaler) encoded {
	t.Helper()
	meta, err := (&metav1.ListMeta{ResourceVersion: "9"}).Marshal()
	must(t, err)
	item, err := object.Marshal()
	must(t, err)
	page := protowire.AppendTag(nil, 1, protowire.BytesType)
	page = protowire.AppendBytes(page, meta)
	for range 2 {
		page = protowire.AppendTag(page, 2, protowire.BytesType)
		page = protowire.AppendBytes(page, item)
	}
	return page
}
