package apiserver

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// TestInformersFollow: client-go's informers, typed and of metadata, with streaming
// lists and without, hold what is there, also after a break.
func TestInformersFollow(t *testing.T) {
	for name, pages := range map[string]bool{"stream": false, "pages": true} {
		for _, contentType := range contentTypes {
			t.Run(name+" of "+contentType, func(t *testing.T) {
				handler, url := serve(t, Options{Objects: 500, Namespaces: 7, Changes: 20, Kind: "Pod", NoStreamingLists: pages})
				typed, meta := clients(t, url, contentType)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				pods := informers.NewSharedInformerFactory(typed, 0)
				metas := metadatainformer.NewSharedInformerFactory(meta, 0)
				both := []cache.SharedIndexInformer{
					pods.Core().V1().Pods().Informer(),
					metas.ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Informer(),
				}
				pods.StartWithContext(ctx)
				metas.Start(ctx.Done())
				defer pods.Shutdown()
				defer metas.Shutdown()
				defer stop()
				await(t, both, handler.Moment())
				await(t, both, handler.Expire(11))
			})
		}
	}
}

func await(t *testing.T, all []cache.SharedIndexInformer, m Moment) {
	t.Helper()
	deadline := time.After(time.Minute)
	for _, informer := range all {
		for informer.LastSyncResourceVersion() != m.ResourceVersion || len(informer.GetStore().ListKeys()) != m.Objects {
			select {
			case <-time.After(5 * time.Millisecond):
			case <-deadline:
				t.Fatalf("%d objects of version %s, want %v", len(informer.GetStore().ListKeys()), informer.LastSyncResourceVersion(), m)
			}
		}
	}
}
