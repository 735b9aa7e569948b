package reader

import (
	"context"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/countd/countd/bench/apiserver"
)

// reflector is one of client-go's, with nothing behind it.
type reflector struct {
	*cache.Reflector
	store *discard
}

func newReflector(name string, config *rest.Config, kind string) (*reflector, error) {
	of, err := resourceOf(kind)
	if err != nil {
		return nil, err
	}
	var from cache.ListerWatcher
	var object runtime.Object = &metav1.PartialObjectMetadata{}
	if name == ReflectorMetadata {
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		from = &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return client.Resource(of).List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return client.Resource(of).Watch(ctx, o)
			},
		}
	} else {
		client, err := kubernetes.NewForConfig(inProtobuf(config))
		if err != nil {
			return nil, err
		}
		from = cache.NewListWatchFromClient(client.CoreV1().RESTClient(), of.Resource, metav1.NamespaceAll, fields.Everything())
		object = &corev1.Pod{}
		if kind == "ConfigMap" {
			object = &corev1.ConfigMap{}
		}
	}
	store := new(discard)
	return &reflector{cache.NewReflectorWithOptions(from, object, store, cache.ReflectorOptions{Name: name}), store}, nil
}

// Run reads until ctx ends.
func (r *reflector) Run(ctx context.Context) error {
	r.RunWithContext(ctx)
	return context.Cause(ctx)
}

// Listed says whether a list has come to its end.
func (r *reflector) Listed() bool { return r.store.listed.Load() > 0 }

// Holds says whether the newest version has been read.
func (r *reflector) Holds(m apiserver.Moment) bool {
	return r.Listed() && r.LastSyncResourceVersion() == m.ResourceVersion
}

// Objects is how many the last list had.
func (r *reflector) Objects() int { return int(r.store.listed.Load()) }

// discard throws away what it is given. While a Reflector reads a streaming list it
// gathers the objects in a store of its own; the transformer leaves their keys there,
// which is the least that it can hold. It is safe for concurrent use.
type discard struct{ listed atomic.Int64 }

var _ cache.TransformingStore = (*discard)(nil)

// Transformer leaves the key, which is a key of itself.
func (d *discard) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		key, err := cache.MetaNamespaceKeyFunc(object)
		return cache.ExplicitKey(key), err
	}
}

// Add does nothing.
func (d *discard) Add(any) error { return nil }

// Update does nothing.
func (d *discard) Update(any) error { return nil }

// Delete does nothing.
func (d *discard) Delete(any) error { return nil }

// Resync does nothing.
func (d *discard) Resync() error { return nil }

// Replace remembers how many they are.
func (d *discard) Replace(objects []any, _ string) error {
	d.listed.Store(int64(len(objects)))
	return nil
}
