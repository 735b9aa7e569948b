package decode

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"go.uber.org/goleak"

	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/internal/wire"
	"github.com/countd/countd/pkg/counts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	pods    = counts.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	secrets = counts.Resource{Version: "v1", Name: "secrets", Kind: "Secret", Namespaced: true}
	widgets = counts.Resource{Group: "example.com", Version: "v1", Name: "widgets", Kind: "Widget", Namespaced: true}
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newDecoder(t testing.TB, r counts.Resource) *Decoder {
	t.Helper()
	d, err := New(r, state.Corrected)
	must(t, err)
	return d
}

// resourceOf is a resource of a kind, of whose name nothing depends.
func resourceOf(gvk schema.GroupVersionKind) counts.Resource {
	return counts.Resource{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: "things"}
}

// inEnvelope is an object as an API server sends it in protobuf.
func inEnvelope(t testing.TB, kind string, object marshaler) []byte {
	t.Helper()
	raw, err := object.Marshal()
	must(t, err)
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	data, err := unknown.Marshal()
	must(t, err)
	return append([]byte(wire.Prefix), data...)
}

// one decodes an object.
func one(t testing.TB, d *Decoder, data []byte) *Object {
	t.Helper()
	decoded, _, err := d.Decode(data, nil, nil)
	must(t, err)
	o, ok := decoded.(*Object)
	if !ok {
		t.Fatalf("decoded is a %T", decoded)
	}
	return o
}

func metaOf(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "a", Name: name, ResourceVersion: "7"}
}
