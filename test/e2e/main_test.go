// Package e2e tests the whole program against a real API server.
package e2e

import (
	"flag"
	"os"
	"testing"

	"github.com/countd/countd/test/kube"
)

// shared is the control plane of all tests that do not harm it.
var shared = kube.NewShared(kube.Options{})

// stormObjects is how many ConfigMaps the storm of C1 creates: 8,000 are enough
// under the race detector, 40,000 are C1 in full without it (make soak-race).
var stormObjects = flag.Int("storm-objects", 8000, "ConfigMaps that TestC1 creates")

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
