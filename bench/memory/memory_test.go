package main

import (
	"bytes"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/bench/reader"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMeasures: whatever is counted from, the count is right before it is measured,
// also after a relist, and the last line can be read by a program.
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
			check(t, o.Kind, func() (reader.Reader, moments, error) {
				r, err := reader.New(reader.Countd, server.URL, o.Kind)
				return r, apiserver.Client{URL: server.URL}, err
			})
		})
	}
	t.Run("tally", func(t *testing.T) {
		check(t, "Pod", func() (reader.Reader, moments, error) {
			tally, err := reader.NewTally(apiserver.Options{Objects: 2000, Namespaces: 20, Changes: 100})
			return tally, tally, err
		})
	})
}

func check(t *testing.T, kind string, begin func() (reader.Reader, moments, error)) {
	t.Helper()
	m, err := measure(t.Context(), begin, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if m.StartPeak == 0 || m.RelistPeak == 0 || m.InUse == 0 || m.Resident == 0 {
		t.Errorf("not everything was measured: %+v", m)
	}
	var out bytes.Buffer
	report(&out, kind, []measured{m}, new(process.Outsider))
	if result := regexp.MustCompile(`\nRESULT bytes_per_object=-?\d+\.\d objects=2000 rss_mib=\d+\.\d peak_ratio=\d+\.\d\d\n$`); !result.Match(out.Bytes()) {
		t.Errorf("report ends otherwise than in %s:\n%s", result, out.Bytes())
	}
}

// TestReportComparesBytes: the ratios are ours to theirs, of bytes an object.
func TestReportComparesBytes(t *testing.T) {
	all := []measured{
		{Reader: reader.Countd, Objects: 1000, Heap: 50_000, InUse: 100_000, StartPeak: 120_000, RelistPeak: 150_000},
		{Reader: reader.Metadata, Objects: 1000, Heap: 2_000_000, InUse: 1},
		{Reader: reader.Transform, Objects: 500, Heap: 500_000, InUse: 1},
	}
	var out bytes.Buffer
	report(&out, "Pod", all, new(process.Outsider))
	const want = "\nRESULT bytes_per_object=50.0 objects=1000 rss_mib=0.0 peak_ratio=1.50 vs_partial_metadata=0.0250 vs_transform=0.0500\n"
	if !bytes.HasSuffix(out.Bytes(), []byte(want)) {
		t.Errorf("report ends otherwise than in %s:\n%s", want, out.Bytes())
	}
}
