package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/countd/countd/internal/state"
)

// TestPartSaysTheSame: whatever values all of an object's fields have, what is said of
// the few that are read is what is said of the whole object, by wrangler
// and by countd, on each way that an object comes: in protobuf, in JSON and from an informer.
func TestPartSaysTheSame(t *testing.T) {
	words := words()
	for gvk, object := range typed {
		t.Run(gvk.Kind, func(t *testing.T) {
			t.Parallel()
			said := make(map[any]int)
			d := newDecoder(t, resourceOf(gvk))
			rapid.Check(t, func(t *rapid.T) {
				seed := rapid.Uint64().Draw(t, "seed")
				for i := range uint64(objectsASeed) {
					o := reflect.New(reflect.TypeOf(object))
					newFiller(rand.NewPCG(seed+i, 0), words, time.Now()).fill(o.Elem(), 0)
					want, err := samePart(d, gvk, o.Interface())
					if err != nil {
						t.Fatal(err)
					}
					said[want.State]++
				}
			})
			if len(said) < 2 {
				t.Errorf("only %d states were seen: %v", len(said), said)
			}
		})
	}
}

// objectsASeed objects are made of each of a hundred seeds.
const objectsASeed = 4

// samePart reads an object as a whole and in each other way, and wants the same.
func samePart(d *Decoder, gvk schema.GroupVersionKind, object any) (state.Reading, error) {
	m, ok := object.(interface {
		marshaler
		metav1.Object
		runtime.Object
	})
	if !ok {
		return state.Reading{}, errors.New("an object that has no protobuf")
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return state.Reading{}, err
	}
	content["apiVersion"], content["kind"] = gvk.ToAPIVersionAndKind()
	want, err := d.rules.Read(content, time.Now())
	if err != nil {
		return want, err
	}
	raw, err := m.Marshal()
	if err != nil {
		return want, err
	}
	text, err := json.Marshal(content)
	if err != nil {
		return want, err
	}
	d.mu.Lock()
	fromProtobuf, err := d.protobuf(raw)
	d.mu.Unlock()
	if err != nil {
		return want, err
	}
	fromJSON, _, err := d.Decode(text, nil, nil)
	if err != nil {
		return want, err
	}
	informed, err := d.Informed(object)
	if err != nil {
		return want, err
	}
	dynamic, err := d.Informed(&unstructured.Unstructured{Object: content})
	if err != nil {
		return want, err
	}
	for way, got := range map[string]any{"protobuf": fromProtobuf, "JSON": fromJSON, "informer": informed, "dynamic informer": dynamic} {
		if err := isSame(want, got, m); err != nil {
			return want, errors.New("in " + way + " and of the whole object: " + err.Error() + "\n" + string(text))
		}
	}
	return want, nil
}

func isSame(want state.Reading, got any, m metav1.Object) error {
	o, ok := got.(*Object)
	switch {
	case !ok:
		return errors.New("no object was read")
	case o.Err != nil:
		return o.Err
	case o.Namespace != m.GetNamespace() || o.Name != m.GetName():
		return errors.New("the name is " + o.Namespace + "/" + o.Name)
	}
	if diff := cmp.Diff(want, state.Reading{State: o.State, Steve: o.Steve, Next: o.Next}); diff != "" {
		return errors.New(diff)
	}
	return nil
}

// TestCustomSaysTheSame is the same for a kind of which only conventions are known, with
// fields of types that do not belong there.
func TestCustomSaysTheSame(t *testing.T) {
	words := words()
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "example.com", Version: "v1", Kind: "Widget"},
		{Group: "management.cattle.io", Version: "v3", Kind: "Cluster"},
		{Group: "cluster.x-k8s.io", Version: "v1beta1", Kind: "MachineDeployment"},
		{Group: "serving.knative.dev", Version: "v1", Kind: "Service"},
	} {
		t.Run(gvk.Group, func(t *testing.T) {
			t.Parallel()
			said, changes := make(map[any]int), 0
			d := newDecoder(t, resourceOf(gvk))
			rapid.Check(t, func(t *rapid.T) {
				seed := rapid.Uint64().Draw(t, "seed")
				for i := range uint64(objectsASeed) {
					want, err := sameCustom(d, gvk, newFiller(rand.NewPCG(seed+i, 0), words, time.Now()))
					if err != nil {
						t.Fatal(err)
					}
					said[want.State]++
					if want.Next != nil {
						changes++
					}
				}
			})
			if len(said) < 8 || changes == 0 {
				t.Errorf("%d states were seen, %d that are to change", len(said), changes)
			}
		})
	}
}

// sameCustom reads a random object as a whole and in JSON, and wants the same.
func sameCustom(d *Decoder, gvk schema.GroupVersionKind, f filler) (state.Reading, error) {
	text, err := json.Marshal(f.custom(gvk))
	if err != nil {
		return state.Reading{}, err
	}
	whole := new(unstructured.Unstructured) // as client-go's dynamic client has it
	if err := whole.UnmarshalJSON(text); err != nil {
		return state.Reading{}, err
	}
	want, wantErr := d.rules.Read(whole.Object, time.Now())
	decoded, _, err := d.Decode(text, nil, nil)
	if err != nil {
		return want, err
	}
	got, ok := decoded.(*Object)
	if !ok {
		return want, fmt.Errorf("decoded is a %T", decoded)
	}
	if wantErr != nil {
		if got.Err == nil {
			return want, fmt.Errorf("whole it is %w, in part %+v", wantErr, got.State)
		}
		return want, nil
	}
	if err := isSame(want, got, whole); err != nil {
		return want, fmt.Errorf("in part and of the whole object: %w\n%s", err, text)
	}
	return want, nil
}
