// Package interop judges steve's family with a client that is not ours: the Rancher
// dashboard's own store, without its pages, runs in Node against countd and shows
// what the dashboard would. The same acts in front of a server that does what steve
// does fail at the reconnect, so the tests would notice.
package interop

import (
	"os"
	"testing"
	"time"

	"github.com/countd/countd/test/kube"
)

const (
	// patience is how long a test waits for what must come.
	patience = 60 * time.Second
	// promptness is how long after the news went out the dashboard must show them. Its
	// worker takes changes in every five seconds.
	promptness = 15 * time.Second
)

// shared is the control plane of all tests, built is what they run.
var (
	shared = kube.NewShared(kube.Options{})
	built  programs
)

func TestMain(m *testing.M) {
	code := shared.Main(m)
	if err := built.remove(); err != nil {
		code = max(code, 1)
	}
	os.Exit(code)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
