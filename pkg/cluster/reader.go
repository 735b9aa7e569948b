package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/pkg/counts"
)

const (
	// Whole objects in JSON, where a server has no protobuf, are read as any others.
	acceptParts = "application/vnd.kubernetes.protobuf,application/json"
	// No bare application/json at the end, which client-go's metadata client
	// has for servers older than 1.15: such a server would send whole Secrets.
	acceptMetadata     = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetadataList = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// clients are the ways to ask for objects, over shared connections. They are used
// instead of client-go's dynamic and metadata clients because those repeat a
// refused request by themselves, up to ten times, and a feed does its own waiting.
type clients struct {
	whole                       rest.Interface
	wholeConfig, metadataConfig *rest.Config
	http                        *http.Client
}

func newClients(config *rest.Config, h *http.Client) (clients, error) {
	c := clients{
		wholeConfig:    unversioned(dynamic.ConfigFor(config)),
		metadataConfig: unversioned(metadata.ConfigFor(config)),
		http:           h,
	}
	var err error
	if c.whole, err = rest.UnversionedRESTClientForConfigAndClient(c.wholeConfig, h); err != nil {
		return clients{}, fmt.Errorf("making a client for objects: %w", err)
	}
	return c, nil
}

func unversioned(c *rest.Config) *rest.Config {
	c.GroupVersion = nil
	c.APIPath = "/" // each request has its own
	return c
}

// reader reads the objects of one resource from the API server. It is immutable.
type reader struct {
	client                 rest.Interface
	version, name          string // the path of the resource
	acceptOne, acceptLists string // empty for the client's own
	partial                bool   // protobuf is decoded in part
	newList                func() runtime.Object
	gvk                    schema.GroupVersionKind
	state                  func(runtime.Object, schema.GroupVersionKind) (counts.State, error)
}

func (c clients) reader(r counts.Resource) (*reader, error) {
	rd := &reader{
		client:  c.whole,
		newList: func() runtime.Object { return new(unstructured.UnstructuredList) },
		state:   stateOf,
		version: "/apis/" + r.Group + "/" + r.Version,
		name:    "/" + r.Name,
		gvk:     schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind},
	}
	if r.Group == "" {
		rd.version = "/api/" + r.Version
	}
	fields, err := schemaOf(r)
	if fields == nil || err != nil {
		return rd, err
	}
	config := rest.CopyConfig(c.wholeConfig)
	rd.partial, rd.acceptOne, rd.acceptLists = true, acceptParts, acceptParts
	if metadataSuffices[r.Key()] {
		config = rest.CopyConfig(c.metadataConfig)
		rd.acceptOne, rd.acceptLists = acceptMetadata, acceptMetadataList
		rd.newList = func() runtime.Object { return new(metav1.PartialObjectMetadataList) }
	}
	config.NegotiatedSerializer = newSerializers(c.metadataConfig.NegotiatedSerializer, config.NegotiatedSerializer, newPartialDecoder(fields, rd.gvk))
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
	req := r.client.Get().AbsPath(r.version+r.name).MaxRetries(0).
		SpecificallyVersionedParams(&o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
	if accept != "" {
		req.SetHeader("Accept", accept)
	}
	return req
}

// page is one page of a list.
type page struct {
	objects               []runtime.Object
	resourceVersion, next string
}

// list asks for one page.
func (r *reader) list(ctx context.Context, o metav1.ListOptions) (page, error) {
	answer := r.request(r.acceptLists, o).Do(ctx)
	var contentType string
	if answer.ContentType(&contentType); r.partial && contentType == runtime.ContentTypeProtobuf {
		var list partials
		err := answer.Into(&list)
		return page{list.items, list.resourceVersion, list.next}, err
	}
	obj := r.newList()
	if err := answer.Into(obj); err != nil {
		return page{}, err
	}
	list, err := meta.ListAccessor(obj)
	if err != nil {
		return page{}, fmt.Errorf("answer to a list is a %T: %w", obj, err)
	}
	p := page{resourceVersion: list.GetResourceVersion(), next: list.GetContinue()}
	p.objects, err = meta.ExtractList(obj)
	return p, err
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

// errState: an object is there, but what state it is in cannot be read.
var errState = errors.New("state cannot be read")

// object reads an object into what is counted of it, and its resourceVersion. An
// error that is errState leaves the object to be counted, without a state: what
// somebody has written into one object must not cost the count of the others.
func (r *reader) object(obj runtime.Object) (o counts.Object, resourceVersion string, err error) {
	if p, ok := obj.(*partial); ok {
		if p.err != nil {
			err = fmt.Errorf("%w: %s/%s: %w", errState, p.Namespace, p.Name, p.err)
		}
		return p.Object, p.resourceVersion, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return o, "", fmt.Errorf("object is a %T: %w", obj, err)
	}
	o = counts.Object{Namespace: m.GetNamespace(), Name: m.GetName()}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %s/%s: %v", errState, o.Namespace, o.Name, p)
		}
	}()
	resourceVersion = m.GetResourceVersion()
	if o.State, err = r.state(obj, r.gvk); err != nil {
		err = fmt.Errorf("%w: %s/%s: %w", errState, o.Namespace, o.Name, err)
	}
	return o, resourceVersion, err
}
