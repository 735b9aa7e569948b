package apiserver

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPodsAreReal: every field is one of a Pod, and sizes are those of real ones.
func TestPodsAreReal(t *testing.T) {
	l := list{options: Options{Objects: 1000, Namespaces: 10, Kind: "Pod"}, version: "v1"}
	var sizes []int
	phases := make(map[corev1.PodPhase]int)
	for i := range l.options.Objects {
		text := l.appendObject(nil, object{number: i, version: firstVersion})
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		var pod corev1.Pod
		if err := decoder.Decode(&pod); err != nil {
			t.Fatalf("decoding %s: %v", text, err)
		}
		sizes = append(sizes, len(text))
		phases[pod.Status.Phase]++
	}
	slices.Sort(sizes)
	if least, most := sizes[0], sizes[len(sizes)-1]; least < 2500 || most > 6500 {
		t.Errorf("Pods have %d to %d bytes, want 2,500 to 6,500", least, most)
	}
	if len(phases) < 4 {
		t.Errorf("phases are %v, want all but Unknown", phases)
	}
	t.Logf("median size %d bytes, phases %v", sizes[len(sizes)/2], phases)
}

// TestHistory: all changes are told once, and the objects stay as many.
func TestHistory(t *testing.T) {
	handler, err := New(Options{Objects: 200, Namespaces: 3, Changes: 50, Kind: "Pod"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.RESTClient().(*rest.RESTClient).Client.CloseIdleConnections() //nolint:errcheck,forcetypeassert // what NewForConfig makes
	pods := client.CoreV1().Pods("")
	names := make(map[string]bool)
	for o := (metav1.ListOptions{Limit: 70}); ; {
		page, err := pods.List(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range page.Items {
			names[pod.Name] = true
		}
		if o.Continue = page.Continue; o.Continue == "" {
			break
		}
	}
	if len(names) != 200 {
		t.Fatalf("pages have %d objects, want 200", len(names))
	}
	watch, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1000"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for range handler.Events() {
		event := <-watch.ResultChan()
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			t.Fatalf("event %v", event)
		}
		if event.Type == "DELETED" {
			delete(names, pod.Name)
		} else {
			names[pod.Name] = true
		}
	}
	if len(names) != 200 {
		t.Errorf("%d objects after all changes, want 200", len(names))
	}
}
