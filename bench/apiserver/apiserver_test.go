package apiserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server for a test.
func serve(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	handler, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return handler, server.URL
}

// clients returns clients that accept one content type, and no other.
func clients(t *testing.T, url, contentType string) (kubernetes.Interface, metadata.Interface) {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	config := &rest.Config{Host: url, ContentConfig: rest.ContentConfig{ContentType: contentType, AcceptContentTypes: contentType}}
	h := &http.Client{Transport: transport}
	typed, err := kubernetes.NewForConfigAndClient(config, h)
	if err != nil {
		t.Fatal(err)
	}
	// The metadata client asks for both; what it is left with is what a test wants.
	meta, err := metadata.NewForConfigAndClient(config, &http.Client{Transport: only{transport, contentType}})
	if err != nil {
		t.Fatal(err)
	}
	return typed, meta
}

// only leaves one content type in what requests accept.
type only struct {
	http.RoundTripper
	contentType string
}

func (o only) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	var accepted []string
	for clause := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		if strings.HasPrefix(clause, o.contentType) {
			accepted = append(accepted, clause)
		}
	}
	r.Header.Set("Accept", strings.Join(accepted, ","))
	return o.RoundTripper.RoundTrip(r)
}

var contentTypes = []string{"application/json", "application/vnd.kubernetes.protobuf"}

func list(t *testing.T, c kubernetes.Interface, o metav1.ListOptions) *corev1.PodList {
	t.Helper()
	pods, err := c.CoreV1().Pods("").List(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return pods
}

// TestPodsAreReal: every field is one of a Pod, nothing of the templates is left,
// states are of all kinds, and sizes are those of real ones.
func TestPodsAreReal(t *testing.T) {
	handler, url := serve(t, Options{Objects: 1000, Namespaces: 10, Changes: 0, Kind: "Pod"})
	var whole struct{ Items []json.RawMessage }
	get(t, url+"/api/v1/pods", &whole)
	var sizes []int
	states := make(map[string]int)
	for i, text := range whole.Items {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		var pod corev1.Pod
		if err := decoder.Decode(&pod); err != nil {
			t.Fatalf("decoding %s: %v", text, err)
		}
		for _, place := range places {
			if bytes.Contains(text, []byte(place)) {
				t.Fatalf("Pod %d has the placeholder %s", i, place)
			}
		}
		sizes = append(sizes, len(text))
		states[stateOf(&pod)]++
	}
	slices.Sort(sizes)
	if least, most := sizes[0], sizes[len(sizes)-1]; least < 2500 || most > 6500 {
		t.Errorf("Pods have %d to %d bytes of JSON, want 2,500 to 6,500", least, most)
	}
	for _, want := range []string{"Running", "Running, waiting for CrashLoopBackOff", "Pending", "Pending, waiting for ContainerCreating", "Succeeded", "Failed", "Running, deleted"} {
		if states[want] == 0 {
			t.Errorf("no Pod is %s: %v", want, states)
		}
	}
	if got := handler.Moment().Objects; got != len(whole.Items) {
		t.Errorf("%d objects at the last moment, want %d", got, len(whole.Items))
	}
	t.Logf("%d bytes of JSON at the median", sizes[len(sizes)/2])
}

func stateOf(pod *corev1.Pod) string {
	state := string(pod.Status.Phase)
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Waiting != nil {
			state += ", waiting for " + c.State.Waiting.Reason
			break
		}
	}
	if pod.DeletionTimestamp != nil {
		state += ", deleted"
	}
	return state
}

func get(t *testing.T, url string, into any) {
	t.Helper()
	response, err := http.Get(url) //nolint:forbidigo // a test's, on its own machine
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	defer http.DefaultClient.CloseIdleConnections() //nolint:forbidigo // as above
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// TestEncodingsSayTheSame: client-go reads the same Pods, and the same metadata, from
// JSON and from protobuf.
func TestEncodingsSayTheSame(t *testing.T) {
	_, url := serve(t, Options{Objects: 100, Namespaces: 7, Kind: "Pod"})
	var pods []*corev1.PodList
	var metas []*metav1.PartialObjectMetadataList
	for _, contentType := range contentTypes {
		typed, meta := clients(t, url, contentType)
		pods = append(pods, list(t, typed, metav1.ListOptions{}))
		m, err := meta.Resource(corev1.SchemeGroupVersion.WithResource("pods")).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Items {
			m.Items[i].TypeMeta = metav1.TypeMeta{} // of which protobuf has none in a list
		}
		m.TypeMeta = metav1.TypeMeta{}
		metas = append(metas, m)
	}
	if diff := cmp.Diff(pods[0], pods[1]); diff != "" {
		t.Errorf("Pods (-JSON +protobuf):\n%s", diff)
	}
	if diff := cmp.Diff(metas[0], metas[1]); diff != "" {
		t.Errorf("metadata (-JSON +protobuf):\n%s", diff)
	}
	names := make(map[string]bool)
	for i, pod := range pods[1].Items {
		names[pod.Namespace+"/"+pod.Name] = true
		if diff := cmp.Diff(pod.ObjectMeta, metas[1].Items[i].ObjectMeta); diff != "" {
			t.Fatalf("metadata of Pod %d (-whole +alone):\n%s", i, diff)
		}
	}
	if len(names) != 100 {
		t.Errorf("%d names, want 100", len(names))
	}
}

// TestConfigMaps: the other kind is served in the same way.
func TestConfigMaps(t *testing.T) {
	_, url := serve(t, Options{Objects: 50, Namespaces: 7, Kind: "ConfigMap"})
	for _, contentType := range contentTypes {
		typed, _ := clients(t, url, contentType)
		maps, err := typed.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(maps.Items) != 50 || maps.Items[7].Data["config.yaml"] == "" {
			t.Errorf("%s: %d ConfigMaps, want 50 with data", contentType, len(maps.Items))
		}
	}
}
