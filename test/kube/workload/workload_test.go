package workload_test

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/countd/countd/test/kube"
	"github.com/countd/countd/test/kube/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWorkloadFillsAndLives(t *testing.T) {
	const limit = 30
	cluster := kube.StartT(t, kube.Options{ControllerManager: true, Controllers: workload.Controllers()})
	config := cluster.AdminConfig()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.New(config, workload.Options{Seed: 3, Namespaces: 6, Rate: 100, RunawayLimit: limit, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	pods, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i := range pods.Items {
		seen[word(&pods.Items[i])]++
	}
	for _, want := range []string{
		"Running", "Terminating", "Succeeded", "Failed",
		"Unschedulable", "ContainerCreating", "CrashLoopBackOff", "ImagePullBackOff",
	} {
		if seen[want] == 0 {
			t.Errorf("no pod is %s, only %v", want, seen)
		}
	}

	// The first preview namespace goes when the second comes, after 200 changes.
	previews, err := client.CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=preview-0"})
	if err != nil {
		t.Fatal(err)
	}
	defer previews.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lived := make(chan error, 1)
	go func() { lived <- w.Live(ctx) }()
	for gone := false; !gone; {
		select {
		case event, ok := <-previews.ResultChan():
			if !ok {
				t.Fatal("the watch ended before the preview namespace was gone")
			}
			gone = event.Type == watch.Deleted
		case err := <-lived:
			t.Fatalf("the workload ended by itself: %v", err)
		}
	}
	cancel()
	if err := <-lived; err != nil {
		t.Error(err)
	}
	maps, err := client.CoreV1().ConfigMaps("runaway").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	locks := 0
	for i := range maps.Items {
		if strings.HasPrefix(maps.Items[i].Name, "lock-") { // not kube-root-ca.crt
			locks++
		}
	}
	if locks != limit {
		t.Errorf("want %d configmaps of the runaway creator, got %d", limit, locks)
	}
}

// word is what kubectl shows in the column STATUS.
func word(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Waiting != nil {
			return c.State.Waiting.Reason
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
			return c.Reason
		}
	}
	return string(p.Status.Phase)
}
