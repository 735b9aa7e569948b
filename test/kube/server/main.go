// Command server runs a Kubernetes control plane in one process: etcd,
// kube-apiserver and, on request, kube-controller-manager, all from their Go
// modules, on loopback only. It is made for tests, demos and benchmarks; package
// github.com/countd/countd/test/kube builds it, starts it and talks to it.
//
// It is a module of its own because Kubernetes can only be imported with a list
// of replace directives, which countd's own module must not have.
//
// When the API server is ready it prints one line of JSON on standard output
// (see readyLine). Everything else goes to standard error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
)

// stopTimeout is how long a stop may take before the process ends all the same.
// Nothing is lost by that: what the API server acknowledged is in etcd's log.
const stopTimeout = 5 * time.Second

// settings are the program's flags.
type settings struct {
	dir            string
	port           int
	unsafeNoFsync  bool
	controllers    string
	apiServerFlags flagList
	exitWithStdin  bool
	verbosity      int
}

// flagList is a flag that may be given several times.
type flagList []string

func (l *flagList) String() string     { return strings.Join(*l, " ") }
func (l *flagList) Set(v string) error { *l = append(*l, v); return nil }

// readyLine is what standard output gets once /readyz says ok, which includes
// the RBAC bootstrap.
type readyLine struct {
	URL        string `json:"url"`
	CAFile     string `json:"caFile"`
	CAKeyFile  string `json:"caKeyFile"` // signs client certificates for any user and groups
	Kubeconfig string `json:"kubeconfig"`
	Dir        string `json:"dir"`
	PID        int    `json:"pid"`
}

func main() {
	s, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = s.run()
	}
	klog.Flush()
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string) (*settings, error) {
	s := &settings{}
	controllerManager := false
	fs := flag.NewFlagSet("server", flag.ContinueOnError)
	fs.StringVar(&s.dir, "data", "", "`directory` of etcd's data, certificates and keys; made if missing, continued if not (required)")
	fs.IntVar(&s.port, "port", 0, "secure `port`; 0 takes the one of the last run on the same data if it is free, else any free one")
	fs.BoolVar(&s.unsafeNoFsync, "etcd-unsafe-no-fsync", false, "do not sync etcd's files: faster, survives a killed process but not a killed machine")
	fs.BoolVar(&controllerManager, "controller-manager", false, "run the controller manager too")
	fs.StringVar(&s.controllers, "controllers", "*", "with -controller-manager, `list` of the controllers to run")
	fs.Var(&s.apiServerFlags, "apiserver-flag", "`name=value` for kube-apiserver, replaces the default of that name; may be repeated")
	fs.BoolVar(&s.exitWithStdin, "exit-with-stdin", false, "stop when standard input ends, so that no server outlives its parent")
	fs.IntVar(&s.verbosity, "v", 0, "log `level` of the Kubernetes components")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if s.dir == "" || fs.NArg() > 0 {
		return nil, fmt.Errorf("checking flags: -data is required and nothing may follow the flags, got -data=%q and %q", s.dir, fs.Args())
	}
	if !controllerManager {
		s.controllers = ""
	}
	abs, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, fmt.Errorf("making -data absolute: %w", err)
	}
	s.dir = abs
	return s, nil
}

// run blocks until a signal, the end of standard input, or a component's failure.
func (s *settings) run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if s.exitWithStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	context.AfterFunc(ctx, func() {
		time.AfterFunc(stopTimeout, func() {
			fmt.Fprintf(os.Stderr, "server: not stopped after %v, exiting\n", stopTimeout)
			os.Exit(0)
		})
	})
	err := s.serve(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// serve blocks until ctx ends or a component fails.
func (s *settings) serve(ctx context.Context) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	// etcd listens on a socket with a relative name: no port to choose, and no
	// limit of 108 bytes on the length of the directory's name.
	if err := os.Chdir(s.dir); err != nil {
		return fmt.Errorf("entering the data directory: %w", err)
	}
	listener, err := listen(ctx, s.port)
	if err != nil {
		return err
	}
	url := "https://" + listener.Addr().String()
	if err := writeFiles(url); err != nil {
		return err
	}
	api, err := newAPIServer(listener, s.apiServerFlags, s.verbosity)
	if err != nil {
		return err
	}
	controllers, err := newControllerManager(s.controllers)
	if err != nil {
		return err
	}
	if err := api.applyGlobals(); err != nil {
		return err
	}

	etcd, err := startEtcd(ctx, s.unsafeNoFsync)
	if err != nil {
		return err
	}
	defer etcd.Close()

	// etcd is closed after all others have returned.
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return api.run(ctx) })
	group.Go(func() error {
		if err := awaitReady(ctx); err != nil {
			return err
		}
		if err := s.announce(os.Stdout, url); err != nil {
			return err
		}
		return controllers.run(ctx)
	})
	group.Go(func() error {
		select {
		case err := <-etcd.Err():
			return fmt.Errorf("serving etcd: %w", err)
		case <-ctx.Done():
			return nil
		}
	})
	return group.Wait()
}

func (s *settings) announce(w io.Writer, url string) error {
	err := json.NewEncoder(w).Encode(readyLine{
		URL:        url,
		CAFile:     filepath.Join(s.dir, caCert),
		CAKeyFile:  filepath.Join(s.dir, caKey),
		Kubeconfig: filepath.Join(s.dir, adminKubeconfig),
		Dir:        s.dir,
		PID:        os.Getpid(),
	})
	if err != nil {
		return fmt.Errorf("announcing that the server is ready: %w", err)
	}
	return nil
}
