package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/countd/countd/pkg/counts"
)

func TestCountsAreThoseOfAFreshList(t *testing.T) {
	kc := shared.Cluster(t)
	c := count(t, Options{Config: kc.AdminConfig()}).settle(t)
	c.equalsList(t, kc.AdminConfig())
	for _, s := range c.Status() {
		if s.Phase != counts.Ready && s.Phase != counts.Excluded {
			t.Errorf("%s is %s: %s", s.Resource.Key(), s.Phase, s.Message)
		}
	}
}

func TestUpByOneAndDownByOne(t *testing.T) {
	kc := shared.Cluster(t)
	namespace := kc.Namespace(t)
	c := count(t, Options{Config: kc.AdminConfig(), Resources: []string{"configmaps"}}).settle(t)
	api := clientset(t, kc.AdminConfig()).CoreV1().ConfigMaps(namespace)
	_, err := api.Create(t.Context(), configMap("one"), metav1.CreateOptions{})
	must(t, err)
	c.awaitNumber(t, "configmaps", namespace, 1)
	must(t, api.Delete(t.Context(), "one", metav1.DeleteOptions{}))
	c.awaitNumber(t, "configmaps", namespace, 0)
}
