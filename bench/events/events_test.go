package main

import (
	"bytes"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/bench/reader"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFoldPublishesOnceATick: what is called a tick is one snapshot, and each event
// changes something.
func TestFoldPublishesOnceATick(t *testing.T) {
	f, err := options{events: 1000, runs: 2, kinds: 120, folded: 30, gogc: 100}.fold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]cost{"one": f.One, "many": f.Many, "small": f.Small} {
		// The collector may stop the thread between two events.
		if c.Snapshots < 0.9 || c.Snapshots > 1.5 || c.Bytes <= 0 || c.Microseconds <= 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestDecodes: each of the ten kinds can be decoded, and so can custom objects.
func TestDecodes(t *testing.T) {
	d, err := options{events: 300, runs: 1}.decode()
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Kinds) != 10 || d.Custom.Ours <= 0 || d.Custom.JSON <= 0 || d.Custom.CBOR <= 0 {
		t.Errorf("decoded are %+v", d)
	}
	for _, k := range d.Kinds {
		if k.Bytes == 0 || k.Ours <= 0 || k.Plain <= 0 || k.New < 0 || k.New > 1 {
			t.Errorf("%s: %+v", k.Kind, k)
		}
	}
}

// TestFollows: each reader is measured while it is sent events, which wait for it.
func TestFollows(t *testing.T) {
	server := apiserver.Options{Objects: 2000, Namespaces: 20, Changes: 900, Kind: "Pod", Held: true}
	for _, role := range []string{reader.Countd, reader.Typed, reader.Metadata, reader.Transform} {
		t.Run(role, func(t *testing.T) {
			handler, err := apiserver.New(server)
			if err != nil {
				t.Fatal(err)
			}
			s := httptest.NewServer(handler)
			defer s.Close()
			us, err := options{server: server, host: process.Host{URL: s.URL}, rest: time.Millisecond}.read(t.Context(), role)
			if err != nil || us <= 0 {
				t.Errorf("%f µs, %v", us, err)
			}
		})
	}
}

// TestReportEndsWithResult: the last line can be read by a program, and compares the
// worst of the kinds.
func TestReportEndsWithResult(t *testing.T) {
	r := results{
		Fold:    folded{Many: cost{1.5, 1.2, 1800, 1}, Small: cost{1, 0.8, 1500, 1}},
		Decoded: decoded{Kinds: []decodedKind{{Kind: "Pod", Ours: 1, Plain: 10, Fresh: 8}, {Kind: "Lease", Ours: 2, Plain: 4}}, Custom: custom{Ours: 2, JSON: 8, CBOR: 10}},
		Readers: []followed{{reader.Countd, 5}, {reader.Typed, 50}},
	}
	for want, o := range map[string]options{
		`\nRESULT fold_us=1\.50 fold_uncollected_us=1\.20 decode_us=1\.50 state_ratio_protobuf=0\.50 state_ratio_new=0\.80 fold_bytes=1800 fold_bytes_small=1500 custom_ratio_json=0\.250 custom_ratio_cbor=0\.200 event_us=5\.00 vs_typed=0\.100\n$`: {},
		` vs_typed=0\.100 peer_event_us=20\.00 peer_rss_mib=1\.0 .*\n$`: {
			server: apiserver.Options{Changes: 100},
			peer:   process.Outsider{PID: 1, Rest: process.Usage{Resident: 1 << 20, CPU: time.Millisecond}, Last: process.Usage{CPU: 7 * time.Millisecond}},
		},
	} {
		var out bytes.Buffer
		o.out = &out
		o.report(r)
		if !regexp.MustCompile(want).Match(out.Bytes()) || strings.Count(out.String(), "RESULT") != 1 {
			t.Errorf("report ends otherwise than in %s:\n%s", want, &out)
		}
	}
}
