package api

import (
	"testing"
	"testing/synctest"

	"github.com/countd/countd/pkg/counts"
)

func TestStreamStartsWithASnapshotAndGoesOnWithDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := f.source(pods)
		p.put("a", "x", counts.State{Word: "failed", Error: true})
		lines, events, socket := f.open("/api/v1/watch"), f.open("/api/v1/watch", "Accept", "text/event-stream"), f.dial("/api/v1/watch")
		want := `{"type":"snapshot","epoch":"k3x9","seq":2,"resources":{"pods":{"kind":"Pod","version":"v1","namespaced":true,"summary":{"count":1,"errors":1,"states":{"failed":1}},"namespaces":{"a":{"count":1,"errors":1,"states":{"failed":1}}}}}}`
		check := func(what, got string) {
			t.Helper()
			if got != want {
				t.Errorf("%s\ngot  %s\nwant %s", what, got, want)
			}
		}
		check("NDJSON", lines.line())
		check("websocket", socket.hear())
		if id := events.line(); id != "id: k3x9:2" {
			t.Errorf("event has %q", id)
		}
		check("SSE", events.line()[len("data: "):])
		events.line()

		p.remove("a", "x")
		want = `{"type":"delta","epoch":"k3x9","from":2,"seq":3,"resources":{"pods":{"summary":{"count":null,"errors":null,"states":null},"namespaces":{"a":null}}}}`
		check("NDJSON", lines.line())
		check("websocket", socket.hear())
		events.line()
		check("SSE", events.line()[len("data: "):])
	})
}
