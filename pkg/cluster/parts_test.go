package cluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/countd/countd/pkg/counts"
)

// TestNamespacesOnly: with rights in two namespaces alone, kinds are counted there as
// they are cluster-wide; cluster-scoped kinds are said to be left out, and a kind that
// may be listed in one of the two says where it is not counted, until it may.
func TestNamespacesOnly(t *testing.T) {
	kc := shared.Cluster(t)
	admin, err := kubernetes.NewForConfig(kc.AdminConfig())
	must(t, err)
	a, b, other := kc.Namespace(t), kc.Namespace(t), kc.Namespace(t)
	const user = "two-namespaces"
	makeSecret := func(namespace, name string) {
		t.Helper()
		_, err := admin.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		must(t, err)
	}
	allow(t, admin, user, a, "pods", "configmaps", "secrets")
	allow(t, admin, user, b, "pods", "configmaps")
	for _, namespace := range []string{a, b, other} {
		makePod(t, admin.CoreV1().Pods(namespace), "one", corev1.PodRunning)
		makeSecret(namespace, "one")
	}
	makePod(t, admin.CoreV1().Pods(b), "two", corev1.PodFailed)

	wide := count(t, Options{Config: kc.AdminConfig(), Resources: []string{"pods", "configmaps", "secrets"}}).settle(t)
	c := count(t, Options{
		Config: kc.Config(user), Namespaces: []string{b, a, b}, Resources: []string{"pods", "configmaps", "secrets", "nodes"},
	}).settle(t)
	status := func(key string) (found counts.Status) {
		for _, s := range c.Status() {
			if s.Resource.Key() == key {
				found = s
			}
		}
		return found
	}
	same := func(key string) func(*counts.Snapshot) bool {
		return func(s *counts.Snapshot) bool {
			want := wide.counter.Snapshot().Select(counts.Selector{Resources: []string{key}, Namespaces: []string{a, b}})
			return string(want.AppendJSON(nil)) == string(s.Select(counts.Selector{Resources: []string{key}}).AppendJSON(nil))
		}
	}

	if s := status("secrets"); s.Phase != counts.Ready || !strings.Contains(s.Note, b) || !strings.Contains(s.Note, "forbidden") {
		t.Errorf("status of secrets is %+v, want ready with a note that %s is forbidden", s, b)
	}
	if got := total(c.counter.Snapshot(), "secrets"); got != 1 {
		t.Errorf("%d secrets, want the one of %s", got, a)
	}
	// At once: what is forbidden is tried again at a growing distance.
	allow(t, admin, user, b, "secrets")
	for _, key := range []string{"pods", "configmaps"} {
		c.await(t, key+" as they are cluster-wide", same(key))
		if s := status(key); s.Phase != counts.Ready || s.Note != "" {
			t.Errorf("status of %s is %+v", key, s)
		}
	}
	if s := status("nodes"); s.Phase != counts.Excluded || s.Reason != "ClusterScoped" {
		t.Errorf("status of nodes is %+v", s)
	}

	makePod(t, admin.CoreV1().Pods(a), "three", corev1.PodRunning)
	must(t, admin.CoreV1().Pods(b).Delete(t.Context(), "one", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	c.await(t, "three pods", func(s *counts.Snapshot) bool { return total(s, "pods") == 3 })
	wide.await(t, "them, cluster-wide", func(s *counts.Snapshot) bool {
		return total(s.Select(counts.Selector{Namespaces: []string{a, b}}), "pods") == 3
	})
	c.await(t, "pods as they are cluster-wide, later", same("pods"))
	c.await(t, "secrets of both", func(s *counts.Snapshot) bool { return total(s, "secrets") == 2 })
	c.await(t, "secrets as they are cluster-wide", same("secrets"))
}

// TestNamespacesAreNames: what is no name is refused, by name.
func TestNamespacesAreNames(t *testing.T) {
	for _, wrong := range []string{"", "A", "a/b", "a.b", "..", strings.Repeat("a", 64)} {
		if _, err := validNamespaces([]string{"fine", wrong}); err == nil || !strings.Contains(err.Error(), `"`+wrong+`"`) {
			t.Errorf("%q: error is %v", wrong, err)
		}
	}
}

func total(s *counts.Snapshot, key string) int {
	if c := s.Resource(key); c != nil {
		return c.Total().Count()
	}
	return -1
}
