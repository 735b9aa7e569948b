package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2" //nolint:depguard // carries the logger to client-go

	"github.com/countd/countd/pkg/api"
	"github.com/countd/countd/pkg/cluster"
	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/pkg/metrics"
	"github.com/countd/countd/web"
)

// Main is the program: it returns when it was asked to end, or what went wrong, in
// one line.
func Main(ctx context.Context, version string, args []string, stdout, stderr io.Writer) error {
	version = orModuleVersion(version)
	o, err := parse(args, environment, stdout)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	case err != nil:
		return err
	case o.version:
		_, err := fmt.Fprintln(stdout, "countd", version)
		return err
	}
	collectOften()
	log := o.logger(stderr)
	// What client-go says goes where everything goes. Its global logger stays as it is.
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(log.Handler()))
	config, namespace, err := clientConfig(o.kubeconfig, o.context)
	if err != nil {
		return err
	}
	return run(ctx, o, config, namespace, version, log)
}

// run wires the parts together and runs them until ctx ends: first the server
// drains, then the watches end, then the tally.
func run(ctx context.Context, o options, config *rest.Config, namespace, version string, log *slog.Logger) error {
	counter, err := counts.New(counts.Options{})
	if err != nil {
		return err
	}
	watcher, err := cluster.New(cluster.Options{
		Config: config, Counter: counter, Resources: o.resources, Exclude: o.exclude, Namespaces: o.namespaces,
		OwnNamespace: namespace, States: o.stateRules(), Log: log,
	})
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	collector, err := metrics.New(metrics.Options{
		Counter: counter, Status: watcher.Status, Namespaces: o.metricsNamespaces, Version: version,
	})
	if err != nil {
		return err
	}
	for _, c := range append(memoryMetrics(readMemory),
		collector, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	) {
		if err := registry.Register(c); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	settings := o.server
	settings.Counter, settings.Status, settings.Settled = counter, watcher.Status, watcher.Settled()
	settings.Page, settings.Registry, settings.Log, settings.Version = web.Files(), registry, log, version
	server, err := api.New(settings)
	if err != nil {
		return err
	}
	listener, err := api.Listen(ctx, o.listen)
	if err != nil {
		return err
	}
	kubernetes, err := connect(ctx, config)
	if err != nil {
		if ctx.Err() != nil {
			err = nil // it was asked to end
		}
		return errors.Join(err, listener.Close())
	}
	log.Info("countd", "version", version, "cluster", config.Host, "kubernetes", kubernetes.GitVersion)

	later := context.WithoutCancel(ctx)
	counting, stopCounting := context.WithCancel(later)
	watching, stopWatching := context.WithCancel(later)
	var core errgroup.Group
	core.Go(func() error { return counter.Run(counting) })
	edges, serving := errgroup.WithContext(ctx)
	edges.Go(func() error {
		defer stopWatching()
		return server.Run(serving, listener)
	})
	edges.Go(func() error { return watcher.Run(watching) })
	edges.Go(func() error { watchMemory(watching, log, readMemory); return nil })

	err = edges.Wait()
	stopCounting()
	return asked(errors.Join(err, asked(core.Wait())))
}

// asked is nil where err is that of a stop that was asked for.
func asked(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func orModuleVersion(version string) string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
