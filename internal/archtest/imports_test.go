package archtest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// direct is who may import whom among our packages: the way of the data and
// nothing else. The two edges, cluster and api, meet only in cmd or in an
// embedder.
var direct = map[string][]string{
	"pkg/counts":   nil, // the domain: everybody speaks it, so it knows nobody
	"pkg/debounce": nil, // time alone: useful to anybody
	"pkg/cluster":  {"pkg/counts", "internal/decode", "internal/state"},
	"pkg/access":   {"pkg/counts"},
	"pkg/metrics":  {"pkg/counts"},
	"pkg/api":      {"pkg/counts", "pkg/debounce", "pkg/access", "pkg/metrics"},
	"web":          nil, // files, which api gets as an fs.FS
}

// unreachable is what packages must not reach, however long the chain.
var unreachable = []struct {
	packages []string
	what     string   // in words
	paths    []string // import paths, each with all that lies below it
	why      string
}{
	{
		packages: []string{"pkg/counts", "pkg/debounce"},
		what:     "Kubernetes",
		paths:    []string{"k8s.io", "sigs.k8s.io"},
		why:      "the core is pure: it is tested without a cluster and useful without one",
	},
	{
		packages: []string{"pkg/counts", "pkg/debounce"},
		what:     "HTTP",
		paths:    []string{"net/http"},
		why:      "the core does no I/O",
	},
	{
		packages: []string{"pkg/counts", "pkg/debounce", "pkg/cluster", "pkg/access"},
		what:     "Prometheus",
		paths:    []string{"github.com/prometheus"},
		why:      "an embedder has metrics of its own; ours are in pkg/metrics and pkg/api",
	},
	{
		packages: []string{"pkg/counts", "pkg/debounce", "pkg/cluster", "pkg/access", "pkg/metrics"},
		what:     "a websocket library",
		paths:    []string{"github.com/gorilla", "github.com/coder/websocket", "golang.org/x/net/websocket"},
		why:      "only pkg/api speaks websocket; an agent that embeds the counts must not carry a server",
	},
	{
		packages: []string{"pkg/counts", "pkg/debounce", "pkg/cluster", "pkg/metrics"},
		what:     "k8s.io/apiserver",
		paths:    []string{"k8s.io/apiserver"},
		why:      "it brings a whole API server: etcd clients, admission, OpenTelemetry",
	},
	{
		packages: []string{"pkg/counts", "pkg/debounce", "pkg/cluster", "pkg/access", "pkg/metrics"},
		what:     "our HTTP server",
		paths:    []string{modulePath + "/pkg/api", modulePath + "/web"},
		why:      "the edges meet in cmd or in an embedder, nowhere else",
	},
	{
		packages: []string{"pkg", "web"},
		what:     "what is not a library",
		paths:    []string{modulePath + "/cmd", modulePath + "/test", modulePath + "/internal/archtest"},
		why:      "pkg is what others embed; programs and test helpers stand on it, not under it",
	},
	{
		packages: []string{"pkg", "cmd"},
		what:     "the testing package",
		paths:    []string{"testing"},
		why:      "it registers flags, and test helpers do not belong in a program",
	},
}

// TestImports: imports are those of the architecture and no others.
func TestImports(t *testing.T) {
	g := list(t)
	for _, p := range g.own() {
		t.Run(p.path(), func(t *testing.T) {
			checkDirect(t, p)
			for _, rule := range unreachable {
				if !slices.ContainsFunc(rule.packages, func(r string) bool { return under(p.path(), r) }) {
					continue
				}
				chain := g.reach(p.ImportPath, func(path string) bool {
					return slices.ContainsFunc(rule.paths, func(r string) bool { return under(path, r) })
				})
				if chain != nil {
					t.Errorf("must not reach %s: %s\n\t%s", rule.what, rule.why, strings.Join(chain, "\n\timports "))
				}
			}
		})
	}
}

func checkDirect(t *testing.T, p listed) {
	t.Helper()
	allowed, ruled := direct[p.path()]
	if !ruled {
		if under(p.path(), "pkg") {
			t.Errorf("%s has no row in the table of who may import whom", p.path())
		}
		return
	}
	for _, path := range p.Imports {
		if under(path, modulePath) && !slices.Contains(allowed, relative(path)) {
			t.Errorf("imports %s; of ours it may import: %v", relative(path), allowed)
		}
	}
}

// TestReachFindsTheChain checks the test itself: an import three packages away is
// found, and the way to it is named.
func TestReachFindsTheChain(t *testing.T) {
	g := graph{
		"a": {Imports: []string{"b", "c"}},
		"b": {Imports: []string{"a", "d"}},
		"d": {Imports: []string{"net/http"}},
	}
	http := func(path string) bool { return under(path, "net/http") }
	if diff := cmp.Diff([]string{"a", "b", "d", "net/http"}, g.reach("a", http)); diff != "" {
		t.Errorf("chain (-want +got):\n%s", diff)
	}
	if chain := g.reach("c", http); chain != nil {
		t.Errorf("c reaches net/http by %v, want not at all", chain)
	}
}

// TestNoReplace: what is built here is what somebody who requires the module
// builds; a replace works only in the main module.
func TestNoReplace(t *testing.T) {
	var mod struct{ Replace []any }
	if err := json.Unmarshal(goCommand(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatalf("decoding go.mod: %v", err)
	}
	if len(mod.Replace) > 0 {
		t.Errorf("go.mod replaces %v, want no replace", mod.Replace)
	}
}
