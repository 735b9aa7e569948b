package wire

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var textPaths = []string{"type", "metadata.generation", "metadata.annotations.cattle.io/status", "spec.active", "status.phase", "status.conditions.type", "status.conditions.reason", "status.summary"}

// TestTextReadsWhatJSONSays: what is read of random JSON is what encoding/json reads of
// it, without all that is on no path.
func TestTextReadsWhatJSONSays(t *testing.T) {
	text := NewText(textPaths...)
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		object := map[string]any{
			"kind": "Widget", "apiVersion": "example.com/v1",
			"metadata": map[string]any{"name": "ünï\"", "namespace": "a", "resourceVersion": "7"},
		}
		for _, name := range []string{"type", "status", "spec", "other"} {
			if r.IntN(2) == 0 {
				object[name] = value(r, 0)
			}
		}
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		got, err := text.Read(raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != "ünï\"" || got.Namespace != "a" || got.ResourceVersion != "7" || got.Kind != "Widget" || got.APIVersion != "example.com/v1" {
			t.Fatalf("identity is %+v", got)
		}
		content, err := TextObject(got.Values)
		if err != nil {
			t.Fatalf("%s: %v", got.Values, err)
		}
		var whole map[string]any
		if whole, err = TextObject(raw); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kept(whole, NewText(textPaths...).root), any(content)); diff != "" {
			t.Fatalf("(-JSON +read):\n%s\n%s", diff, raw)
		}
	})
}

// kept is what a node wants of a value, found by another walk than the one under test.
func kept(v any, n *node) any {
	if n.members == nil {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any)
		for name, value := range v {
			if m := n.members[name]; m != nil && m.identity == none {
				out[name] = kept(value, m)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = kept(v[i], n)
		}
		return out
	}
	return v
}

// value is random JSON with the names of the paths at all depths.
func value(r *rand.Rand, depth int) any {
	names := []string{"type", "reason", "phase", "conditions", "summary", "active", "generation", "other", "a\"b\\", "ünï"}
	switch kind := r.IntN(9); {
	case kind < 3 && depth < 5:
		m := make(map[string]any)
		for range r.IntN(5) {
			m[names[r.IntN(len(names))]] = value(r, depth+1)
		}
		return m
	case kind < 5 && depth < 5:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = value(r, depth+1)
		}
		return list
	case kind == 5:
		return r.IntN(2) == 0
	case kind == 6:
		return nil
	case kind == 7:
		return r.IntN(1000) - 500
	}
	return names[r.IntN(len(names))]
}

// TestTextLists: a list is its items, its version and the token of what follows; of what
// is not a list the identity is read.
func TestTextLists(t *testing.T) {
	text := NewText(textPaths...)
	read := func(raw string) (Sparse, []string) {
		t.Helper()
		var names []string
		list, err := text.List([]byte(raw), nil, func(o Sparse) error {
			names = append(names, o.Name+string(o.Values))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return list, names
	}
	list, names := read(`{"items":[{"metadata":{"name":"a"},"status":{"phase":"X"}},{"metadata":{"name":"b"}}],` +
		`"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"continue":"more","resourceVersion":"9"}}`)
	if list.Kind != "WidgetList" || list.Continue != "more" || list.ResourceVersion != "9" {
		t.Errorf("list is %+v", list)
	}
	if diff := cmp.Diff([]string{`a{"metadata":{},"status":{"phase":"X"}}`, `b{"metadata":{}}`}, names); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if list, names := read(`{"kind":"Status","apiVersion":"v1","metadata":{},"code":410}`); list.Kind != "Status" || names != nil {
		t.Errorf("a Status is %+v with %v", list, names)
	}
	if _, names := read(`{"kind":"WidgetList","items":null}`); names != nil {
		t.Errorf("no items are %v", names)
	}
	stop := errors.New("enough")
	if _, err := text.List([]byte(`{"items":[{},{}]}`), nil, func(Sparse) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error is %v, want that of the caller", err)
	}
	for _, raw := range []string{``, `{`, `{"items":[{}`, `{"items":[{},]}`, `{"items":[1 2]}`, `[`} {
		if _, err := text.List([]byte(raw), nil, func(Sparse) error { return nil }); err == nil {
			t.Errorf("%q is a list", raw)
		}
	}
}

// FuzzText: whatever comes, reading returns, and what it read is JSON.
func FuzzText(f *testing.F) {
	text := NewText(textPaths...)
	for _, raw := range []string{`{"metadata":{"name":"a","generation":3},"status":{"conditions":[{"type":"Ready","x":[1]}]}}`, `[]`, `{"status":[{"phase":"\u00e4"}]}`, `{"a":1e400}`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if o, err := text.Read(raw, nil); err == nil {
			if !json.Valid(o.Values) {
				t.Errorf("read is %q", o.Values)
			}
		}
		_, _ = text.List(raw, nil, func(Sparse) error { return nil })
	})
}
