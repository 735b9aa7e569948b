package process

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// Host says where a program has its API server: in a process of its own, which Start
// starts, or in one that runs already. It is immutable once its flags are parsed.
type Host struct {
	// URL of a server that runs already; empty: one is started.
	URL string
	// Listen is the address of one that is started.
	Listen string
	// Kubeconfig is a file to which it writes how to reach it; empty: none. For
	// programs that are not ours.
	Kubeconfig string
	// Serve says that this process is the server.
	Serve bool
}

// Flags adds the options as flags.
func (h *Host) Flags(set *flag.FlagSet) {
	set.StringVar(&h.URL, "server", "", "`URL` of an API server that runs already (see -serve)")
	set.StringVar(&h.Listen, "listen", "127.0.0.1:0", "`address` of the API server")
	set.StringVar(&h.Kubeconfig, "kubeconfig", "", "`file` that the API server writes, for clients that read one")
	set.BoolVar(&h.Serve, "serve", false, "be the API server until standard input ends")
}

// Start returns the URL of the server, which it starts with the given arguments unless
// there is one, and says it on standard error; stop ends it.
func (h Host) Start(ctx context.Context, args ...string) (url string, stop func(), err error) {
	if h.URL != "" {
		return h.URL, func() {}, nil
	}
	child, err := Start(ctx, append(args, "-serve", "-listen", h.Listen, "-kubeconfig", h.Kubeconfig)...)
	if err != nil {
		return "", nil, err
	}
	stop = func() { _ = child.Stop() }
	if url, err = child.Line(); err != nil {
		stop()
		return "", nil, err
	}
	fmt.Fprintln(os.Stderr, "API server at", url)
	return url, stop, nil
}

// Run serves until ctx ends. It writes the server's address to out as one line, once
// it can be reached and the kubeconfig is there.
func (h Host) Run(ctx context.Context, handler http.Handler, out io.Writer) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", h.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	url := "http://" + listener.Addr().String()
	if h.Kubeconfig != "" {
		if err := WriteKubeconfig(h.Kubeconfig, url); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(out, url); err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// WriteKubeconfig writes a file that says how a server is reached.
func WriteKubeconfig(file, url string) error {
	if err := os.WriteFile(file, fmt.Appendf(nil, kubeconfig, url), 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

const kubeconfig = `apiVersion: v1
kind: Config
current-context: bench
contexts: [{name: bench, context: {cluster: bench, user: bench}}]
clusters: [{name: bench, cluster: {server: %q}}]
users: [{name: bench, user: {}}]
`
