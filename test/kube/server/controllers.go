package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// controllerManager is a kube-controller-manager whose flags are parsed, or
// nothing if its options are nil.
type controllerManager struct {
	options *options.KubeControllerManagerOptions
}

// newControllerManager parses flags only. An empty list of controllers gives one
// whose run does nothing.
func newControllerManager(controllers string) (*controllerManager, error) {
	if controllers == "" {
		return &controllerManager{}, nil
	}
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("making the options of kube-controller-manager: %w", err)
	}
	fs := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	flagSets := o.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	for _, set := range flagSets.FlagSets {
		fs.AddFlagSet(set)
	}
	o.ParsedFlags = &flagSets
	err = fs.Parse([]string{
		"--controllers=" + controllers,
		"--kubeconfig=" + adminKubeconfig,
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		"--leader-elect=false",
		"--secure-port=0",
		"--root-ca-file=" + caCert,
		"--service-account-private-key-file=" + serviceAccountKey,
	})
	if err != nil {
		return nil, fmt.Errorf("parsing the flags of kube-controller-manager: %w", err)
	}
	return &controllerManager{options: o}, nil
}

// run blocks until ctx ends. The API server must be ready.
func (c *controllerManager) run(ctx context.Context) error {
	if c.options == nil {
		<-ctx.Done()
		return nil
	}
	config, err := c.options.Config(ctx, app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	if err != nil {
		return fmt.Errorf("configuring kube-controller-manager: %w", err)
	}
	if err := app.Run(ctx, config.Complete()); err != nil && ctx.Err() == nil {
		return fmt.Errorf("running kube-controller-manager: %w", err)
	}
	return nil
}
