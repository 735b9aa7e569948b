package cluster_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/pkg/cluster"
	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/pkg/debounce"
)

// An agent counts the cluster that it runs in, and hears of it at most twice a
// second.
func Example() {
	if err := agent(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func agent() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	counter, err := counts.New(counts.Options{})
	if err != nil {
		return err
	}
	watcher, err := cluster.New(cluster.Options{Config: config, Counter: counter, Exclude: []string{"events"}})
	if err != nil {
		return err
	}

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return counter.Run(ctx) })
	group.Go(func() error { return watcher.Run(ctx) })
	group.Go(func() error {
		for update := range counter.Subscribe(ctx, counts.SubscribeOptions{
			Pace: debounce.NewPacer(500 * time.Millisecond).Wait,
		}) {
			for key, item := range update.Counts {
				fmt.Println(key, item.Summary.Count, len(item.Namespaces))
			}
		}
		return nil
	})
	return group.Wait()
}
