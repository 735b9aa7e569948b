package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/countd/countd"

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Dir        string
	Name       string
	Imports    []string // of its non-test files, on this platform
	Module     *struct{ Main bool }
}

// ours says whether the package is of this module.
func (p listed) ours() bool { return p.Module != nil && p.Module.Main }

// path is the package's folder in the module: "pkg/counts".
func (p listed) path() string { return relative(p.ImportPath) }

func relative(importPath string) string { return strings.TrimPrefix(importPath, modulePath+"/") }

// graph is all packages that the module is built from, by import path.
type graph map[string]listed

// list asks the go command for the graph.
func list(t *testing.T) graph {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(goCommand(t, "list", "-deps", "-json=ImportPath,Dir,Name,Imports,Module", "./...")))
	g := make(graph)
	for {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return g
		}
		if err != nil {
			t.Fatalf("decoding the output of go list: %v", err)
		}
		g[p.ImportPath] = p
	}
}

// own are the packages of this module in order.
func (g graph) own() []listed {
	var own []listed
	for _, p := range g {
		if p.ours() {
			own = append(own, p)
		}
	}
	slices.SortFunc(own, func(a, b listed) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return own
}

// reach returns the shortest chain of imports from a package to one that the
// function finds, or nil.
func (g graph) reach(from string, find func(importPath string) bool) []string {
	chains := [][]string{{from}}
	seen := map[string]bool{from: true}
	for len(chains) > 0 {
		chain := chains[0]
		chains = chains[1:]
		for _, next := range g[chain[len(chain)-1]].Imports {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := append(slices.Clone(chain), next)
			if find(next) {
				return longer
			}
			chains = append(chains, longer)
		}
	}
	return nil
}

func goCommand(t *testing.T, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root(t)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// root is the module's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// source is a Go file of the module, whatever platform it is for.
type source struct {
	path string // in the module
	text string
	file *ast.File
	fset *token.FileSet
}

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) dir() string { return filepath.ToSlash(filepath.Dir(s.path)) }

// sources are all Go files of the module. They are opened by the test itself, so
// that the go command knows when a cached result of these tests is out of date.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, p := range list(t).own() {
		names, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			path, err := filepath.Rel(root(t), name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, parse(t, filepath.ToSlash(path), string(text)))
		}
	}
	return all
}

func parse(t *testing.T, path, text string) source {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{path: path, text: text, file: file, fset: fset}
}

func (s source) position(n ast.Node) string { return s.fset.Position(n.Pos()).String() }

// imports says whether the file imports a package.
func (s source) imports(importPath string) bool {
	return slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool {
		return i.Path.Value == `"`+importPath+`"`
	})
}

// under says whether a path is a folder or lies in it.
func under(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}
