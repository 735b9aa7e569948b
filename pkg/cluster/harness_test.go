package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/test/recount"
)

// patience is how long a test waits for what must come. No test waits that long
// when all is well.
const patience = 60 * time.Second

// counting is a watcher and its counter, running for as long as the test.
type counting struct {
	*Watcher
	counter *counts.Counter
}

// count starts to count what config reaches.
func count(t testing.TB, o Options) counting {
	t.Helper()
	counter, err := counts.New(counts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Counter = counter
	if testing.Verbose() {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	counted, watched := make(chan struct{}), make(chan error, 1)
	go func() { defer close(counted); _ = counter.Run(ctx) }()
	go func() { watched <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-watched; !errors.Is(err, context.Canceled) {
			t.Errorf("watcher ended with %v", err)
		}
		<-counted
	})
	return counting{w, counter}
}

func (c counting) settle(t testing.TB) counting {
	t.Helper()
	select {
	case <-c.Settled():
	case <-time.After(patience):
		t.Fatalf("not settled: %s", c.told())
	}
	return c
}

// await waits for a snapshot that is as wanted, and returns it.
func (c counting) await(t testing.TB, what string, wanted func(*counts.Snapshot) bool) *counts.Snapshot {
	t.Helper()
	deadline := time.After(patience)
	for {
		s, newer := c.counter.Latest()
		if wanted(s) {
			return s
		}
		select {
		case <-newer:
		case <-deadline:
			t.Fatalf("waited in vain for %s; status %s\ncounts %.2000s", what, c.told(), s.AppendJSON(nil))
		}
	}
}

// number is how many objects of a resource there are in a namespace, or in all;
// -1 where the resource is not counted.
func number(s *counts.Snapshot, key, namespace string) int {
	c := s.Resource(key)
	if c == nil {
		return -1
	}
	if namespace == "" {
		return c.Total().Count()
	}
	for name, n := range c.Namespaces() {
		if name == namespace {
			return n.Count()
		}
	}
	return 0
}

// told is the status of what is not excluded, for messages.
func (c counting) told() string {
	var b strings.Builder
	for _, s := range c.Status() {
		if s.Phase != counts.Excluded {
			fmt.Fprintf(&b, "\n  %s: %s %s %s (%s), read %d, rounds %d, errors %d", s.Resource.Key(), s.Phase, s.Reason, s.Message, s.Note, s.Read, s.Rounds, s.Errors)
		}
	}
	return b.String()
}

func (c counting) awaitNumber(t testing.TB, key, namespace string, want int) *counts.Snapshot {
	t.Helper()
	return c.await(t, fmt.Sprintf("%d %s in %q", want, key, namespace), func(s *counts.Snapshot) bool {
		return number(s, key, namespace) == want
	})
}

func (c counting) status(key string) counts.Status {
	for _, s := range c.Status() {
		if s.Resource.Key() == key {
			return s
		}
	}
	return counts.Status{}
}

// awaitStatus waits for a status that is as wanted. A status has no event to wait
// for, so it is asked for again and again.
func (c counting) awaitStatus(t testing.TB, key string, wanted func(counts.Status) bool) counts.Status {
	t.Helper()
	for began := time.Now(); ; {
		s := c.status(key)
		if wanted(s) {
			return s
		}
		if time.Since(began) > patience {
			t.Fatalf("status of %s is %+v", key, s)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(context.Cause(t.Context()))
		}
	}
}

// equalsList waits until the counts are those of a fresh LIST.
func (c counting) equalsList(t testing.TB, config *rest.Config) {
	t.Helper()
	for began := time.Now(); ; {
		s := c.counter.Snapshot()
		var resources []counts.Resource
		got := make(map[string]recount.Count)
		for item := range s.Resources() {
			resources = append(resources, item.Resource())
			got[item.Key()] = recount.Count{Own: item.ItemCount(), Steve: item.SteveItemCount()}
		}
		want, err := recount.List(t.Context(), config, resources)
		if err != nil {
			t.Fatal(err)
		}
		// Events on the way while the list was made: compare once more.
		diff := cmp.Diff(want, got)
		if diff == "" {
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("counts are not those of a fresh list (-list +counts):\n%s", diff)
		}
		_, newer := c.counter.Latest()
		select {
		case <-newer:
		case <-time.After(time.Second):
		}
	}
}

func clientset(t testing.TB, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
