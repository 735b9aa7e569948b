package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/countd/countd/test/kube"
	"github.com/countd/countd/test/kube/internal/child"
	"github.com/countd/countd/test/kube/workload"
)

// commandTimeout is how long the command may take to end when it is told to.
const commandTimeout = 15 * time.Second

// run returns nil when ctx or the command has ended well.
func (o *options) run(ctx context.Context) (err error) {
	if o.buildOnly {
		_, err = kube.Build(ctx, progress)
		return err
	}
	kubeconfig := o.kubeconfig
	if kubeconfig == "" {
		cluster, startErr := o.start(ctx)
		if startErr != nil {
			return orStopped(ctx, startErr)
		}
		defer func() {
			progress("demo: stopping the control plane")
			err = errors.Join(err, cluster.Close())
		}()
		kubeconfig = cluster.Kubeconfig()
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	w, err := o.fill(ctx, config)
	if err != nil {
		return orStopped(ctx, err)
	}

	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error { return w.Live(ctx) })
	if len(o.command) == 0 {
		progress("demo: ready; Ctrl-C ends it. The kubeconfig:")
		fmt.Println(kubeconfig)
	} else {
		group.Go(func() error {
			defer stop()
			progress("demo: running %q with KUBECONFIG=%s", o.command, kubeconfig)
			return supervise(ctx, newCommand(ctx, o.command, kubeconfig))
		})
	}
	return group.Wait()
}

// start returns a cluster for the caller to close.
func (o *options) start(ctx context.Context) (*kube.Cluster, error) {
	progress("demo: starting a control plane")
	cluster, err := kube.Start(ctx, kube.Options{
		Dir:               o.data,
		Port:              o.port,
		ControllerManager: true,
		Controllers:       workload.Controllers(),
		Logf:              progress,
	})
	if err != nil {
		return nil, err
	}
	if o.kubeconfigOut != "" {
		if err := cluster.WriteKubeconfig(o.kubeconfigOut, "admin", "system:masters"); err != nil {
			return nil, errors.Join(err, cluster.Close())
		}
	}
	progress("demo: the API server answers at %s and logs to %s", cluster.URL(), cluster.LogFile())
	return cluster, nil
}

func (o *options) fill(ctx context.Context, config *rest.Config) (*workload.Workload, error) {
	config.QPS = -1 // the default of five requests a second is for controllers
	settings := o.workload
	settings.Logf = progress
	w, err := workload.New(config, settings)
	if err != nil {
		return nil, err
	}
	progress("demo: filling the cluster, which takes some seconds")
	if err := w.Fill(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// newCommand is the command with the demo's output and the cluster's address.
func newCommand(ctx context.Context, command []string, kubeconfig string) *exec.Cmd {
	// Not with ctx, which would kill it: supervise stops it in good order.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// supervise runs the command and returns how it ended; that ctx ended it is no
// error unless it had to be killed.
func supervise(ctx context.Context, cmd *exec.Cmd) error {
	process, err := child.Start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-process.Done():
		if err := process.Err(); err != nil {
			return fmt.Errorf("running %s: %w", cmd.Path, err)
		}
		return nil
	case <-ctx.Done():
	}
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
	defer cancel()
	err = process.Stop(stopCtx)
	var exit *exec.ExitError
	if errors.As(err, &exit) && stopCtx.Err() == nil {
		return nil // it does not handle SIGTERM, or says how it was stopped
	}
	return err
}

// orStopped is nil if the error only says that ctx has ended.
func orStopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
