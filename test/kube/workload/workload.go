package workload

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/test/kube"
)

const (
	fillWriters   = 8  // more make a small machine no faster
	fillProgress  = 10 // namespaces between two lines of progress
	defaultSpaces = 50
	defaultRate   = 10
	defaultLimit  = 2000
)

// Options say what a Workload makes. The zero value works.
type Options struct {
	// Seed decides names, states and the order of changes.
	Seed uint64
	// Namespaces is how many Fill makes, each with some 20 objects. Default: 50.
	Namespaces int
	// Rate is how many changes Live makes a second; one is one to five requests.
	// Default: 10.
	Rate float64
	// RunawayLimit is how many ConfigMaps the runaway creator in namespace
	// "runaway" makes in all, beside the rate. Default: 2000; negative: none.
	RunawayLimit int
	// Logf gets a line when something takes a while or ends. Default: nobody.
	Logf func(format string, args ...any)
}

// Workload fills one cluster. Fill is called once, then Live once, by the same
// goroutine.
type Workload struct {
	options Options
	config  *rest.Config
	writer  writer
	plans   []plan
}

// New makes nothing in the cluster. The configuration must allow everything, and
// should not limit the rate of requests.
func New(config *rest.Config, options Options) (*Workload, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if options.Namespaces == 0 {
		options.Namespaces = defaultSpaces
	}
	if options.Rate == 0 {
		options.Rate = defaultRate
	}
	if options.RunawayLimit == 0 {
		options.RunawayLimit = defaultLimit
	}
	if options.Logf == nil {
		options.Logf = func(string, ...any) {}
	}
	if options.Namespaces < 0 || options.Rate < 0 {
		return nil, fmt.Errorf("checking the options: want no negative number, got %d namespaces and rate %g", options.Namespaces, options.Rate)
	}
	return &Workload{
		options: options,
		config:  config,
		writer:  writer{client: client, dynamic: dynamicClient},
		plans:   plans(options.Seed, options.Namespaces),
	}, nil
}

// Fill returns when all objects stand with their statuses. It fails on a cluster
// that was filled before.
func (w *Workload) Fill(ctx context.Context) error {
	if err := kube.CreateCRD(ctx, w.config, kube.NewCRD(backups(), "Backup", true)); err != nil {
		return err
	}
	for i := range nodes {
		ready := corev1.ConditionTrue
		if i == nodes-1 {
			ready = corev1.ConditionUnknown
		}
		if err := w.writer.node(ctx, nodeName(i), ready); err != nil {
			return err
		}
	}
	var filled atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fillWriters)
	for _, p := range w.plans {
		group.Go(func() error {
			if err := w.writer.namespace(ctx, p); err != nil {
				return err
			}
			if n := filled.Add(1); n%fillProgress == 0 {
				w.options.Logf("workload: %d of %d namespaces filled", n, len(w.plans))
			}
			return nil
		})
	}
	return group.Wait()
}

// Controllers are those that may run beside a Workload: all others would undo
// what it writes.
func Controllers() []string {
	return []string{
		"namespace-controller",
		"clusterrole-aggregation-controller",
		"serviceaccount-controller",
		"root-ca-certificate-publisher-controller",
	}
}
