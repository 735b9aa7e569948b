package kube

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// StartT starts a cluster of the test's own, which ends with the test.
func StartT(tb testing.TB, options Options) *Cluster {
	tb.Helper()
	c, err := Start(tb.Context(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// Shared is one cluster for all tests of a package, started when the first test
// asks for it.
type Shared struct {
	options Options

	once    sync.Once
	cluster *Cluster
	err     error
}

// NewShared starts nothing.
func NewShared(options Options) *Shared { return &Shared{options: options} }

// Main is the body of TestMain: it runs the tests, stops the cluster if one was
// started, and then fails if a goroutine is left.
func (s *Shared) Main(m *testing.M, options ...goleak.Option) (exitCode int) {
	exitCode = m.Run()
	if s.cluster != nil {
		if err := s.cluster.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			exitCode = 1
		}
	}
	if exitCode != 0 {
		return exitCode // a failed test may well leave goroutines
	}
	if err := goleak.Find(options...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Cluster is the shared cluster; the test fails if it does not start. No test may
// stop it.
func (s *Shared) Cluster(tb testing.TB) *Cluster {
	tb.Helper()
	// Not the test's context: the other tests need the cluster too.
	s.once.Do(func() { s.cluster, s.err = Start(context.Background(), s.options) }) //nolint:usetesting // see above
	if s.err != nil {
		tb.Fatal(s.err)
	}
	return s.cluster
}

// Namespace makes a new namespace with a name made from the test's and returns
// the name.
func (c *Cluster) Namespace(tb testing.TB) string {
	tb.Helper()
	client, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		tb.Fatal(err)
	}
	name := strings.Trim(regexp.MustCompile("[^a-z0-9]+").ReplaceAllString(strings.ToLower(tb.Name()), "-"), "-")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name[:min(len(name), 50)] + "-"}}
	namespace, err = client.CoreV1().Namespaces().Create(tb.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("creating a namespace for the test: %v", err)
	}
	return namespace.Name
}
