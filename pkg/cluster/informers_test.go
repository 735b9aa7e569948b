package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/countd/countd/internal/decode"
	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/test/recount"
)

var podsResource = counts.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}

// counter runs a counter for as long as the test.
func counter(t *testing.T) *counts.Counter {
	t.Helper()
	c, err := counts.New(counts.Options{})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return c
}

// TestInformersOfAnEmbedder counts from the three kinds of informer that somebody
// else runs. In rest they agree with a fresh LIST; of an informer that keeps only
// metadata, the states are those that metadata tells.
func TestInformersOfAnEmbedder(t *testing.T) {
	kc := shared.Cluster(t)
	namespace := kc.Namespace(t)
	api := clientset(t, kc.AdminConfig())
	for i := range 6 {
		makePod(t, api.CoreV1().Pods(namespace), fmt.Sprint("pod-", i), []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, corev1.PodFailed}[i%3])
	}
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	dyn, err := dynamic.NewForConfig(kc.AdminConfig())
	must(t, err)
	meta, err := metadata.NewForConfig(kc.AdminConfig())
	must(t, err)
	typed := informers.NewSharedInformerFactory(api, 0)
	whole := dynamicinformer.NewDynamicSharedInformerFactory(dyn, 0)
	partial := metadatainformer.NewSharedInformerFactory(meta, 0)

	for name, informer := range map[string]cache.SharedInformer{
		"typed":    typed.Core().V1().Pods().Informer(),
		"dynamic":  whole.ForResource(gvr).Informer(),
		"metadata": partial.ForResource(gvr).Informer(),
	} {
		t.Run(name, func(t *testing.T) {
			running, stop := context.WithCancel(t.Context())
			informed := make(chan struct{})
			go func() { defer close(informed); informer.RunWithContext(running) }()
			defer func() { stop(); <-informed }()

			c := counting{counter: counter(t)}
			counted := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				counted <- CountInformer(ctx, InformerOptions{Counter: c.counter, Resource: podsResource, Informer: informer, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
			}()
			s := c.awaitNumber(t, "pods", namespace, 6)
			want, err := recount.List(t.Context(), kc.AdminConfig(), []counts.Resource{podsResource})
			must(t, err)
			if name != "metadata" {
				pods := s.Resource("pods")
				got := recount.Count{Own: pods.ItemCount(), Steve: pods.SteveItemCount()}
				if diff := cmp.Diff(in(namespace, want["pods"]), in(namespace, got)); diff != "" {
					t.Errorf("-list +counts:\n%s", diff)
				}
			}
			makePod(t, api.CoreV1().Pods(namespace), "another", corev1.PodRunning)
			c.awaitNumber(t, "pods", namespace, 7)
			must(t, api.CoreV1().Pods(namespace).Delete(t.Context(), "another", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
			c.awaitNumber(t, "pods", namespace, 6)
			cancel()
			if err := <-counted; !errors.Is(err, context.Canceled) {
				t.Errorf("ended with %v", err)
			}
			if c.counter.Snapshot().Resource("pods") != nil {
				t.Error("pods are still counted")
			}
		})
	}
}

// in are the counts of one namespace, in both readings.
func in(namespace string, c recount.Count) [2]counts.Summary {
	return [2]counts.Summary{c.Own.Namespaces[namespace], c.Steve.Namespaces[namespace]}
}

// TestWatcherLeavesToAnInformer: a resource that an embedder counts already is not
// counted, or watched, a second time; the rest is.
func TestWatcherLeavesToAnInformer(t *testing.T) {
	kc := shared.Cluster(t)
	c := count(t, Options{Config: kc.AdminConfig(), Resources: []string{"none"}}).settle(t)
	_, err := c.counter.Source(t.Context(), podsResource)
	must(t, err)
	w, err := New(Options{Config: kc.AdminConfig(), Counter: c.counter, Resources: []string{"pods", "configmaps"}})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	second := counting{w, c.counter}.settle(t)
	if got := second.status("pods"); got.Phase != counts.Excluded || got.Reason != "OtherSource" {
		t.Errorf("status of pods is %+v", got)
	}
	if got := second.status("configmaps"); got.Phase != counts.Ready {
		t.Errorf("status of configmaps is %+v", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// listened makes a handler whose source has ended its first round, and what returns the
// counts that it has made.
func listened(t *testing.T) (_ *handler, synced func() counts.ItemCount) {
	t.Helper()
	c := counter(t)
	source, err := c.Source(t.Context(), podsResource)
	must(t, err)
	decoder, err := decode.New(podsResource, CorrectedStates)
	must(t, err)
	h := &handler{ctx: t.Context(), sink: newTimed(source), log: slog.New(slog.DiscardHandler), decoder: decoder}
	must(t, h.sink.end(t.Context()))
	t.Cleanup(h.sink.stop)
	return h, func() counts.ItemCount {
		must(t, source.Sync(t.Context()))
		return c.Snapshot().Resource("pods").ItemCount()
	}
}

func pod(namespace, name, uid string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

// TestC31WhatInformersSay (traps 1 and 2): a deletion of which only the key is
// known, whose object is nil or is old; a duplicate add; an update that hides a
// deletion and a creation. Each is counted by key, once, right.
func TestC31WhatInformersSay(t *testing.T) {
	h, synced := listened(t)
	check := func(what string, want counts.ItemCount) {
		t.Helper()
		if diff := cmp.Diff(want, synced()); diff != "" {
			t.Errorf("%s (-want +counted):\n%s", what, diff)
		}
	}
	running := func(n int) counts.ItemCount {
		s := counts.Summary{Count: n, States: map[string]int{"running": n}}
		return counts.ItemCount{Summary: s, Namespaces: map[string]counts.Summary{"a": s}}
	}

	h.OnAdd(pod("a", "x", "1", corev1.PodRunning), true)
	h.OnAdd(pod("a", "x", "1", corev1.PodRunning), false)
	h.OnAdd(pod("a", "y", "2", corev1.PodRunning), true)
	check("a duplicate add", running(2))

	h.OnUpdate(pod("a", "x", "1", corev1.PodRunning), pod("a", "x", "3", corev1.PodFailed))
	s := counts.Summary{Count: 2, States: map[string]int{"running": 1, "failed": 1}, Errors: 1}
	check("an update with another UID", counts.ItemCount{Summary: s, Namespaces: map[string]counts.Summary{"a": s}})

	// What the tombstone carries was running; what is counted is failed.
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "a/x", Obj: pod("a", "x", "1", corev1.PodRunning)})
	check("a tombstone with an old object", running(1))
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "a/x"})
	check("a deletion again", running(1))
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "a/y"})
	check("a tombstone without an object (C6: the namespace is gone)", counts.ItemCount{})
}

// TestRelistOfAnInformerEndsRight (trap 3): an informer hands on a relist one by
// one; in rest the counts are right.
func TestRelistOfAnInformerEndsRight(t *testing.T) {
	h, synced := listened(t)
	for _, name := range []string{"a", "b"} {
		h.OnAdd(pod("n", name, name, corev1.PodRunning), true)
	}
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "n/a", Obj: pod("n", "a", "a", corev1.PodRunning)})
	h.OnUpdate(pod("n", "b", "b", corev1.PodRunning), pod("n", "b", "b", corev1.PodRunning))
	h.OnAdd(pod("n", "c", "c", corev1.PodRunning), false)
	if got := synced().Summary.Count; got != 2 {
		t.Errorf("counted %d, want 2", got)
	}
}

func TestInformerThatNeverSyncsCountsNothing(t *testing.T) {
	c := counter(t)
	informer := cache.NewSharedInformer(&cache.ListWatch{}, &corev1.Pod{}, 0) // nobody runs it
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := CountInformer(ctx, InformerOptions{Counter: c, Resource: podsResource, Informer: informer})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	if c.Snapshot().Resource("pods") != nil {
		t.Error("pods are counted")
	}
}
