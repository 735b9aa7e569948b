package apiserver

import (
	"context"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// TestLiveObjectsAreSentAsTheyCome: what is created in a namespace is sent to who
// watches, before and after, under a name that no other has.
func TestLiveObjectsAreSentAsTheyCome(t *testing.T) {
	_, url := serve(t, Options{Objects: 14, Namespaces: 7, Kind: "ConfigMap", Live: true})
	for i, contentType := range contentTypes {
		t.Run(contentType, func(t *testing.T) {
			create(t, url, 3, http.StatusCreated)
			client, _ := clients(t, url, contentType)
			ctx, stop := context.WithCancel(t.Context())
			factory := informers.NewSharedInformerFactory(client, 0)
			defer factory.Shutdown()
			defer stop()
			informer := factory.Core().V1().ConfigMaps().Informer()
			created := make(chan *corev1.ConfigMap, 100)
			if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
				if m, ok := o.(*corev1.ConfigMap); ok {
					created <- m
				}
			}}); err != nil {
				t.Fatal(err)
			}
			factory.StartWithContext(ctx)
			names := make(map[string]bool)
			in := make(map[string]int)
			receive := func(n int) {
				for range n {
					m := <-created
					names[m.Name] = true
					in[m.Namespace]++
				}
			}
			receive(14 + 2*i + 1)
			create(t, url, 3, http.StatusCreated)
			receive(1)
			if all := 14 + 2*i + 2; len(names) != all || in[NamespaceName(3)] != all-12 {
				t.Errorf("%d names, %d in the namespace, want %d and %d", len(names), in[NamespaceName(3)], all, all-12)
			}
		})
	}
	create(t, url, 7, http.StatusNotFound)
}

func create(t *testing.T, url string, namespace, want int) {
	t.Helper()
	response, err := http.Post(url+"/api/v1/namespaces/"+NamespaceName(namespace)+"/configmaps", "application/json", strings.NewReader("{}")) //nolint:forbidigo // a test's, on its own machine
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	defer http.DefaultClient.CloseIdleConnections() //nolint:forbidigo // as above
	if response.StatusCode != want {
		t.Errorf("creating in namespace %d: %s, want %d", namespace, response.Status, want)
	}
}

// TestCustomKindsAreListed: each has an object in each namespace.
func TestCustomKindsAreListed(t *testing.T) {
	_, url := serve(t, Options{Objects: 1, Namespaces: 7, Kind: "ConfigMap", Custom: 3})
	var found struct{ Resources []struct{ Name, Kind string } }
	get(t, url+"/apis/bench.example.com/v1", &found)
	if len(found.Resources) != 3 {
		t.Fatalf("discovery says %+v, want 3", found)
	}
	for _, r := range found.Resources {
		var list struct {
			Kind  string
			Items []struct{ Metadata struct{ Namespace string } }
		}
		get(t, url+"/apis/bench.example.com/v1/"+r.Name, &list)
		in := make(map[string]bool)
		for _, item := range list.Items {
			in[item.Metadata.Namespace] = true
		}
		if list.Kind != r.Kind+"List" || len(list.Items) != 7 || len(in) != 7 {
			t.Errorf("%s: a %s with %d items in %d namespaces, want 7 in 7", r.Kind, list.Kind, len(list.Items), len(in))
		}
	}
}
