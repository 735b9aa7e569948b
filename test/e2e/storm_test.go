package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/pkg/cluster"
	"github.com/countd/countd/pkg/counts"
)

// TestC1FourWritersAndManySubscribers is the storm that crashed Rancher's agents:
// a debounce of 5 ms, two subscriptions of steve's family and two of our own, and
// two in Go that write to all they receive; four writers create ConfigMaps. There
// is no crash and no race, and every subscriber ends at exactly the real number.
func TestC1FourWritersAndManySubscribers(t *testing.T) {
	t.Parallel()
	kc := shared.Cluster(t)
	namespaces := make([]string, 4)
	for i := range namespaces {
		namespaces[i] = kc.Namespace(t)
	}
	d := startDaemon(t, kc, "--debounce=5ms")
	before := d.own(t, "")
	before.await("the counts", func(v view) bool { return len(v) > 0 })

	exact := func(v view, resource string) bool {
		for _, namespace := range namespaces {
			if v.number(resource, namespace) != *stormObjects/len(namespaces) {
				return false
			}
		}
		return true
	}
	var subscribers sync.WaitGroup
	for range 2 {
		steve, own := d.steve(t), d.own(t, "debounceMs=5")
		subscribers.Go(func() {
			if err := steve.waitFor("all ConfigMaps", func(v view) bool { return exact(v, "configmap") }); err != nil {
				t.Errorf("steve's family: %v", err)
			}
		})
		subscribers.Go(func() {
			if err := own.waitFor("all ConfigMaps", func(v view) bool { return exact(v, "configmaps") }); err != nil {
				t.Errorf("own family: %v", err)
			}
		})
	}
	c := goCounter(t, kc.AdminConfig())
	for range 2 {
		updates := c.Subscribe(t.Context(), counts.SubscribeOptions{})
		subscribers.Go(func() {
			for u := range updates {
				item, ok := u.Counts["configmaps"]
				if ok && exact(view{"configmaps": item}, "configmaps") {
					return
				}
				for namespace := range item.Namespaces {
					item.Namespaces[namespace] = counts.Summary{Count: -1}
				}
			}
			t.Error("Go subscription ended early")
		})
	}

	api := clientset(t, kc.AdminConfig())
	var writers sync.WaitGroup
	for _, namespace := range namespaces {
		writers.Go(func() {
			for i := range *stormObjects / len(namespaces) {
				if _, err := api.CoreV1().ConfigMaps(namespace).Create(t.Context(), newConfigMap(fmt.Sprint("cm-", i)), metav1.CreateOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	subscribers.Wait()
}

// goCounter counts as an embedder does, for as long as the test.
func goCounter(t *testing.T, config *rest.Config) *counts.Counter {
	t.Helper()
	c, err := counts.New(counts.Options{})
	must(t, err)
	w, err := cluster.New(cluster.Options{Config: config, Counter: c, Resources: []string{"configmaps"}})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var parts sync.WaitGroup
	parts.Go(func() { _ = c.Run(ctx) })
	parts.Go(func() { _ = w.Run(ctx) })
	t.Cleanup(func() { cancel(); parts.Wait() })
	return c
}

// crashes is set in the environment of a process that is to run sharedMaps.
const crashes = "COUNTD_TEST_SHARED_MAPS"

// TestC1Bites is the test of the test: the same subscribers, fed by a tally that
// hands its own maps out instead of copies, die as the agents did.
func TestC1Bites(t *testing.T) {
	if os.Getenv(crashes) != "" {
		sharedMaps(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestC1Bites$")
	cmd.Env = append(os.Environ(), crashes+"=1")
	out, err := cmd.CombinedOutput()
	died := strings.Contains(string(out), "fatal error: concurrent map") || strings.Contains(string(out), "WARNING: DATA RACE")
	if err == nil || !died {
		t.Errorf("a tally that shares its maps got away with it (%v):\n%.2000s", err, out)
	}
}

// sharedMaps counts into one map and hands it to every subscriber, which is what
// steve did: each reads it to encode it, while the next event is folded in.
func sharedMaps(t *testing.T) {
	shared := counts.ItemCount{Namespaces: make(map[string]counts.Summary)}
	feeds := make([]chan counts.ItemCount, 4)
	var subscribers sync.WaitGroup
	for i := range feeds {
		feeds[i] = make(chan counts.ItemCount, 100)
		subscribers.Go(func() {
			for item := range feeds[i] {
				if _, err := json.Marshal(item); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range *stormObjects {
		namespace := fmt.Sprint("namespace-", i%50)
		s := shared.Namespaces[namespace]
		s.Count++
		shared.Namespaces[namespace] = s
		shared.Summary.Count++
		for _, feed := range feeds {
			feed <- shared
		}
	}
	for _, feed := range feeds {
		close(feed)
	}
	subscribers.Wait()
}
