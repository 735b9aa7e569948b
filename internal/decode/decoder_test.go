package decode

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/pkg/counts"
)

// TestLists: a page of a list is read in each encoding; its kind has to be that of a list.
func TestLists(t *testing.T) {
	list := &corev1.PodList{
		ListMeta: metav1.ListMeta{ResourceVersion: "812", Continue: "more"},
		Items: []corev1.Pod{
			{ObjectMeta: metaOf("one"), Status: corev1.PodStatus{Phase: corev1.PodRunning}},
			{ObjectMeta: metaOf("two"), Status: corev1.PodStatus{Phase: corev1.PodFailed}},
		},
	}
	inJSON := func(kind string) []byte {
		named := *list
		named.APIVersion, named.Kind = "v1", kind
		data, err := json.Marshal(named)
		must(t, err)
		return data
	}
	d := newDecoder(t, pods)
	for name, data := range map[string][]byte{"protobuf": inEnvelope(t, "PodList", list), "JSON": inJSON("PodList")} {
		t.Run(name, func(t *testing.T) {
			page := new(List)
			_, _, err := d.Decode(data, nil, page)
			must(t, err)
			if page.ResourceVersion != "812" || page.Continue != "more" || len(page.Items) != 2 {
				t.Fatalf("page is %+v", page)
			}
			want := []counts.Object{
				{Namespace: "a", Name: "one", State: counts.State{Word: "running"}},
				{Namespace: "a", Name: "two", State: counts.State{Word: "failed", Error: true}},
			}
			for i, o := range page.Items {
				if o.Object.Steve = nil; o.Object != want[i] || o.ResourceVersion != "7" {
					t.Errorf("item %d is %+v", i, o)
				}
			}
		})
	}
	for name, data := range map[string][]byte{"protobuf": inEnvelope(t, "Pod", list), "JSON": inJSON("Pod"), "no object": []byte(`{}`), "no JSON object": []byte(`[1]`)} {
		if _, _, err := d.Decode(data, nil, new(List)); err == nil || !strings.Contains(err.Error(), "list") {
			t.Errorf("%s that is no list: %v", name, err)
		}
	}
}

// TestStatusIsReturned: an API server that refuses says why, in its own time: instead of
// a list, of an object, and within a watch.
func TestStatusIsReturned(t *testing.T) {
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Reason: metav1.StatusReasonExpired, Code: 410}
	data, err := json.Marshal(status)
	must(t, err)
	for _, r := range []counts.Resource{pods, secrets, widgets} {
		d := newDecoder(t, r)
		for name, data := range map[string][]byte{"protobuf": inEnvelope(t, "Status", status), "JSON": data} {
			for _, into := range []runtime.Object{nil, new(List)} {
				got, _, err := d.Decode(data, nil, into)
				must(t, err)
				if s, ok := got.(*metav1.Status); !ok || s.Code != 410 || s.Reason != metav1.StatusReasonExpired {
					t.Errorf("%s in %s into a %T: %+v", r.Key(), name, into, got)
				}
			}
		}
	}
}

// TestBookmarkThatEndsAList is told by an annotation.
func TestBookmarkThatEndsAList(t *testing.T) {
	m := metav1.ObjectMeta{ResourceVersion: "9", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true", "other": "x"}}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: m}
	text, err := json.Marshal(pod)
	must(t, err)
	d := newDecoder(t, pods)
	for name, data := range map[string][]byte{"protobuf": inEnvelope(t, "Pod", pod), "JSON": text} {
		if o := one(t, d, data); !o.EndsList || o.ResourceVersion != "9" {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestObjectThatCannotBeReadIsCounted: whatever somebody has written into an object, it
// counts, and costs the others nothing.
func TestObjectThatCannotBeReadIsCounted(t *testing.T) {
	for _, r := range []counts.Resource{pods, secrets, widgets} {
		d := newDecoder(t, r)
		for _, text := range []string{
			`{"kind":"Odd","metadata":{"name":"odd","namespace":"n"}}`,
			`{"kind":"Odd","metadata":{"name":"odd","namespace":"n","finalizers":"x","ownerReferences":3,"annotations":[],"generation":"x"},` +
				`"spec":[null],"status":{"conditions":"none","phase":7,"summary":[],"observedGeneration":[]}}`,
			`{"kind":"Odd","metadata":{"name":"odd","namespace":"n","deletionTimestamp":5},"spec":"x","status":"x"}`,
			`{"kind":"Odd","metadata":{"name":"odd","namespace":"n"},"status":{"conditions":[null,3,"x",[],{"type":4,"status":[]}]}}`,
		} {
			if o := one(t, d, []byte(text)); o.Namespace != "n" || o.Name != "odd" {
				t.Errorf("%s: %s is %+v", r.Key(), text, o)
			}
		}
	}
	d := newDecoder(t, widgets)
	for _, text := range []string{``, `{`, `{"kind":"X","metadata":{"name":"a"}`, `null`, `{"metadata":{"name":"a"}}`, "k8s\x00\xff"} {
		if got, _, err := d.Decode([]byte(text), nil, nil); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

// TestMetadataIsAllThatIsAskedFor: of a Secret nothing else enters the process.
func TestMetadataIsAllThatIsAskedFor(t *testing.T) {
	one, list := newDecoder(t, secrets).Accept()
	for accept, as := range map[string]string{one: "as=PartialObjectMetadata;", list: "as=PartialObjectMetadataList;"} {
		for media := range strings.SplitSeq(accept, ",") {
			if !strings.Contains(media, as) {
				t.Errorf("%q asks for more than metadata", accept)
			}
		}
	}
	for gvk := range typed {
		if state.MetadataSuffices(gvk) {
			t.Errorf("%s is read in protobuf, and metadata suffices", gvk)
		}
	}
}

// TestChangesThatTimeBrings: what is to change with time is said, and is not remembered
// for objects that have the same fields later.
func TestChangesThatTimeBrings(t *testing.T) {
	d := newDecoder(t, widgets)
	text := []byte(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"status":{"conditions":[{"type":"Ready","status":"False",` +
		`"lastTransitionTime":"` + time.Now().Add(-time.Minute).UTC().Format(time.RFC3339) + `"}]}}`)
	o := one(t, d, text)
	if !o.State.Transitioning || o.Next == nil || len(d.readings) != 0 {
		t.Fatalf("a Widget that waits is %+v, and %d are remembered", o, len(d.readings))
	}
	later := o.At(o.Next)
	if !later.State.Error || later.Name != "w" || later.Next != nil || o.State.Error {
		t.Errorf("later it is %+v", later)
	}
}

// TestReadingsAreBounded: what is remembered is bounded, whatever objects there are.
func TestReadingsAreBounded(t *testing.T) {
	d := newDecoder(t, widgets)
	for i := range 5000 {
		data, err := json.Marshal(map[string]any{
			"kind": "Widget", "metadata": map[string]any{"name": "w", "generation": i},
			"status": map[string]any{"phase": strings.Repeat("x", i)},
		})
		must(t, err)
		one(t, d, data)
		held := 0
		for values := range d.readings {
			if held += len(values) + perReading; len(values) > longestRemembered {
				t.Fatalf("values of %d bytes are remembered", len(values))
			}
		}
		if held > rememberedBytes || held != d.held {
			t.Fatalf("%d bytes are remembered, it says %d", held, d.held)
		}
	}
}

// FuzzDecode: whatever comes, decoding returns.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"status":{"conditions":[{"type":"Ready","status":"False"}]}}`))
	f.Add([]byte(`{"kind":"WidgetList","metadata":{"continue":"x","resourceVersion":"4"},"items":[{"metadata":{"name":"w"}},{}]}`))
	f.Add(inEnvelope(f, "Pod", &corev1.Pod{ObjectMeta: metaOf("p"), Status: corev1.PodStatus{Phase: corev1.PodRunning}}))
	f.Add(inEnvelope(f, "Status", &metav1.Status{Code: 410}))
	var decoders []*Decoder
	for _, r := range []counts.Resource{pods, secrets, widgets, resourceOf(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})} {
		decoders = append(decoders, newDecoder(f, r))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range decoders {
			_, _, _ = d.Decode(data, nil, new(List))
			got, _, err := d.Decode(data, nil, nil)
			if err == nil && got == nil {
				t.Fatal("nothing was read")
			}
		}
	})
}
