package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/test/kube"
)

// act is one thing that the dashboard has to survive with the right numbers.
type act struct {
	name string
	play func(context.Context, *stage) error
}

// stage is where the acts are played, one after the other.
type stage struct {
	server     server
	dashboard  *dashboard
	cluster    *kube.Cluster
	client     *kubernetes.Clientset
	namespaces [2]string
	label      map[string]string
	made       int
}

// stageLabel is on all objects that a stage makes, with the stage's name.
const stageLabel = "stage"

func stageName(t testing.TB) string { return strings.ReplaceAll(t.Name(), "/", ".") }

func newStage(t testing.TB, s server, mode string) *stage {
	t.Helper()
	kc := shared.Cluster(t)
	st := &stage{
		server: s, cluster: kc, client: clientset(t, kc.AdminConfig()),
		namespaces: [2]string{kc.Namespace(t), kc.Namespace(t)}, label: map[string]string{stageLabel: stageName(t)},
	}
	must(t, st.server.start())
	st.dashboard = startDashboard(t, s.url(), mode)
	return st
}

func clientset(t testing.TB, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := kubernetes.NewForConfig(config)
	must(t, err)
	return c
}

// play plays until an act fails and returns its name.
func (s *stage) play(ctx context.Context, acts []act) (failed string, err error) {
	for _, a := range acts {
		if err := a.play(ctx, s); err != nil {
			return a.name, err
		}
	}
	return "", nil
}

// create makes ConfigMaps in a namespace.
func (s *stage) create(ctx context.Context, namespace string, n int) error {
	for range n {
		s.made++
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", s.made), Labels: s.label}}
		if _, err := s.client.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) clear(ctx context.Context, namespace string) error {
	return s.client.CoreV1().ConfigMaps(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

// reconnect is the act at which a server fails that does what steve does.
const reconnect = "the server is killed, the counts change, it is started again"

// acts are the same for all servers. What is expected of steve stands first.
func acts() []act {
	return []act{
		{"the first load", firstLoad},
		{"a change", change},
		{"a namespace that empties", empty},
		{reconnect, restart},
		{"the watch is stopped, the counts change, it is started again", watchAnew},
		{"two kinds change one after the other", inTurn},
		{"a kind comes, with objects in all states, and goes", comeAndGo},
	}
}

func firstLoad(ctx context.Context, s *stage) error {
	a := s.namespaces[0]
	if err := s.create(ctx, a, 2); err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "untouched", Labels: s.label}}
	if _, err := s.client.CoreV1().Secrets(a).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	// The server may still be counting; a dashboard that asked now would be right only
	// by what comes after.
	if err := s.awaitServed(ctx, "configmap", a, 2); err != nil {
		return err
	}
	if err := s.dashboard.open(); err != nil {
		return err
	}
	if err := s.dashboard.awaitNumber("configmap", a, 2); err != nil {
		return err
	}
	return s.awaitStarted(1)
}

// awaitStarted waits until the dashboard has heard n times that its watch of the
// counts stands.
func (s *stage) awaitStarted(n int) error {
	return s.dashboard.await(patience, fmt.Sprintf("the watch to stand the %dth time", n), func(sh *shown) bool {
		return sh.told("received", `"resource.start"`, `"resourceType":"count"`) >= n
	})
}

func change(ctx context.Context, s *stage) error {
	if err := s.create(ctx, s.namespaces[1], 1); err != nil {
		return err
	}
	if err := s.dashboard.awaitNumber("configmap", s.namespaces[1], 1); err != nil {
		return err
	}
	// The kind is replaced as a whole, others are kept.
	if err := s.dashboard.awaitNumber("configmap", s.namespaces[0], 2); err != nil {
		return err
	}
	return s.dashboard.awaitNumber("secret", s.namespaces[0], 1)
}

func empty(ctx context.Context, s *stage) error {
	if err := s.clear(ctx, s.namespaces[1]); err != nil {
		return err
	}
	if err := s.create(ctx, s.namespaces[0], 1); err != nil {
		return err
	}
	err := s.dashboard.await(promptness, "the namespace to be gone", func(sh *shown) bool {
		_, there := sh.item("configmap").Namespaces[s.namespaces[1]]
		return !there
	})
	if err != nil {
		return err
	}
	return s.dashboard.awaitNumber("configmap", s.namespaces[0], 3)
}

// restart is C23: 3 are shown, 9 there are.
func restart(ctx context.Context, s *stage) error {
	if err := s.server.kill(); err != nil {
		return err
	}
	if err := s.create(ctx, s.namespaces[0], 6); err != nil {
		return err
	}
	if err := s.server.start(); err != nil {
		return err
	}
	if err := s.awaitStarted(2); err != nil {
		return err
	}
	return s.dashboard.awaitNumber("configmap", s.namespaces[0], 9)
}

func watchAnew(ctx context.Context, s *stage) error {
	count := map[string]string{"type": "count"}
	if err := s.dashboard.do(command{Do: "unwatch", Watch: count}, nil); err != nil {
		return err
	}
	err := s.dashboard.await(promptness, "the watch to stop", func(sh *shown) bool {
		return sh.told("received", `"resource.stop"`, `"resourceType":"count"`) == 1
	})
	if err != nil {
		return err
	}
	if err := s.create(ctx, s.namespaces[0], 1); err != nil {
		return err
	}
	if err := s.awaitServed(ctx, "configmap", s.namespaces[0], 10); err != nil {
		return err
	}
	if err := s.dashboard.do(command{Do: "watch", Watch: count}, nil); err != nil {
		return err
	}
	return s.dashboard.awaitNumber("configmap", s.namespaces[0], 10)
}

// inTurn: the second change must not take the place of the first, of which the
// dashboard's worker has not made anything yet.
func inTurn(ctx context.Context, s *stage) error {
	b := s.namespaces[1]
	news := func(kind string) error {
		return s.dashboard.await(patience, "news of "+kind, func(sh *shown) bool { return sh.told("received", `"`+kind+`":{`, `"`+b+`"`) > 0 })
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "first", Labels: s.label}}
	if _, err := s.client.CoreV1().Secrets(b).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := news("secret"); err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "second", Labels: s.label}}
	if _, err := s.client.CoreV1().ServiceAccounts(b).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := news("serviceaccount"); err != nil {
		return err
	}
	if err := s.dashboard.awaitNumber("secret", b, 1); err != nil {
		return err
	}
	return s.dashboard.awaitNumber("serviceaccount", b, 1)
}

// comeAndGo: a kind that is new to the dashboard is in the side bar with its objects
// by state, and when it is gone, as one of which there are none.
func comeAndGo(ctx context.Context, s *stage) error {
	group := strings.ToLower(s.label[stageLabel]) + ".example.com"
	gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
	kind, namespace := group+".thing", s.namespaces[0]
	if err := s.cluster.CreateCRD(ctx, kube.NewCRD(gvr, "Thing", true)); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(s.cluster.AdminConfig())
	if err != nil {
		return err
	}
	things := client.Resource(gvr).Namespace(namespace)
	for _, condition := range []string{"Ready", "Reconciling", "Stalled"} {
		thing := &unstructured.Unstructured{}
		thing.SetGroupVersionKind(gvr.GroupVersion().WithKind("Thing"))
		thing.SetName(strings.ToLower(condition))
		if thing, err = things.Create(ctx, thing, metav1.CreateOptions{}); err != nil {
			return err
		}
		thing.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True"}}}
		if _, err = things.UpdateStatus(ctx, thing, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if err := s.awaitKind(kind, `{"summary":{"count":3,"states":{"error":1,"in-progress":1},"errors":1,"transitioning":1},`+
		`"namespaces":{"`+namespace+`":{"count":3,"states":{"error":1,"in-progress":1},"errors":1,"transitioning":1}}}`); err != nil {
		return err
	}
	if err := s.expect(command{Do: "summary", Type: kind}, `{"total":3,"useful":2,"warningCount":0,"errorCount":1}`); err != nil {
		return err
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if err := crds.Delete(ctx, gvr.GroupResource().String(), metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := s.awaitKind(kind, `{"summary":{},"namespaces":{}}`); err != nil {
		return err
	}
	if err := s.expect(command{Do: "summary", Type: kind}, `{"total":0,"useful":0,"warningCount":0,"errorCount":0}`); err != nil {
		return err
	}
	// Their code throws where a kind has no summary, or is null.
	return s.expect(command{Do: "namespace", Namespace: namespace}, `[{"type":"configmap","totalCount":10},{"type":"secret","totalCount":1}]`)
}

// awaitKind waits until the dashboard has of a kind just what is wanted.
func (s *stage) awaitKind(kind, want string) error {
	got := ""
	err := s.dashboard.await(patience, "", func(sh *shown) bool { // discovery has its own pace
		got = string(sh.now.Counts[kind])
		return got == want
	})
	if err != nil {
		return fmt.Errorf("the dashboard has %s of %s, want %s", got, kind, want)
	}
	return nil
}

// expect holds the answer of the dashboard's own code.
func (s *stage) expect(c command, want string) error {
	var got json.RawMessage
	if err := s.dashboard.do(c, &got); err != nil {
		return err
	}
	if string(got) != want {
		return fmt.Errorf("%s %s%s: the dashboard shows %s, want %s", c.Do, c.Type, c.Namespace, got, want)
	}
	return nil
}

// awaitServed waits until a GET of the counts has a number.
func (s *stage) awaitServed(ctx context.Context, kind, namespace string, want int) error {
	return poll(ctx, fmt.Sprintf("%d %s to be served", want, kind), func() bool {
		counts, err := servedCounts(ctx, s.server.url())
		return err == nil && counts[kind].Namespaces[namespace].Count == want
	})
}

// TestDashboard: what the Rancher dashboard shows is right at every moment at rest,
// C23 too, with its socket in the page and in its worker.
func TestDashboard(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{inPage, inWorker} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, newCountd(t, adminKubeconfig(t)), mode)
			if failed, err := s.play(t.Context(), acts()); err != nil {
				t.Fatalf("%s: %v", failed, err)
			}
			s.dashboard.ask(func(sh *shown) {
				// What countd has to understand. A dashboard that says something else
				// is to be looked at.
				if diff := cmp.Diff(conversation(), sh.texts("request", "dial", "sent")); diff != "" {
					t.Errorf("the dashboard asked (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// conversation is what the dashboard asks for in all acts: its requests, connections
// and messages. None of them has a resourceVersion, because no count had a revision.
func conversation() []string {
	const query = "?pagesize=100000&exclude=metadata.managedFields"
	const start, stop = `{"resourceType":"count"}`, `{"resourceType":"count","stop":true}`
	return []string{
		"GET /v1/schemas" + query, "GET /v1/counts" + query,
		"/v1/subscribe sockId", `{"resourceType":"schema"}`, start,
		"/v1/subscribe sockId", start, // what was refused is not asked for again
		stop, start,
	}
}

// TestDashboardBites: in front of a server that does what steve does, the acts fail
// at the reconnect, and not before.
func TestDashboardBites(t *testing.T) {
	t.Parallel()
	s := newStage(t, newSteve(t, shared.Cluster(t).AdminConfig()), inPage)
	failed, err := s.play(t.Context(), acts())
	if failed != reconnect {
		t.Fatalf("failed at %q: %v", failed, err)
	}
	s.dashboard.ask(func(sh *shown) {
		if got := sh.number("configmap", s.namespaces[0]); got != 3 {
			t.Errorf("failed with %d ConfigMaps shown, want the 3 from before", got)
		}
	})
	t.Log(err)
}
