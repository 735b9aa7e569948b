package apiserver

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// TestHistory: all changes are told once, the objects stay as many, and a list of a
// version has what a watch up to it has told.
func TestHistory(t *testing.T) {
	o := Options{Objects: 200, Namespaces: 3, Changes: 50, Kind: "Pod"}
	handler, url := serve(t, o)
	for _, contentType := range contentTypes {
		client, _ := clients(t, url, contentType)
		known := make(map[string]corev1.Pod)
		version := ""
		for o := (metav1.ListOptions{Limit: 70}); ; {
			page := list(t, client, o)
			for _, pod := range page.Items {
				known[pod.Name] = pod
			}
			version = page.ResourceVersion
			if o.Continue = page.Continue; o.Continue == "" {
				break
			}
			if len(page.Items) != 70 || *page.RemainingItemCount != int64(o.Limit)*2-int64(len(known))+60 {
				t.Errorf("page of %d, %d remain", len(page.Items), *page.RemainingItemCount)
			}
		}
		if len(known) != 200 {
			t.Fatalf("pages have %d objects, want 200", len(known))
		}
		w := begin(t, client, metav1.ListOptions{ResourceVersion: version})
		for range o.Changes * eventsPerChange {
			event := <-w.ResultChan()
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				t.Fatalf("event %v", event)
			}
			if version = pod.ResourceVersion; event.Type == watch.Deleted {
				delete(known, pod.Name)
			} else {
				known[pod.Name] = *pod
			}
		}
		if version != handler.Moment().ResourceVersion {
			t.Errorf("the last event is of %s, want %s", version, handler.Moment().ResourceVersion)
		}
		now := list(t, client, metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		if len(now.Items) != 200 || len(known) != 200 {
			t.Errorf("%d objects in the list and %d told, want 200", len(now.Items), len(known))
		}
		for _, pod := range now.Items {
			told := known[pod.Name]
			if told.ResourceVersion != pod.ResourceVersion || stateOf(&told) != stateOf(&pod) {
				t.Errorf("Pod %s is %s in version %s, told was %s in %s", pod.Name, stateOf(&pod), pod.ResourceVersion, stateOf(&told), told.ResourceVersion)
			}
		}
	}
}

func begin(t *testing.T, client kubernetes.Interface, o metav1.ListOptions) watch.Interface {
	t.Helper()
	w, err := client.CoreV1().Pods("").Watch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// TestVersionsMeanWhatTheySay: limits, matches and versions are taken as a real server
// takes them.
func TestVersionsMeanWhatTheySay(t *testing.T) {
	_, url := serve(t, Options{Objects: 100, Namespaces: 3, Changes: 10, Kind: "Pod"})
	client, _ := clients(t, url, contentTypes[1])
	if n := len(list(t, client, metav1.ListOptions{ResourceVersion: "0", Limit: 10}).Items); n != 100 {
		t.Errorf("list from 0 with a limit has %d, want all 100", n)
	}
	first := list(t, client, metav1.ListOptions{Limit: 10}).ResourceVersion
	for name, row := range map[string]struct {
		o    metav1.ListOptions
		want func(error) bool
	}{
		"match without version":  {metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact}, apierrors.IsInvalid},
		"exactly a past version": {metav1.ListOptions{ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, apierrors.IsResourceExpired},
		"a version to come":      {metav1.ListOptions{ResourceVersion: "9000000000", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}, apierrors.IsTimeout},
		"no version":             {metav1.ListOptions{ResourceVersion: "yesterday"}, apierrors.IsBadRequest},
		"initial events in list": {metav1.ListOptions{SendInitialEvents: new(true)}, apierrors.IsInvalid},
		"exactly this version":   {metav1.ListOptions{ResourceVersion: first, ResourceVersionMatch: metav1.ResourceVersionMatchExact}, func(err error) bool { return err == nil }},
		"not older than a past":  {metav1.ListOptions{ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}, func(err error) bool { return err == nil }},
	} {
		if _, err := client.CoreV1().Pods("").List(t.Context(), row.o); !row.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)})
	if !apierrors.IsInvalid(err) {
		t.Errorf("streaming list without a match: %v, want it to be invalid", err)
	}
}

// TestBreakForcesRelist: watches end with 410, older versions and pages are refused,
// and the new list lacks what was lost.
func TestBreakForcesRelist(t *testing.T) {
	handler, url := serve(t, Options{Objects: 100, Namespaces: 3, Changes: 10, Kind: "Pod"})
	for _, contentType := range contentTypes {
		client, _ := clients(t, url, contentType)
		before := list(t, client, metav1.ListOptions{Limit: 10})
		objects := handler.Moment().Objects
		w := begin(t, client, metav1.ListOptions{ResourceVersion: handler.Moment().ResourceVersion})
		after := handler.Expire(7)
		old := begin(t, client, metav1.ListOptions{ResourceVersion: before.ResourceVersion})
		for _, w := range []watch.Interface{w, old} {
			event, ok := <-w.ResultChan()
			if err := apierrors.FromObject(event.Object); !ok || event.Type != watch.Error || !apierrors.IsResourceExpired(err) {
				t.Errorf("%s: watch ends with %v, want 410", contentType, event)
			}
		}
		if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{Limit: 10, Continue: before.Continue}); !apierrors.IsResourceExpired(err) {
			t.Errorf("%s: page of an old list: %v, want 410", contentType, err)
		}
		now := list(t, client, metav1.ListOptions{})
		if len(now.Items) != objects-7 || len(now.Items) != after.Objects || now.ResourceVersion != after.ResourceVersion {
			t.Errorf("%s: list of %d in %s, want %v", contentType, len(now.Items), now.ResourceVersion, after)
		}
		quiet := begin(t, client, metav1.ListOptions{ResourceVersion: now.ResourceVersion, TimeoutSeconds: new(int64(1))})
		select {
		case event := <-quiet.ResultChan():
			t.Errorf("%s: %v after the newest version", contentType, event)
		case <-time.After(20 * time.Millisecond): // nothing is to come, ever
		}
	}
}
