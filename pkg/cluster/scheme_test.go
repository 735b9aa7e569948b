package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme" //nolint:depguard // to see that nobody writes to it

	"github.com/countd/countd/pkg/counts"
)

// TestC2GlobalSchemeIsNotWritten: under the race detector, 50 goroutines make,
// start and stop counters while 50 others encode and decode with client-go's
// global scheme; its known types are the same before and after (R3).
func TestC2GlobalSchemeIsNotWritten(t *testing.T) {
	kc := shared.Cluster(t)
	known := func() []string {
		var out []string
		for gvk := range maps.Keys(scheme.Scheme.AllKnownTypes()) { //nolint:forbidigo // read only
			out = append(out, gvk.String())
		}
		slices.Sort(out)
		return out
	}
	before := known()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var using, counting sync.WaitGroup
	for range 50 {
		using.Go(func() {
			codec := scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion)
			for ctx.Err() == nil {
				raw, err := runtime.Encode(codec, &corev1.Pod{})
				if err == nil {
					_, _, err = scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 50 {
		counting.Go(func() {
			c, err := counts.New(counts.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			w, err := New(Options{Config: kc.AdminConfig(), Counter: c, Resources: []string{"configmaps", "namespaces"}})
			if err != nil {
				t.Error(err)
				return
			}
			running, stop := context.WithCancel(ctx)
			var parts sync.WaitGroup
			parts.Go(func() { _ = c.Run(running) })
			parts.Go(func() {
				if err := w.Run(running); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			select {
			case <-w.Settled():
			case <-ctx.Done():
			}
			stop()
			parts.Wait()
		})
	}
	counting.Wait()
	cancel()
	using.Wait()
	if diff := cmp.Diff(before, known()); diff != "" {
		t.Errorf("known types (-before +after):\n%s", diff)
	}
}
