package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/test/kube"
	"github.com/countd/countd/test/recount"
)

func clientset(t testing.TB, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	c, err := kubernetes.NewForConfig(config)
	must(t, err)
	return c
}

func newConfigMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestC4OpenPageFollows: a subscriber of each family is connected; objects are
// created and deleted from elsewhere; it goes up by one and down by one.
func TestC4OpenPageFollows(t *testing.T) {
	kc := shared.Cluster(t)
	namespace := kc.Namespace(t)
	d := startDaemon(t, kc, "--debounce=50ms")
	steve, own := d.steve(t), d.own(t, "")
	steve.awaitNumber("configmap", namespace, 0)
	own.awaitNumber("configmaps", namespace, 0)
	api := clientset(t, kc.AdminConfig()).CoreV1().ConfigMaps(namespace)
	_, err := api.Create(t.Context(), newConfigMap("one"), metav1.CreateOptions{})
	must(t, err)
	steve.awaitNumber("configmap", namespace, 1)
	own.awaitNumber("configmaps", namespace, 1)
	must(t, api.Delete(t.Context(), "one", metav1.DeleteOptions{}))
	steve.awaitNumber("configmap", namespace, 0)
	own.awaitNumber("configmaps", namespace, 0)
	if _, there := own.view["configmaps"].Namespaces[namespace]; there {
		t.Error("C6: an empty namespace is still there")
	}
}

// TestC22OpenSubscriptionsShowANewKind (C9 too): the CRD comes with objects at
// once, and goes.
func TestC22OpenSubscriptionsShowANewKind(t *testing.T) {
	kc := shared.Cluster(t)
	d := startDaemon(t, kc, "--debounce=50ms")
	steve, own := d.steve(t), d.own(t, "")
	gvr := schema.GroupVersionResource{Group: "c22.example.com", Version: "v1", Resource: "widgets"}
	must(t, kc.CreateCRD(t.Context(), kube.NewCRD(gvr, "Widget", false)))
	client, err := dynamic.NewForConfig(kc.AdminConfig())
	must(t, err)
	for i := range 3 {
		_, err := client.Resource(gvr).Create(t.Context(), custom(gvr, "Widget", fmt.Sprint("w", i)), metav1.CreateOptions{})
		must(t, err)
	}
	steve.awaitNumber("c22.example.com.widget", "", 3)
	own.awaitNumber("widgets.c22.example.com", "", 3)

	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	must(t, crds.Delete(t.Context(), "widgets.c22.example.com", metav1.DeleteOptions{}))
	steve.awaitNumber("c22.example.com.widget", "", 0) // steve's family never forgets a kind
	own.awaitNumber("widgets.c22.example.com", "", -1)
}

func custom(gvr schema.GroupVersionResource, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvr.GroupVersion().WithKind(kind))
	u.SetName(name)
	return u
}

// TestC16EachCountIsThatOfAFreshList: 60 and more built-in kinds and 30 custom
// ones, with objects in 200 namespaces, in a cluster of their own, at rest.
func TestC16EachCountIsThatOfAFreshList(t *testing.T) {
	t.Parallel()
	kc := kube.StartT(t, kube.Options{})
	fill(t, kc, 200, 30)
	d := startDaemon(t, kc)
	var body struct{ Resources view }
	d.get(t, "/api/v1/counts", &body)
	got := body.Resources

	t.Run("equal a fresh list", func(t *testing.T) {
		listed, err := recount.List(t.Context(), kc.AdminConfig(), d.ready(t))
		must(t, err)
		want := make(view)
		for key, count := range listed {
			if count.Own.Namespaces == nil && got[key].Namespaces != nil {
				count.Own.Namespaces = map[string]counts.Summary{} // of an empty kind, in JSON
			}
			want[key] = count.Own
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-list +counts:\n%s", diff)
		}
	})
	t.Run("C5 namespaces sum up", func(t *testing.T) {
		for key, item := range got {
			sum := 0
			for _, s := range item.Namespaces {
				sum += s.Count
			}
			if item.Namespaces != nil && sum != item.Summary.Count {
				t.Errorf("namespaces of %s hold %d of %d", key, sum, item.Summary.Count)
			}
		}
	})
	t.Run("C21 every kind is counted or named with the reason", func(t *testing.T) { d.nothingIsMissing(t, kc) })

	customs := 0
	for key := range got {
		if strings.HasSuffix(key, "example.com") {
			customs++
		}
	}
	if builtIn := len(got) - customs; builtIn < 60 || customs != 30 {
		t.Errorf("%d built-in and %d custom kinds were compared", builtIn, customs)
	}
	if n := len(got["configmaps"].Namespaces); n < 200 {
		t.Errorf("ConfigMaps in %d namespaces", n)
	}
}

// ready are the resources that are counted; no other but excluded ones may be.
func (d daemon) ready(t testing.TB) []counts.Resource {
	t.Helper()
	var out []counts.Resource
	for _, s := range d.resources(t) {
		switch s.Phase {
		case counts.Ready:
			out = append(out, s.Resource)
		case counts.Excluded:
		default:
			t.Errorf("%s is %s: %s", s.Resource.Key(), s.Phase, s.Message)
		}
	}
	return out
}

// resources are what /api/v1/resources says.
func (d daemon) resources(t testing.TB) []counts.Status {
	t.Helper()
	var body struct {
		Resources map[string]struct {
			Kind, Version, Reason, Message string
			Namespaced                     bool
			Phase                          counts.Phase
		}
	}
	d.get(t, "/api/v1/resources", &body)
	var out []counts.Status
	for key, r := range body.Resources {
		name, group, _ := strings.Cut(key, ".")
		out = append(out, counts.Status{
			Resource: counts.Resource{Group: group, Version: r.Version, Name: name, Kind: r.Kind, Namespaced: r.Namespaced},
			Phase:    r.Phase, Reason: r.Reason, Message: r.Message,
		})
	}
	return out
}

// nothingIsMissing compares with discovery, asked anew.
func (d daemon) nothingIsMissing(t testing.TB, kc *kube.Cluster) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(kc.AdminConfig())
	must(t, err)
	_, lists, err := client.ServerGroupsAndResourcesWithContext(t.Context())
	must(t, err)
	named := make(map[string]counts.Status)
	for _, s := range d.resources(t) {
		named[s.Resource.Key()] = s
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		must(t, err)
		for _, r := range list.APIResources {
			verbs := strings.Join(r.Verbs, ",")
			if !strings.Contains(verbs, "list") || !strings.Contains(verbs, "watch") || strings.Contains(r.Name, "/") {
				continue
			}
			key := counts.Resource{Group: gv.Group, Name: r.Name}.Key()
			if s, ok := named[key]; !ok || (s.Phase != counts.Ready && s.Reason == "") {
				t.Errorf("C21: %s is neither counted nor named with a reason: %+v", key, s)
			}
		}
	}
}

// fill makes namespaces with objects in each, and custom kinds with objects.
func fill(t testing.TB, kc *kube.Cluster, namespaces, customKinds int) {
	t.Helper()
	api := clientset(t, kc.AdminConfig())
	config := rest.CopyConfig(kc.AdminConfig())
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	parallel(t, customKinds, func(ctx context.Context, i int) error {
		gvr := customGVR(i)
		return kc.CreateCRD(ctx, kube.NewCRD(gvr, fmt.Sprint("Kind", i), i%3 != 0))
	})
	parallel(t, namespaces, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("fill-%03d", i)
		if _, err := api.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			return err
		}
		if _, err := api.CoreV1().ConfigMaps(name).Create(ctx, newConfigMap("x"), metav1.CreateOptions{}); err != nil {
			return err
		}
		pod, err := api.CoreV1().Pods(name).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "x"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/c"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		pod.Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}[i%3]
		if _, err := api.CoreV1().Pods(name).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if customKinds == 0 {
			return nil
		}
		gvr, kind := customGVR(i%customKinds), fmt.Sprint("Kind", i%customKinds)
		resource := dynamic.ResourceInterface(client.Resource(gvr).Namespace(name))
		if i%customKinds%3 == 0 {
			resource = client.Resource(gvr)
		}
		o := custom(gvr, kind, name)
		if i%2 == 0 {
			o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False"}}}
		}
		created, err := resource.Create(ctx, o, metav1.CreateOptions{})
		if err != nil || i%2 != 0 {
			return err
		}
		created.Object["status"] = o.Object["status"]
		_, err = resource.UpdateStatus(ctx, created, metav1.UpdateOptions{})
		return err
	})
}

func customGVR(i int) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: fmt.Sprintf("g%d.example.com", i%5), Version: "v1", Resource: fmt.Sprintf("kind%ds", i)}
}

// parallel calls f for 0 to n-1 from eight goroutines.
func parallel(t testing.TB, n int, f func(ctx context.Context, i int) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	next := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range next {
				if err := f(ctx, i); err != nil {
					t.Errorf("item %d: %v", i, err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}
