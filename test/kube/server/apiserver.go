package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// watchTimeout is how long a stop waits for open watches, which do not end by
// themselves. Kubernetes waits for a minute.
const watchTimeout = 500 * time.Millisecond

// apiServer is a kube-apiserver whose flags are parsed. The command that
// Kubernetes ships is not used: it installs a signal handler, and the second
// command in one process to do so panics.
type apiServer struct {
	options *options.ServerRunOptions
}

// newAPIServer takes over listener.
func newAPIServer(listener net.Listener, overrides []string, verbosity int) (*apiServer, error) {
	o := options.NewServerRunOptions()
	fs := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	flagSets := o.Flags()
	for _, set := range flagSets.FlagSets {
		fs.AddFlagSet(set)
	}
	args, err := apiServerArgs(listener.Addr(), verbosity, overrides)
	if err != nil {
		return nil, err
	}
	if err := fs.Parse(args); err != nil {
		return nil, fmt.Errorf("parsing the flags of kube-apiserver: %w", err)
	}
	o.SecureServing.Listener = listener
	return &apiServer{options: o}, nil
}

// apiServerArgs are the defaults with those of the overrides' names replaced.
func apiServerArgs(addr net.Addr, verbosity int, overrides []string) ([]string, error) {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return nil, fmt.Errorf("reading the secure port: %w", err)
	}
	defaults := []string{
		"etcd-servers=" + etcdClientURL,
		"bind-address=127.0.0.1",
		"secure-port=" + port,
		"tls-cert-file=" + servingCert,
		"tls-private-key-file=" + servingKey,
		"v=" + strconv.Itoa(verbosity),

		// The endpoints of the service "kubernetes" would be a loopback address,
		// which validation refuses, so they are not kept.
		"advertise-address=127.0.0.1",
		"endpoint-reconciler-type=none",
		"service-cluster-ip-range=10.0.0.0/24",

		"client-ca-file=" + caCert,
		"authorization-mode=RBAC",
		"service-account-issuer=https://kubernetes.default.svc",
		"service-account-key-file=" + serviceAccountKey,
		"service-account-signing-key-file=" + serviceAccountKey,
		// Pods may be created although nobody makes default service accounts.
		"disable-admission-plugins=ServiceAccount",

		// Aggregation: the API server shows this certificate to the backends.
		"requestheader-client-ca-file=" + proxyCACert,
		"requestheader-allowed-names=" + proxyUser,
		"requestheader-username-headers=X-Remote-User",
		"requestheader-group-headers=X-Remote-Group",
		"requestheader-extra-headers-prefix=X-Remote-Extra-",
		"proxy-client-cert-file=" + proxyCert,
		"proxy-client-key-file=" + proxyKey,
	}
	replaced := make(map[string]bool, len(overrides))
	for _, o := range overrides {
		name, _, ok := strings.Cut(o, "=")
		if !ok || strings.HasPrefix(name, "-") {
			return nil, fmt.Errorf("checking -apiserver-flag: want name=value without dashes, got %q", o)
		}
		replaced[name] = true
	}
	var args []string
	for _, d := range defaults {
		if name, _, _ := strings.Cut(d, "="); !replaced[name] {
			args = append(args, "--"+d)
		}
	}
	for _, o := range overrides {
		args = append(args, "--"+o)
	}
	return args, nil
}

// applyGlobals sets the process's feature gates and logging. It is called once,
// after the flags of all components are parsed and before any of them runs.
func (a *apiServer) applyGlobals() error {
	registry := a.options.GenericServerRunOptions.ComponentGlobalsRegistry
	if err := registry.Set(); err != nil {
		return fmt.Errorf("setting feature gates: %w", err)
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	gate := registry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	if err := logsapi.ValidateAndApply(a.options.Logs, gate); err != nil {
		return fmt.Errorf("setting up logging: %w", err)
	}
	return nil
}

// run blocks until ctx ends and in-flight requests have drained. It does what
// app.Run does, but for the time that open watches have at the end.
func (a *apiServer) run(ctx context.Context) error {
	completed, err := a.options.Complete(ctx)
	if err != nil {
		return fmt.Errorf("completing the options of kube-apiserver: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return fmt.Errorf("checking the options of kube-apiserver: %w", errors.Join(errs...))
	}
	if completed.InformerName, err = cache.NewInformerName("kube-apiserver"); err != nil {
		return fmt.Errorf("naming the informers of kube-apiserver: %w", err)
	}
	config, err := app.NewConfig(completed)
	if err != nil {
		return fmt.Errorf("configuring kube-apiserver: %w", err)
	}
	completedConfig, err := config.Complete()
	if err != nil {
		return fmt.Errorf("completing the configuration of kube-apiserver: %w", err)
	}
	server, err := app.CreateServerChain(completedConfig)
	if err != nil {
		return fmt.Errorf("making kube-apiserver: %w", err)
	}
	server.GenericAPIServer.ShutdownTimeout = watchTimeout
	prepared, err := server.PrepareRun()
	if err != nil {
		return fmt.Errorf("preparing kube-apiserver: %w", err)
	}
	if err := prepared.Run(ctx); err != nil {
		return fmt.Errorf("running kube-apiserver: %w", err)
	}
	if ctx.Err() == nil {
		return errors.New("running kube-apiserver: it returned before it was told to stop")
	}
	return nil
}
