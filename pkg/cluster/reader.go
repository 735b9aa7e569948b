package cluster

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/internal/decode"
	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/pkg/counts"
)

// clients are the ways to ask for objects, over shared connections. They are used
// instead of client-go's dynamic and metadata clients because those repeat a
// refused request by themselves, up to ten times, and a feed does its own waiting.
type clients struct {
	config *rest.Config
	http   *http.Client
	rules  state.Rules
}

func newClients(config *rest.Config, h *http.Client, rules state.Rules) clients {
	config = metadata.ConfigFor(config) // it knows the events of a watch, in each encoding
	config.GroupVersion = nil
	config.APIPath = "/" // each request has its own
	return clients{config: config, http: h, rules: rules}
}

// reader reads the objects of one resource from the API server. It is immutable.
type reader struct {
	client                 rest.Interface
	version, name          string // the path of the resource
	acceptOne, acceptLists string
}

func (c clients) reader(r counts.Resource) (*reader, error) {
	rd := &reader{version: "/apis/" + r.Group + "/" + r.Version, name: "/" + r.Name}
	if r.Group == "" {
		rd.version = "/api/" + r.Version
	}
	decoder, err := decode.New(r, c.rules)
	if err != nil {
		return nil, err
	}
	rd.acceptOne, rd.acceptLists = decoder.Accept()
	config := rest.CopyConfig(c.config)
	config.NegotiatedSerializer = decoder.Serializers(config.NegotiatedSerializer)
	if rd.client, err = rest.UnversionedRESTClientForConfigAndClient(config, c.http); err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", r.Key(), err)
	}
	return rd, nil
}

// in returns a reader of the objects of one namespace.
func (r *reader) in(namespace string) *reader {
	part := *r
	part.version += "/namespaces/" + namespace
	return &part
}

func (r *reader) request(accept string, o metav1.ListOptions) *rest.Request {
	return r.client.Get().AbsPath(r.version+r.name).MaxRetries(0).SetHeader("Accept", accept).
		SpecificallyVersionedParams(&o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

// list asks for one page.
func (r *reader) list(ctx context.Context, o metav1.ListOptions) (*decode.List, error) {
	page := new(decode.List)
	err := r.request(r.acceptLists, o).Do(ctx).Into(page)
	return page, err
}

// probe asks for next to nothing, to see whether the resource is there at all.
func (r *reader) probe(ctx context.Context) error {
	_, err := r.list(ctx, metav1.ListOptions{Limit: 1})
	return err
}

// watch begins a watch.
func (r *reader) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return r.request(r.acceptOne, o).Watch(ctx)
}
