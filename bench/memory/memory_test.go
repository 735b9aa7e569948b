package main

import (
	"bytes"
	"net/http/httptest"
	"regexp"
	"testing"

	"go.uber.org/goleak"

	"github.com/countd/countd/bench/apiserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMeasures: whatever is counted from, the count is right before it is
// measured, and the last line can be read by a program.
func TestMeasures(t *testing.T) {
	for name, o := range map[string]apiserver.Options{
		"stream":   {Kind: "Pod"},
		"pages":    {Kind: "Pod", NoStreamingLists: true},
		"metadata": {Kind: "ConfigMap"},
	} {
		t.Run(name, func(t *testing.T) {
			o.Objects, o.Namespaces, o.Changes = 2000, 20, 100
			handler, err := apiserver.New(o)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(handler)
			defer server.Close()
			check(t, clusterFeeder{server.URL}, o, handler.Events())
		})
	}
	t.Run("tally", func(t *testing.T) {
		o := apiserver.Options{Objects: 2000, Namespaces: 20, Changes: 100, Kind: "Pod"}
		check(t, tallyFeeder{o}, o, 3*o.Changes)
	})
}

func check(t *testing.T, f feeder, o apiserver.Options, changes int) {
	t.Helper()
	m, err := measure(t.Context(), f, o.Objects, o.Objects+changes)
	if err != nil {
		t.Fatal(err)
	}
	if m.namespaces != o.Namespaces {
		t.Errorf("%d namespaces, want %d", m.namespaces, o.Namespaces)
	}
	var out bytes.Buffer
	m.report(&out, o.Kind)
	if result := regexp.MustCompile(`\nRESULT bytes_per_object=\d+\.\d objects=2000 rss_mib=\d+\.\d\n$`); !result.Match(out.Bytes()) {
		t.Errorf("report ends otherwise than in %s:\n%s", result, out.Bytes())
	}
}
