package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Options say what a Server holds.
type Options struct {
	// Objects there are at first, in Namespaces.
	Objects, Namespaces int
	// Changes follow. Each is three events: an object is deleted, another is
	// created, and a third has another state; so the number of objects stays.
	Changes int
	// Kind of the objects: "Pod" or "ConfigMap".
	Kind string
	// NoStreamingLists has lists read in pages, as an API server before 1.32.
	NoStreamingLists bool
}

// Server is an http.Handler. It is immutable.
type Server struct {
	options Options
	name    string // of the resource
	mux     *http.ServeMux
}

// New returns a server of what the options say.
func New(o Options) (*Server, error) {
	names := map[string]string{"Pod": "pods", "ConfigMap": "configmaps"}
	name, ok := names[o.Kind]
	if !ok || o.Objects < 1 || o.Namespaces < 1 || o.Changes < 0 || o.Changes > o.Objects/2 {
		return nil, fmt.Errorf("apiserver: %+v: want a Pod or ConfigMap, some objects and namespaces, and at most one change for two objects", o)
	}
	s := &Server{options: o, name: name, mux: http.NewServeMux()}
	const crds, services = "/apis/apiextensions.k8s.io/v1", "/apis/apiregistration.k8s.io/v1"
	s.mux.HandleFunc("GET /api", document(map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}))
	s.mux.HandleFunc("GET /apis", document(map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{group("apiextensions.k8s.io"), group("apiregistration.k8s.io")}}))
	s.mux.HandleFunc("GET /api/v1", document(resources("v1", name, o.Kind, true)))
	s.mux.HandleFunc("GET "+crds, document(resources("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", false)))
	s.mux.HandleFunc("GET "+services, document(resources("apiregistration.k8s.io/v1", "apiservices", "APIService", false)))
	// These two have no objects.
	s.mux.Handle("GET "+crds+"/customresourcedefinitions", s.serve(list{options: Options{Kind: "CustomResourceDefinition"}, version: "apiextensions.k8s.io/v1"}))
	s.mux.Handle("GET "+services+"/apiservices", s.serve(list{options: Options{Kind: "APIService"}, version: "apiregistration.k8s.io/v1"}))
	s.mux.Handle("GET /api/v1/"+name, s.serve(list{options: o, version: "v1"}))
	return s, nil
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Events is how many events follow the initial objects.
func (s *Server) Events() int { return s.options.Changes * eventsPerChange }

func group(name string) any {
	version := map[string]any{"groupVersion": name + "/v1", "version": "v1"}
	return map[string]any{"name": name, "versions": []any{version}, "preferredVersion": version}
}

func resources(groupVersion, name, kind string, namespaced bool) any {
	return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": groupVersion, "resources": []any{
		map[string]any{"name": name, "kind": kind, "namespaced": namespaced, "verbs": []string{"get", "list", "watch"}},
	}}
}

func document(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, v) }
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client is gone
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	answer(w, code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code})
}

// list is one resource, as it is asked for.
type list struct {
	options  Options
	version  string // group and version
	metadata bool   // PartialObjectMetadata is wanted
}

func (s *Server) serve(l list) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l := l
		l.metadata = strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
		if watch, _ := strconv.ParseBool(r.URL.Query().Get("watch")); watch {
			l.serveWatch(w, r)
			return
		}
		l.serveList(w, r)
	})
}

// serveList answers with one page.
func (l list) serveList(w http.ResponseWriter, r *http.Request) {
	first, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	last := l.options.Objects
	if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 0 {
		last = min(last, first+limit)
	}
	next := ""
	if last < l.options.Objects {
		next = strconv.Itoa(last)
	}
	kind, version := l.options.Kind+"List", l.version
	if l.metadata {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	w.Header().Set("Content-Type", "application/json")
	out := newWriter(w)
	out.b = fmt.Appendf(out.b, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d","continue":%q},"items":[`, kind, version, firstVersion, next)
	for i := first; i < last; i++ {
		if i > first {
			out.b = append(out.b, ',')
		}
		out.b = l.appendObject(out.b, object{number: i, version: firstVersion})
		if !out.ready() {
			return
		}
	}
	out.b = append(out.b, "]}\n"...)
	out.flush()
}

// writer gathers bytes and writes them in large pieces.
type writer struct {
	w    http.ResponseWriter
	b    []byte
	gone bool
}

const pieceSize = 64 << 10

func newWriter(w http.ResponseWriter) *writer {
	return &writer{w: w, b: make([]byte, 0, pieceSize+16<<10)}
}

// ready writes a full piece and reports whether the client is there.
func (w *writer) ready() bool {
	if len(w.b) < pieceSize {
		return !w.gone
	}
	return w.flush()
}

func (w *writer) flush() bool {
	if _, err := w.w.Write(w.b); err != nil {
		w.gone = true
		return false
	}
	w.b = w.b[:0]
	w.gone = http.NewResponseController(w.w).Flush() != nil
	return !w.gone
}
