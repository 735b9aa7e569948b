package cluster

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/test/kube"
)

// TestC15EventsAreCountedOnce: two groups serve the same events.
func TestC15EventsAreCountedOnce(t *testing.T) {
	kc := shared.Cluster(t)
	namespace := kc.Namespace(t)
	c := count(t, Options{Config: kc.AdminConfig(), Resources: []string{"events", "events.*", "configmaps"}}).settle(t)
	_, err := clientset(t, kc.AdminConfig()).CoreV1().Events(namespace).Create(t.Context(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "one"},
		InvolvedObject: corev1.ObjectReference{Namespace: namespace, Kind: "Pod", Name: "x"},
	}, metav1.CreateOptions{})
	must(t, err)
	s := c.awaitNumber(t, "events", namespace, 1)
	if s.Resource("events.events.k8s.io") != nil {
		t.Error("events are counted under both names")
	}
	if got := c.status("events.events.k8s.io"); got.Phase != counts.Excluded || got.Reason != "Duplicate" {
		t.Errorf("status of the other name is %+v", got)
	}
}

func TestFilterNamesWhatIsWrong(t *testing.T) {
	_, err := New(Options{Resources: []string{"pods", "[x"}})
	for _, want := range []string{"Options.Config", "Options.Counter", `"[x"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not speak of %s", err, want)
		}
	}
}

func TestExcludedResourceIsNamedWithTheReason(t *testing.T) {
	kc := shared.Cluster(t)
	c := count(t, Options{Config: kc.AdminConfig(), Resources: []string{"*"}, Exclude: []string{"secrets", "*.apps"}}).settle(t)
	for _, key := range []string{"secrets", "deployments.apps"} {
		if got := c.status(key); got.Phase != counts.Excluded || got.Reason != "Filtered" {
			t.Errorf("status of %s is %+v", key, got)
		}
		if c.counter.Snapshot().Resource(key) != nil {
			t.Errorf("%s is counted", key)
		}
	}
	if c.counter.Snapshot().Resource("configmaps") == nil {
		t.Error("configmaps are not counted")
	}
}

var widgetGVR = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

func widget(gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvr.GroupVersion().WithKind("Widget"))
	u.SetName(name)
	return u
}

// TestC9NewKindComesAndGoes (C22 too): a CRD is made, with objects at once, while
// counting goes on; it is counted within seconds, and leaves when it is deleted.
// Made again with another scope, nothing of the first is left.
func TestC9NewKindComesAndGoes(t *testing.T) {
	kc := shared.Cluster(t)
	namespace := kc.Namespace(t)
	gvr := widgetGVR
	gvr.Group = "c9.example.com"
	key := "widgets.c9.example.com"
	c := count(t, Options{Config: kc.AdminConfig()}).settle(t)
	client, err := dynamic.NewForConfig(kc.AdminConfig())
	must(t, err)
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})

	must(t, kc.CreateCRD(t.Context(), kube.NewCRD(gvr, "Widget", true)))
	for i := range 3 {
		_, err := client.Resource(gvr).Namespace(namespace).Create(t.Context(), widget(gvr, fmt.Sprint("w", i)), metav1.CreateOptions{})
		must(t, err)
	}
	c.awaitNumber(t, key, namespace, 3)
	must(t, crds.Delete(t.Context(), key, metav1.DeleteOptions{}))
	c.awaitNumber(t, key, "", -1)
	if got := c.status(key); got.Phase != "" {
		t.Errorf("status is still %+v", got)
	}

	must(t, kc.CreateCRD(t.Context(), kube.NewCRD(gvr, "Widget", false)))
	_, err = client.Resource(gvr).Create(t.Context(), widget(gvr, "cluster-wide"), metav1.CreateOptions{})
	must(t, err)
	s := c.awaitNumber(t, key, "", 1)
	if item := s.Resource(key).ItemCount(); item.Namespaces != nil {
		t.Errorf("a cluster-scoped resource has namespaces: %+v", item)
	}
	must(t, crds.Delete(t.Context(), key, metav1.DeleteOptions{}))
	c.awaitNumber(t, key, "", -1)
}

// grant lets a user list and watch resources, given as group/resource, by a role
// whose name it returns.
func grant(t *testing.T, admin *rest.Config, user string, resources ...string) string {
	t.Helper()
	rbac := clientset(t, admin).RbacV1()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	for _, r := range resources {
		group, resource, _ := strings.Cut(r, "/")
		role.Rules = append(role.Rules, rbacv1.PolicyRule{Verbs: []string{"list", "watch"}, APIGroups: []string{group}, Resources: []string{resource}})
	}
	role, err := rbac.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	must(t, err)
	_, err = rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}, metav1.CreateOptions{})
	must(t, err)
	return role.Name
}

// TestC26ForbiddenIsNotZero: what countd may not list is named with the reason and
// is not in the snapshot, the rest is ready without it; once allowed it is counted.
func TestC26ForbiddenIsNotZero(t *testing.T) {
	kc := shared.Cluster(t)
	grant(t, kc.AdminConfig(), "partly", "/configmaps", "/limitranges")
	c := count(t, Options{Config: kc.Config("partly"), Resources: []string{"configmaps", "limitranges", "secrets"}}).settle(t)
	s := c.counter.Snapshot()
	if number(s, "configmaps", "") < 0 || number(s, "limitranges", "") != 0 || number(s, "secrets", "") != -1 {
		t.Errorf("counts are %s", s.AppendJSON(nil))
	}
	got := c.status("secrets")
	if got.Phase != counts.Forbidden || got.Reason != "Forbidden" || !strings.Contains(got.Message, `"partly" cannot`) {
		t.Errorf("status of secrets is %+v", got)
	}
	grant(t, kc.AdminConfig(), "partly", "/secrets")
	c.awaitStatus(t, "secrets", func(s counts.Status) bool { return s.Phase == counts.Ready })
	if got := number(c.counter.Snapshot(), "secrets", ""); got < 0 {
		t.Error("secrets are ready and not counted")
	}
}
