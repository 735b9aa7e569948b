package cluster

import (
	"os"
	"testing"

	"github.com/countd/countd/test/kube"
)

// shared is the control plane of all tests that do not harm it.
var shared = kube.NewShared(kube.Options{})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
