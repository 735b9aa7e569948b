package apiserver

import (
	"fmt"
	"io"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// creations are the objects that were created while the server ran, in order. They are
// safe for concurrent use.
type creations struct {
	mu         sync.Mutex
	namespaces []int         // of each
	newer      chan struct{} // closed when there is another
}

func newCreations() *creations { return &creations{newer: make(chan struct{})} }

// add returns the number of an object in a namespace.
func (c *creations) add(namespace int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.namespaces = append(c.namespaces, namespace)
	close(c.newer)
	c.newer = make(chan struct{})
	return len(c.namespaces) - 1
}

func (c *creations) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.namespaces)
}

func (c *creations) at(number int) (namespace int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.namespaces[number]
}

// newer is closed when something more has happened; nil where nothing will.
func (h history) newer() <-chan struct{} {
	if h.log == nil {
		return nil
	}
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	return h.log.newer
}

// serveCreate creates an object in a namespace, and names it. What the client sends is
// not looked at.
func (r *collection) serveCreate(w http.ResponseWriter, req *http.Request) {
	q := request{collection: r}
	var namespace int
	name := req.PathValue("namespace")
	if _, err := fmt.Sscanf(name, namespacePrefix+"%d", &namespace); err != nil || namespace < 0 || namespace >= r.options.Namespaces || name != NamespaceName(namespace) {
		q.fail(w, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, name))
		return
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return // the client is gone
	}
	var v values
	o := r.created(r.log.add(namespace))
	v.set(o)
	body := r.templates[encoding{}][templateOf(r.options.Kind, o)].item.append(nil, &v)
	w.Header().Set("Content-Type", encoding{}.contentType())
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body) // the client is gone
}

// namespacePrefix is what the names of all namespaces begin with.
const namespacePrefix = "team-"

// NamespaceName is the name of a namespace by its number, from 0.
func NamespaceName(number int) string {
	var digits [len(namespacePlace)]byte
	decimal(digits[:], number)
	return namespacePrefix + string(digits[:])
}

// Custom kinds are of one group.
const (
	customGroup = "bench.example.com"
	customPath  = "/apis/" + customGroup + "/v1"
	maxCustom   = 10_000
)

// addCustom adds collections of custom kinds, and returns what discovery says of them.
func addCustom(all map[string]*collection, o Options) (found []any) {
	for i := range o.Custom {
		kind, name := fmt.Sprintf("Widget%04d", i), fmt.Sprintf("widget%04ds", i)
		all[customPath+"/"+name] = &collection{
			history:    history{options: Options{Kind: kind, Objects: o.Namespaces, Namespaces: o.Namespaces}},
			apiVersion: customGroup + "/v1",
		}
		found = append(found, oneResource(name, kind, true))
	}
	return found
}

// custom is an object of a custom kind.
func custom(kind string) message {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: kind, APIVersion: customGroup + "/v1"}, ObjectMeta: objectMeta()}
}
