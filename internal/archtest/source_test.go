package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maxLines is the length of the longest file that still has one subject.
const maxLines = 500

// clockless are the core packages in which time comes in from outside, so that a
// test decides what time it is. debounce is core too, but time is its subject: it
// is tested under testing/synctest.
var clockless = []string{"pkg/counts", "pkg/access"}

// TestPackageDocs: every package says what it is, one under pkg in doc.go.
func TestPackageDocs(t *testing.T) {
	docs := make(map[string]map[string]bool) // folder → files with a package comment
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		if docs[s.dir()] == nil {
			docs[s.dir()] = make(map[string]bool)
		}
		if s.file.Doc.Text() != "" {
			docs[s.dir()][s.path] = true
		}
	}
	for dir, files := range docs {
		switch {
		case len(files) == 0:
			t.Errorf("%s has no package comment", dir)
		case len(files) > 1:
			t.Errorf("%s has %d package comments, want one", dir, len(files))
		case under(dir, "pkg") && !files[dir+"/doc.go"]:
			t.Errorf("%s has its package comment elsewhere, want it in doc.go", dir)
		}
	}
}

// TestFileSizes: a file has one subject and can be read in one sitting.
func TestFileSizes(t *testing.T) {
	for _, s := range sources(t) {
		if n := strings.Count(s.text, "\n"); !s.test() && n > maxLines {
			t.Errorf("%s has %d lines, want at most %d", s.path, n, maxLines)
		}
	}
}

// TestNoGlobals: packages that others embed keep no state of their own, so two
// instances in one process, or two tests, never meet. What is a constant in all
// but name may stay: sentinel errors, compile-time checks, embedded files, and
// tables (maps, arrays and slices) that are not exported and that nobody writes.
func TestNoGlobals(t *testing.T) {
	tables := make(map[string][]string) // folder → names
	all := sources(t)
	for _, s := range all {
		if !s.test() && under(s.path, "pkg") {
			names, problems := globals(s)
			tables[s.dir()] = append(tables[s.dir()], names...)
			for _, problem := range problems {
				t.Error(problem)
			}
		}
	}
	for _, s := range all { // tests too: a variable that a test sets is what the rule is about
		for _, problem := range writes(s, tables[s.dir()]) {
			t.Error(problem)
		}
	}
}

// globals returns the tables among a file's package variables, and what is wrong
// with the others.
func globals(s source) (tables, problems []string) {
	for _, decl := range s.file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec) //nolint:errcheck,forcetypeassert // a VAR declaration has no others
			if embedded(g, v) {
				continue
			}
			for i, name := range v.Names {
				var value ast.Expr
				if i < len(v.Values) {
					value = v.Values[i]
				}
				switch {
				case name.Name == "_" || sentinel(name, value):
				case table(value) && !name.IsExported():
					tables = append(tables, name.Name)
				default:
					problems = append(problems, fmt.Sprintf("%s: package variable %s: state belongs to an instance", s.position(name), name.Name))
				}
			}
		}
	}
	return tables, problems
}

func embedded(g *ast.GenDecl, v *ast.ValueSpec) bool {
	is := func(doc *ast.CommentGroup) bool {
		return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
	}
	return is(g.Doc) || is(v.Doc)
}

func sentinel(name *ast.Ident, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok || !strings.HasPrefix(strings.ToLower(name.Name), "err") {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := f.X.(*ast.Ident)
	return ok && (from.Name == "errors" && f.Sel.Name == "New" || from.Name == "fmt" && f.Sel.Name == "Errorf")
}

func table(value ast.Expr) bool {
	literal, ok := value.(*ast.CompositeLit)
	if !ok {
		return false
	}
	switch literal.Type.(type) {
	case *ast.MapType, *ast.ArrayType:
		return true
	default:
		return false
	}
}

// writes returns where a file assigns to a table or a part of it, takes its
// address, or empties it. It goes by names: to call a local variable like a table
// is reported too, and is no better for the reader.
func writes(s source, tables []string) (problems []string) {
	check := func(at ast.Node, written ast.Expr) {
		if name := rootOf(written); slices.Contains(tables, name) {
			problems = append(problems, fmt.Sprintf("%s: writes to the table %s of its package", s.position(at), name))
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				check(n, left)
			}
		case *ast.IncDecStmt:
			check(n, n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				check(n, n.X)
			}
		case *ast.RangeStmt:
			check(n, n.Key)
			check(n, n.Value)
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.Ident)
			if ok && slices.Contains([]string{"delete", "clear", "copy", "append"}, f.Name) && len(n.Args) > 0 {
				check(n, n.Args[0])
			}
		}
		return true
	})
	return problems
}

// rootOf returns the variable that an expression is a part of.
func rootOf(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}

// TestGlobalsAreFound checks the test itself.
func TestGlobalsAreFound(t *testing.T) {
	s := parse(t, "pkg/x/x.go", `package x

import ("errors"; "sync")

var ErrGone = errors.New("gone")
var _ error = (*problem)(nil)
//go:embed static
var files embed.FS
var words = map[string]bool{"a": true}
var times = [...]int{1, 2}
var interval = 5
var cache sync.Map
var pool = sync.Pool{}
var Table = []int{1}
var errLast error

func f() {
	words["b"] = true
	times[0]++
	delete(words, "a")
	g(&times)
	_ = words["a"]
}
`)
	tables, problems := globals(s)
	if diff := cmp.Diff([]string{"words", "times"}, tables); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if want := 5; len(problems) != want {
		t.Errorf("%d package variables found at fault, want %d: %v", len(problems), want, problems)
	}
	if want, got := 4, writes(s, tables); len(got) != want {
		t.Errorf("%d writes found, want %d: %v", len(got), want, got)
	}
}

// TestNoInit: nothing happens because a package was imported.
func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: func init: nothing may happen because a package was imported", s.position(f))
			}
		}
	}
}

// TestNoGlobalScheme: client-go's scheme is a global with plain maps in it. Who
// registers a type in it while another goroutine decodes kills the process (R3),
// and what does not import it cannot.
func TestNoGlobalScheme(t *testing.T) {
	const scheme = "k8s.io/client-go/kubernetes/scheme"
	for _, s := range sources(t) {
		if !s.test() && s.imports(scheme) {
			t.Errorf("%s imports %s, a global that others write to (R3)", s.path, scheme)
		}
	}
}

// TestCoreReadsNoClock: time comes into the core from outside.
func TestCoreReadsNoClock(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || !slices.Contains(clockless, s.dir()) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from, ok := selector.X.(*ast.Ident)
			if ok && from.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep"}, selector.Sel.Name) {
				t.Errorf("%s: time.%s: in %s time comes in from outside", s.position(n), selector.Sel.Name, s.dir())
			}
			return true
		})
	}
}
