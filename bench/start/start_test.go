package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/bench/reader"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSaysWhenItIsReady: each reader says, once, how many objects it has, and ends when
// it is told to.
func TestSaysWhenItIsReady(t *testing.T) {
	handler, err := apiserver.New(apiserver.Options{Objects: 2000, Namespaces: 20, Kind: "Pod"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, role := range []string{reader.Countd, reader.Reflector, reader.ReflectorMetadata} {
		t.Run(role, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			said, out := io.Pipe()
			o := options{host: process.Host{URL: server.URL}, server: apiserver.Options{Kind: "Pod"}, gogc: 100, out: out}
			ended := make(chan error, 1)
			go func() { ended <- o.read(ctx, role) }()
			var s started
			if err := json.NewDecoder(said).Decode(&s); err != nil {
				t.Fatal(err)
			}
			if s.Objects != 2000 || s.Resident == 0 {
				t.Errorf("it says %+v", s)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReportComparesMedians: of an even number of runs the mean of the two in the
// middle counts, and without peers nothing is compared.
func TestReportComparesMedians(t *testing.T) {
	runs := func(seconds ...int) (all []started) {
		for _, n := range seconds {
			all = append(all, started{Ready: time.Duration(n) * time.Second, Objects: 1000})
		}
		return all
	}
	all := map[string][]started{reader.Countd: runs(9, 3, 5), reader.Reflector: runs(4, 90, 1, 6), reader.ReflectorMetadata: runs(2)}
	for want, roles := range map[string][]string{
		"\nRESULT start_ratio=1.000 objects=1000 seconds=5.00 reflector_seconds=5.00\n": {reader.Countd, reader.Reflector, reader.ReflectorMetadata},
		"\nRESULT objects=1000 seconds=5.00\n":                                          {reader.Countd},
	} {
		some := make(map[string][]started)
		for _, role := range roles {
			some[role] = all[role]
		}
		var out bytes.Buffer
		report(&out, "Pod", roles, some, new(process.Outsider))
		if !bytes.HasSuffix(out.Bytes(), []byte(want)) {
			t.Errorf("report ends otherwise than in %s:\n%s", want, out.Bytes())
		}
	}
}
