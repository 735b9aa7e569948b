package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/countd/countd/pkg/counts"
)

// steve counts the ConfigMaps and Secrets of its stage and speaks of them as Rancher's steve does: a
// watch hears only of what changes after its start.
type steve struct {
	t       testing.TB
	client  *kubernetes.Clientset
	address string
	running *steveRun // nil while it is killed
}

func newSteve(t testing.TB, config *rest.Config) *steve {
	s := &steve{t: t, client: clientset(t, config), address: freeAddress(t)}
	t.Cleanup(func() { must(t, s.kill()) })
	return s
}

func (s *steve) url() string { return "http://" + s.address }

func (s *steve) start() error {
	listener, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", s.address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context())) // until it is killed
	r := &steveRun{stop: cancel, conns: make(map[*websocket.Conn]json.RawMessage)}
	r.informers = informers.NewSharedInformerFactoryWithOptions(s.client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = stageLabel + "=" + stageName(s.t)
	}))
	r.kinds = map[string]cache.SharedIndexInformer{
		"configmap": r.informers.Core().V1().ConfigMaps().Informer(),
		"secret":    r.informers.Core().V1().Secrets().Informer(),
	}
	var told []cache.InformerSynced
	for kind, informer := range r.kinds {
		changed := func() { r.tell(kind) }
		handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			DeleteFunc: func(any) { changed() },
		})
		if err != nil {
			cancel()
			return err
		}
		told = append(told, handler.HasSynced)
	}
	r.informers.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), told...)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/schemas", r.serveSchemas)
	mux.HandleFunc("GET /v1/counts", r.serveCounts)
	mux.HandleFunc("GET /v1/subscribe", r.serveSubscribe)
	r.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: mux}}
	r.http.Start()
	s.running = r
	return nil
}

func (s *steve) kill() error {
	if s.running != nil {
		s.running.end()
		s.running = nil
	}
	return nil
}

// steveRun is a steve from its start to its end.
type steveRun struct {
	stop      context.CancelFunc
	informers informers.SharedInformerFactory
	kinds     map[string]cache.SharedIndexInformer
	http      *httptest.Server

	mu    sync.Mutex
	conns map[*websocket.Conn]json.RawMessage // with what was subscribed to, nil for nothing
}

func (r *steveRun) end() {
	r.mu.Lock()
	for conn := range r.conns {
		_ = conn.Close()
	}
	r.mu.Unlock()
	r.http.CloseClientConnections()
	r.http.Close()
	r.stop()
	r.informers.Shutdown()
}

// count is made anew for each change: this is steve.
func (r *steveRun) count(kind string) counts.ItemCount {
	item := counts.ItemCount{Namespaces: make(map[string]counts.Summary)}
	for _, object := range r.kinds[kind].GetStore().List() {
		o, ok := object.(metav1.Object)
		if !ok {
			continue
		}
		item.Summary.Count++
		summary := item.Namespaces[o.GetNamespace()]
		summary.Count++
		item.Namespaces[o.GetNamespace()] = summary
	}
	return item
}

func (r *steveRun) tell(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn, asked := range r.conns {
		if asked == nil {
			continue
		}
		_ = conn.WriteJSON(map[string]any{"name": "resource.change", "resourceType": "count", "data": r.data(kind)})
	}
}

func (r *steveRun) data(kinds ...string) map[string]any {
	items := make(map[string]counts.ItemCount)
	for _, kind := range kinds {
		items[kind] = r.count(kind)
	}
	return map[string]any{"id": "count", "type": "count", "counts": items}
}

func (r *steveRun) serveSchemas(w http.ResponseWriter, _ *http.Request) {
	schema := map[string]any{"id": "count", "type": "schema", "links": map[string]string{"collection": "/v1/counts"}}
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "collection", "resourceType": "schema", "data": []any{schema}})
}

func (r *steveRun) serveCounts(w http.ResponseWriter, _ *http.Request) {
	_ = json.NewEncoder(w).Encode(map[string]any{
		"type": "collection", "resourceType": "count", "data": []any{r.data("configmap", "secret")},
	})
}

func (r *steveRun) serveSubscribe(w http.ResponseWriter, req *http.Request) {
	conn, err := (&websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}).Upgrade(w, req, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	r.mu.Lock()
	r.conns[conn] = nil
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, conn)
	}()
	for {
		var ask struct {
			ResourceType string
			Stop         bool
		}
		if err := conn.ReadJSON(&ask); err != nil {
			return
		}
		if err := r.answer(conn, ask.ResourceType, ask.Stop); err != nil {
			return
		}
	}
}

func (r *steveRun) answer(conn *websocket.Conn, resourceType string, stop bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	say := func(name string, data any) error {
		return conn.WriteJSON(map[string]any{"name": name, "resourceType": resourceType, "data": data})
	}
	switch {
	case resourceType != "count":
		failure := map[string]string{"error": fmt.Sprintf("failed to find schema %s", resourceType)}
		return errors.Join(say("resource.error", failure), say("resource.stop", struct{}{}))
	case stop:
		r.conns[conn] = nil
		return say("resource.stop", struct{}{})
	default:
		r.conns[conn] = json.RawMessage("{}")
		return say("resource.start", struct{}{})
	}
}
