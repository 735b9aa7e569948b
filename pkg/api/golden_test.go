package api

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/countd/countd/pkg/counts"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGoldenFrames holds every byte that clients of both families are sent over
// each transport while the same things happen.
func TestGoldenFrames(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		p.put("team-a", "web", counts.State{Word: "running"})
		f.source(nodes).put("", "n1", counts.State{Word: "not-ready", Error: true})

		steve := f.dial("/v1/subscribe?sockId=1")
		transcripts := map[string]func() string{
			"steve.jsonl":     gather(steve),
			"websocket.jsonl": gather(f.dial("/api/v1/watch?resources=pods,nodes,widgets.example.com")),
			"lines.jsonl":     gatherRaw(t, f.open("/api/v1/watch?namespaces=team-a")),
			"events.txt":      gatherRaw(t, f.open("/api/v1/watch?epoch=k3x9&since=1", "Accept", "text/event-stream")),
		}
		steve.say(`{"resourceType":"count","namespace":"","mode":"","resourceVersion":"12"}`)
		pass(time.Second)
		var w *source
		for _, step := range []func(){ // one change each: two would race with the first flush
			func() { p.put("team-a", "web", counts.State{Word: "crashloopbackoff", Error: true}) },
			func() { p.put("team-b", "db", counts.State{Word: "pending", Transitioning: true}) },
			func() { w = f.source(widgets) },
			func() { w.put("team-a", "w") },
			func() { p.remove("team-b", "db") },
			func() { w.close() },
			func() { steve.say(`{"resourceType":"pod"}`) },
			func() { steve.say(`{"resourceType":"count","stop":true}`) },
		} {
			step()
			pass(time.Second)
		}
		pass(20 * time.Second)
		must(t, f.stop())
		for name, transcript := range transcripts {
			// When to come back is another moment each time.
			golden(t, name, regexp.MustCompile(`(?m)^retry: \d+$`).ReplaceAllString(transcript(), "retry: 4217"))
		}
	})
}

// gather collects a websocket's messages, one a line.
func gather(c *clientSocket) func() string {
	heard := c.listen()
	return func() string { return strings.Join(heard.take(), "\n") + "\n" }
}

// gatherRaw collects a response as it is.
func gatherRaw(t *testing.T, b *body) func() string {
	var all bytes.Buffer
	var done sync.WaitGroup
	done.Go(func() {
		_, err := io.Copy(&all, b)
		must(t, err)
	})
	return func() string { done.Wait(); return all.String() }
}

func TestMetricNamesAndHelpAreAsPrometheusWants(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		f.dial("/v1/subscribe").say(`{"resourceType":"pod"}`)
		f.open("/api/v1/watch").line()
		f.get("/nonesuch")
		problems, err := testutil.GatherAndLint(f.server.options.Registry)
		must(t, err)
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	})
}

// TestMetricsCountWhatHappens on streams.
func TestMetricsCountWhatHappens(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		socket := f.dial("/api/v1/watch?namespaces=a")
		heard := socket.listen()
		bytes := 0
		for _, namespace := range []string{"a", "b", "a"} {
			for _, m := range heard.take() {
				bytes += len(m)
			}
			p.put(namespace, time.Now().String())
			pass(time.Second)
		}
		for _, m := range heard.take() {
			bytes += len(m)
		}
		for name, want := range map[string]float64{
			"countd_api_connections_total":  1,
			"countd_api_sent_frames_total":  3,
			"countd_api_sent_bytes_total":   float64(bytes),
			"countd_api_open_connections":   1,
			"countd_api_open_subscriptions": 1,
			"countd_api_flushes_total":      4,
		} {
			if got := f.value(name, "countd"); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		if skipped := f.value("countd_api_flushes_total", "skipped"); skipped != 1 {
			t.Errorf("%v flushes had nothing new", skipped)
		}
	})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.MkdirAll("testdata", 0o750))
		must(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: run with -update if this is meant (-want +got):\n%s", name, diff)
	}
}
