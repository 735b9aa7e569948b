package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
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
	// Held has the changes wait until they are released.
	Held bool
	// Custom kinds there are besides, with an object in each namespace.
	Custom int
	// Live has objects created by POST, as they come; then there are no Changes.
	Live bool
}

// Server is an http.Handler, safe for concurrent use.
type Server struct {
	eras    *eras
	mux     *http.ServeMux
	release func() // may be called more than once
}

// kinds are those that a server can hold, with the names of their resources.
var kinds = map[string]string{"Pod": "pods", "ConfigMap": "configmaps"}

// New returns a server of what the options say.
func New(o Options) (*Server, error) {
	name, ok := kinds[o.Kind]
	if !ok || o.Objects < 1 || o.Namespaces < 1 || o.Changes < 0 || o.Changes > o.Objects/2 {
		return nil, fmt.Errorf("apiserver: %+v: want a Pod or ConfigMap, some objects and namespaces, and at most one change for two objects", o)
	}
	if o.Custom < 0 || o.Custom > maxCustom || o.Live && o.Changes > 0 {
		return nil, fmt.Errorf("apiserver: %+v: want at most %d custom kinds, and no changes where it is live", o, maxCustom)
	}
	if o.Objects > maxObjects || o.Namespaces > maxNamespaces {
		return nil, fmt.Errorf("apiserver: %+v: want at most %d objects in %d namespaces", o, maxObjects, maxNamespaces)
	}
	released := make(chan struct{})
	main := history{options: o}
	if o.Live {
		main.log = newCreations()
	}
	s := &Server{eras: newEras(main), mux: http.NewServeMux(), release: sync.OnceFunc(func() { close(released) })}
	if !o.Held {
		s.release()
	}
	const crds, services = "/apis/apiextensions.k8s.io/v1", "/apis/apiregistration.k8s.io/v1"
	s.mux.HandleFunc("GET /version", document(map[string]any{"major": "1", "minor": "37", "gitVersion": "v1.37.2"}))
	s.mux.HandleFunc("GET /api", document(map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}))
	s.mux.HandleFunc("GET /apis", document(map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{group("apiextensions.k8s.io"), group("apiregistration.k8s.io"), group(customGroup)}}))
	s.mux.HandleFunc("GET /api/v1", document(resources("v1", oneResource(name, o.Kind, true))))
	s.mux.HandleFunc("GET "+crds, document(resources("apiextensions.k8s.io/v1", oneResource("customresourcedefinitions", "CustomResourceDefinition", false))))
	s.mux.HandleFunc("GET "+services, document(resources("apiregistration.k8s.io/v1", oneResource("apiservices", "APIService", false))))
	all := map[string]*collection{
		"/api/v1/" + name: {history: main, apiVersion: "v1"},
		// These two have no objects.
		crds + "/customresourcedefinitions": {history: history{options: Options{Kind: "CustomResourceDefinition", Namespaces: 1}}, apiVersion: "apiextensions.k8s.io/v1"},
		services + "/apiservices":           {history: history{options: Options{Kind: "APIService", Namespaces: 1}}, apiVersion: "apiregistration.k8s.io/v1"},
	}
	s.mux.HandleFunc("GET "+customPath, document(resources(customGroup+"/v1", addCustom(all, o)...)))
	for path, r := range all {
		r.eras, r.streams, r.released = newEras(r.history), !o.NoStreamingLists, released
		if path == "/api/v1/"+name {
			r.eras = s.eras
			if o.Live {
				s.mux.HandleFunc("POST /api/v1/namespaces/{namespace}/"+name, r.serveCreate)
			}
		}
		if err := r.encodeAll(); err != nil {
			return nil, fmt.Errorf("apiserver: %w", err)
		}
		s.mux.Handle("GET "+path, r)
	}
	s.mux.HandleFunc("GET /bench/moment", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.Moment()) })
	s.mux.HandleFunc("POST /bench/release", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.Release()) })
	s.mux.HandleFunc("POST /bench/expire", func(w http.ResponseWriter, r *http.Request) {
		gone, err := strconv.Atoi(r.FormValue("gone"))
		if err != nil || gone < 0 {
			http.Error(w, "gone: want a number of objects", http.StatusBadRequest)
			return
		}
		answer(w, s.Expire(gone))
	})
	return s, nil
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Moment is what a client holds that has read everything.
func (s *Server) Moment() Moment { return s.eras.history.end(s.eras.get()) }

// Release has the changes sent, to all who watch, and returns Moment.
func (s *Server) Release() Moment {
	s.release()
	return s.Moment()
}

// Expire makes a break, in which so many objects are deleted unseen, and returns what
// a client holds that has listed everything anew.
func (s *Server) Expire(gone int) Moment { return s.eras.expire(gone) }

func group(name string) any {
	version := map[string]any{"groupVersion": name + "/v1", "version": "v1"}
	return map[string]any{"name": name, "versions": []any{version}, "preferredVersion": version}
}

func resources(groupVersion string, all ...any) any {
	return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": groupVersion, "resources": all}
}

func oneResource(name, kind string, namespaced bool) any {
	return map[string]any{"name": name, "kind": kind, "namespaced": namespaced, "verbs": []string{"get", "list", "watch"}}
}

func document(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, v) }
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client is gone
}
