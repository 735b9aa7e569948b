package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/countd/countd/pkg/counts"
)

// TestStatesAreByTheRulesThatWereAskedFor: a Pod that crashes in a loop is a failure to
// countd, and to wrangler one that is not yet there. steve's family has wrangler's reading
// whatever was asked for.
func TestStatesAreByTheRulesThatWereAskedFor(t *testing.T) {
	t.Parallel()
	kc := shared.Cluster(t)
	namespace := kc.Namespace(t)
	client, err := kubernetes.NewForConfig(kc.AdminConfig())
	must(t, err)
	pods := client.CoreV1().Pods(namespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "crashing"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/c"}}},
	}, metav1.CreateOptions{})
	must(t, err)
	pod.Status = corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"},
		}}},
	}
	_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	must(t, err)

	for rules, want := range map[string]counts.Summary{
		"corrected": {Count: 1, States: map[string]int{"crashloopbackoff": 1}, Errors: 1},
		"wrangler":  {Count: 1, States: map[string]int{"unavailable": 1}, Transitioning: 1},
	} {
		t.Run(rules, func(t *testing.T) {
			t.Parallel()
			d := startDaemon(t, kc, "--states="+rules, "--resources=pods", "--namespaces="+namespace)
			var own struct {
				Resources map[string]counts.ItemCount
			}
			d.get(t, "/api/v1/counts", &own)
			if diff := cmp.Diff(want, own.Resources["pods"].Namespaces[namespace]); diff != "" {
				t.Errorf("countd's own (-want +got):\n%s", diff)
			}
			var steve struct {
				Data []struct{ Counts view }
			}
			d.get(t, "/v1/counts", &steve)
			inProgress := counts.Summary{Count: 1, States: map[string]int{"in-progress": 1}, Transitioning: 1}
			if diff := cmp.Diff(inProgress, steve.Data[0].Counts["pod"].Namespaces[namespace]); diff != "" {
				t.Errorf("steve's (-want +got):\n%s", diff)
			}
		})
	}
}
