package cluster

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/test/kube"
	"github.com/countd/countd/test/proxy"
)

// allow lets a user list and watch resources of the core group, in a namespace, or
// cluster-wide where that is empty. It returns what takes that back.
func allow(t *testing.T, admin kubernetes.Interface, user, namespace string, resources ...string) (revoke func()) {
	t.Helper()
	meta := metav1.ObjectMeta{GenerateName: "see-" + user + "-"}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: resources, Verbs: []string{"list", "watch"}}}
	subjects := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}}
	rbac := admin.RbacV1()
	if namespace == "" {
		role, err := rbac.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
		must(t, err)
		binding, err := rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		}, metav1.CreateOptions{})
		must(t, err)
		return func() {
			t.Helper()
			must(t, rbac.ClusterRoleBindings().Delete(t.Context(), binding.Name, metav1.DeleteOptions{}))
		}
	}
	role, err := rbac.Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	must(t, err)
	binding, err := rbac.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}, metav1.CreateOptions{})
	must(t, err)
	return func() {
		t.Helper()
		must(t, rbac.RoleBindings(namespace).Delete(t.Context(), binding.Name, metav1.DeleteOptions{}))
	}
}

// tenants are an administrator's view of a cluster and a user that has few rights.
type tenants struct {
	*kube.Cluster
	admin kubernetes.Interface
}

func newTenants(t *testing.T) tenants {
	t.Helper()
	kc := shared.Cluster(t)
	return tenants{kc, clientset(t, kc.AdminConfig())}
}

// namespace makes one that holds Pods, and has it go with the test.
func (c tenants) namespace(t *testing.T, pods ...string) string {
	t.Helper()
	namespace := c.Namespace(t)
	for _, name := range pods {
		makePod(t, c.admin.CoreV1().Pods(namespace), name, corev1.PodRunning)
	}
	return namespace
}

// TestWhereItMayBeListed: a kind that may not be listed cluster-wide is counted in the
// namespaces in which it may, as it is cluster-wide; in those that come to be so
// while it runs; and as a whole as soon as that is allowed.
func TestWhereItMayBeListed(t *testing.T) {
	c := newTenants(t)
	const user = "tenant"
	a, b, other := c.namespace(t, "one"), c.namespace(t, "one", "two"), c.namespace(t, "one")
	allow(t, c.admin, user, "", "namespaces")
	allow(t, c.admin, user, a, "pods", "configmaps")
	allow(t, c.admin, user, b, "pods")

	wide := count(t, Options{Config: c.AdminConfig(), Resources: []string{"pods"}}).settle(t)
	tenant := count(t, Options{
		Config: c.Config(user), Resources: []string{"pods", "configmaps", "secrets", "nodes", "namespaces"},
	}).settle(t)
	same := func(namespaces ...string) func(*counts.Snapshot) bool {
		return func(s *counts.Snapshot) bool {
			want := wide.counter.Snapshot().Select(counts.Selector{Resources: []string{"pods"}, Namespaces: namespaces})
			return string(want.AppendJSON(nil)) == string(s.Select(counts.Selector{Resources: []string{"pods"}}).AppendJSON(nil))
		}
	}
	if got := number(tenant.counter.Snapshot(), "pods", ""); got != 3 {
		t.Errorf("%d pods when settled, want the 3 of %s and %s", got, a, b)
	}
	tenant.await(t, "pods as they are cluster-wide", same(a, b))
	if s := tenant.status("pods"); s.Phase != counts.Ready || !strings.Contains(s.Note, "cluster-wide, counted in namespaces ") || !strings.Contains(s.Note, b) {
		t.Errorf("status of pods is %+v, want ready with a note of %s and %s", s, a, b)
	}
	if s := tenant.status("configmaps"); s.Phase != counts.Ready || !strings.HasSuffix(s.Note, "counted in namespace "+a) {
		t.Errorf("status of configmaps is %+v, want ready with a note of %s", s, a)
	}
	for _, key := range []string{"secrets", "nodes"} {
		if s := tenant.status(key); s.Phase != counts.Forbidden || s.Counted {
			t.Errorf("status of %s is %+v, want forbidden", key, s)
		}
	}
	if s := tenant.status("namespaces"); s.Phase != counts.Ready || s.Note != "" {
		t.Errorf("status of namespaces is %+v, want ready", s)
	}

	// A namespace that comes, with rights in it, and goes.
	created := c.namespace(t, "one", "two", "three")
	allow(t, c.admin, user, created, "pods")
	tenant.await(t, "pods of a third namespace", same(a, b, created))
	makePod(t, c.admin.CoreV1().Pods(a), "two", corev1.PodFailed)
	tenant.awaitNumber(t, "pods", a, 2)
	wide.awaitNumber(t, "pods", a, 2)
	tenant.await(t, "pods of three namespaces", same(a, b, created))

	// Rights in all namespaces are seen when there is one more.
	allow(t, c.admin, user, "", "pods")
	c.namespace(t)
	tenant.awaitStatus(t, "pods", func(s counts.Status) bool { return s.Phase == counts.Ready && s.Note == "" })
	tenant.awaitNumber(t, "pods", other, 1)
	tenant.await(t, "pods of all namespaces", func(s *counts.Snapshot) bool {
		return string(wide.counter.Snapshot().AppendJSON(nil)) == string(s.Select(counts.Selector{Resources: []string{"pods"}}).AppendJSON(nil))
	})
}

// TestRightsThatShrink: a kind that was counted cluster-wide, and is forbidden when its
// watch is to go on, is counted where it still may be, and nowhere else.
func TestRightsThatShrink(t *testing.T) {
	c := newTenants(t)
	const user = "shrinking"
	a, other := c.namespace(t, "one", "two"), c.namespace(t, "one")
	allow(t, c.admin, user, "", "namespaces")
	allow(t, c.admin, user, a, "pods")
	revoke := allow(t, c.admin, user, "", "pods")

	p := proxy.New(t, c.Config(user))
	tenant := count(t, Options{Config: p.Config(), Resources: []string{"pods"}}).settle(t)
	if n := number(tenant.counter.Snapshot(), "pods", other); n != 1 {
		t.Fatalf("%d pods in %s, want 1", n, other)
	}
	revoke()
	p.Cut()
	s := tenant.await(t, "pods where they may be listed", func(s *counts.Snapshot) bool { return number(s, "pods", "") == 2 })
	if n := number(s, "pods", a); n != 2 {
		t.Errorf("%d pods in %s, want 2", n, a)
	}
	tenant.awaitStatus(t, "pods", func(s counts.Status) bool {
		return s.Phase == counts.Ready && strings.HasSuffix(s.Note, "counted in namespace "+a)
	})
}

// TestOwnNamespace: who may not list namespaces is asked to name them, but what may be
// listed in its own namespace is found there.
func TestOwnNamespace(t *testing.T) {
	c := newTenants(t)
	const user = "at-home"
	home := c.namespace(t, "one")
	allow(t, c.admin, user, home, "pods")
	tenant := count(t, Options{Config: c.Config(user), OwnNamespace: home, Resources: []string{"pods", "secrets"}}).settle(t)
	if got := number(tenant.counter.Snapshot(), "pods", home); got != 1 {
		t.Errorf("%d pods in %s, want 1; %s", got, home, tenant.told())
	}
	if s := tenant.status("secrets"); s.Phase != counts.Forbidden || !strings.Contains(s.Message, "have to be named") {
		t.Errorf("status of secrets is %+v, want forbidden with what to do", s)
	}
}

// TestRightsCostOneRequestANamespace: however many kinds are forbidden.
func TestRightsCostOneRequestANamespace(t *testing.T) {
	c := newTenants(t)
	const user = "frugal"
	a := c.namespace(t, "one")
	allow(t, c.admin, user, "", "namespaces")
	allow(t, c.admin, user, a, "pods", "secrets", "configmaps", "services", "endpoints", "serviceaccounts", "persistentvolumeclaims")
	list, err := c.admin.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	p := proxy.New(t, c.Config(user))
	count(t, Options{Config: p.Config()}).settle(t)
	rules, others := 0, 0
	for _, r := range p.Requests() {
		switch {
		case r.Method != http.MethodPost:
		case strings.HasSuffix(r.Path, "/selfsubjectrulesreviews"):
			rules++
		default:
			others++
		}
	}
	if others != 0 || rules > len(list.Items)+5 { // other tests make some
		t.Errorf("%d reviews of rules and %d other requests that write, with %d namespaces", rules, others, len(list.Items))
	}
}
