package kube_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/countd/countd/test/kube"
)

var shared = kube.NewShared(kube.Options{})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

func TestTwoClustersRunSideBySide(t *testing.T) {
	first, second := shared.Cluster(t), kube.StartT(t, kube.Options{})
	if first.URL() == second.URL() {
		t.Fatalf("both clusters answer at %s", first.URL())
	}
	namespace := first.Namespace(t)
	_, err := client(t, second.AdminConfig()).CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the second cluster answers for an object of the first: %v", err)
	}
	// The CA of one is not the other's.
	stranger := first.AdminConfig()
	stranger.Host, stranger.CAData = second.URL(), second.AdminConfig().CAData
	if _, err = client(t, stranger).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("the second cluster answers the administrator of the first: %v", err)
	}
}

func TestUserHasTheRightsOfRBACAndNoOthers(t *testing.T) {
	cluster := shared.Cluster(t)
	namespace := cluster.Namespace(t)
	admin := client(t, cluster.AdminConfig())
	_, err := admin.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = admin.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The authorizer has its own cache of roles: eventually the right is there.
	reader := client(t, cluster.Config("alice", "readers"))
	eventually(t, func() error {
		_, err := reader.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		return err
	})
	if _, err := reader.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("alice lists secrets: %v", err)
	}
	nobody := client(t, cluster.Config("alice"))
	if _, err := nobody.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("alice lists configmaps without her group: %v", err)
	}
}

func TestDataAndAddressSurviveStopAndKill(t *testing.T) {
	cluster := kube.StartT(t, kube.Options{})
	url, pid := cluster.URL(), cluster.PID()
	admin := client(t, cluster.AdminConfig())
	put(t, admin, "default", "before-stop")

	// An open watch must not hold up the stop.
	watch, err := admin.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	began := time.Now()
	if err := cluster.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("want a stop that does not wait for watches, it took %v", took)
	}
	<-cluster.Done()
	if err := cluster.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, admin, "default", "before-kill")
	if err := cluster.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"before-stop", "before-kill"} {
		if _, err := admin.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("reading what was written before: %v", err)
		}
	}
	if cluster.URL() != url || cluster.PID() == pid {
		t.Errorf("want the address %s and not the process %d, got %s and %d", url, pid, cluster.URL(), cluster.PID())
	}
}

func TestAggregatedAPIAnswers(t *testing.T) {
	cluster := shared.Cluster(t)
	gv := schema.GroupVersion{Group: "aggregated.example.com", Version: "v1"}
	users := make(chan string, 100)
	api, err := cluster.RegisterAPI(t.Context(), gv, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/apis/" + gv.String():
			_ = json.NewEncoder(w).Encode(metav1.APIResourceList{
				TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
				GroupVersion: gv.String(),
				APIResources: []metav1.APIResource{{Name: "parrots", Kind: "Parrot", Verbs: metav1.Verbs{"list"}}},
			})
		case "/apis/" + gv.String() + "/parrots":
			users <- r.Header.Get("X-Remote-User")
			_, _ = w.Write([]byte(`{"kind":"ParrotList","apiVersion":"` + gv.String() + `","items":[]}`))
		default:
			http.NotFound(w, r)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	list := client(t, cluster.AdminConfig()).Discovery().RESTClient().Get().AbsPath("/apis", gv.String(), "parrots")
	body, err := list.DoRaw(t.Context())
	if err != nil || !strings.Contains(string(body), "ParrotList") {
		t.Fatalf("listing through the API server: %s, %v", body, err)
	}
	if user := <-users; user != "admin" {
		t.Errorf("want the backend to see user admin, got %q", user)
	}
	if err := api.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if _, err := list.DoRaw(t.Context()); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("want an API that is down, got %v", err)
	}
	if err := api.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if _, err := list.DoRaw(t.Context()); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

func TestCustomResourceIsServedWhenCreateCRDReturns(t *testing.T) {
	cluster := shared.Cluster(t)
	widgets := schema.GroupVersionResource{Group: cluster.Namespace(t) + ".example.com", Version: "v1", Resource: "widgets"}
	if err := cluster.CreateCRD(t.Context(), kube.NewCRD(widgets, "Widget", true)); err != nil {
		t.Fatal(err)
	}
	lists, err := client(t, cluster.AdminConfig()).Discovery().ServerResourcesForGroupVersion(widgets.GroupVersion().String())
	if err != nil || len(lists.APIResources) == 0 {
		t.Errorf("discovering widgets: %v, %v", lists, err)
	}
}

func TestControllerManagerDeletesNamespaces(t *testing.T) {
	cluster := kube.StartT(t, kube.Options{ControllerManager: true})
	admin := client(t, cluster.AdminConfig())
	namespace := cluster.Namespace(t)
	put(t, admin, namespace, "in-the-way")
	watch, err := admin.CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + namespace})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if err := admin.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for event := range watch.ResultChan() {
		if event.Type == "DELETED" {
			return
		}
	}
	t.Error("the watch ended before the namespace was gone")
}

func TestFailedStartTellsTheReason(t *testing.T) {
	_, err := kube.Start(t.Context(), kube.Options{APIServerFlags: []string{"no-such-flag=1"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("want an error that quotes the log, got %v", err)
	}
}

func TestDeathOfTheServerIsTold(t *testing.T) {
	cluster, err := kube.Start(t.Context(), kube.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-cluster.Done()
	if err := cluster.Close(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("want an error that says how the server died, got %v", err)
	}
	if _, err := os.Stat(cluster.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary directory is left: %v", err)
	}
}

func TestFlagsReachTheAPIServer(t *testing.T) {
	cluster := kube.StartT(t, kube.Options{Fsync: true, APIServerFlags: []string{"watch-cache=false", "feature-gates=WatchList=false"}})
	_, err := client(t, cluster.AdminConfig()).CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents:    new(true),
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks:  true,
	})
	if !apierrors.IsInvalid(err) {
		t.Errorf("want no streaming lists without their feature gate, got %v", err)
	}
}

func TestKubeconfigStandsAlone(t *testing.T) {
	cluster := shared.Cluster(t)
	path := filepath.Join(t.TempDir(), "bob.kubeconfig")
	if err := cluster.WriteKubeconfig(path, "bob", "system:masters"); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, cluster.Kubeconfig()} {
		config, err := clientcmd.BuildConfigFromFlags("", file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client(t, config).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("using %s: %v", file, err)
		}
	}
}

func client(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func put(t *testing.T, c kubernetes.Interface, namespace, name string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// eventually asks until there is no error.
func eventually(t *testing.T, ask func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("last answer: %v", err)
		}
	}
}
