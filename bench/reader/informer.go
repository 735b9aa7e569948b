package reader

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/countd/countd/bench/apiserver"
)

// informer is one of client-go's.
type informer struct{ cache.SharedIndexInformer }

func newInformer(name string, config *rest.Config, kind string) (informer, error) {
	of, err := resourceOf(kind)
	if err != nil {
		return informer{}, err
	}
	if name == Metadata {
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return informer{}, err
		}
		return informer{metadatainformer.NewSharedInformerFactory(client, 0).ForResource(of).Informer()}, nil
	}
	client, err := kubernetes.NewForConfig(inProtobuf(config))
	if err != nil {
		return informer{}, err
	}
	var options []informers.SharedInformerOption
	if name == Transform {
		options = append(options, informers.WithTransform(strip))
	}
	generic, err := informers.NewSharedInformerFactoryWithOptions(client, 0, options...).ForResource(of)
	if err != nil {
		return informer{}, err
	}
	return informer{generic.Informer()}, nil
}

func resourceOf(kind string) (schema.GroupVersionResource, error) {
	name, ok := map[string]string{"Pod": "pods", "ConfigMap": "configmaps"}[kind]
	if !ok {
		return schema.GroupVersionResource{}, fmt.Errorf("kind %q: want Pod or ConfigMap", kind)
	}
	return corev1.SchemeGroupVersion.WithResource(name), nil
}

func inProtobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	return config
}

// strip leaves what is needed to count, and the resourceVersion, by which an informer
// knows an update from a resync. It makes a new object, so that nothing of the old
// one is held.
func strip(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		return &corev1.Pod{ObjectMeta: stripped(o.ObjectMeta), Status: corev1.PodStatus{Phase: o.Status.Phase}}, nil
	case *corev1.ConfigMap:
		return &corev1.ConfigMap{ObjectMeta: stripped(o.ObjectMeta)}, nil
	default:
		return object, nil // what stands for an object that was deleted
	}
}

func stripped(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion}
}

// Run reads until ctx ends.
func (i informer) Run(ctx context.Context) error {
	i.RunWithContext(ctx)
	return context.Cause(ctx)
}

// Listed says whether the informer has synced.
func (i informer) Listed() bool { return i.HasSynced() }

// Holds says whether the store is of the newest version.
func (i informer) Holds(m apiserver.Moment) bool {
	return i.HasSynced() && i.GetStore().LastStoreSyncResourceVersion() == m.ResourceVersion
}

// Objects counts the keys of the store.
func (i informer) Objects() int { return len(i.GetStore().ListKeys()) }
