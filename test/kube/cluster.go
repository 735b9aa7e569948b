package kube

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// startTimeout bounds a start after the build: three seconds are usual, a busy
	// machine needs more.
	startTimeout = 2 * time.Minute
	// stopTimeout is when Stop kills; the server itself gives up after five seconds.
	stopTimeout = 10 * time.Second
)

// Options say how a cluster runs. The zero value is an empty cluster on a
// temporary directory and a free port, without the controller manager.
type Options struct {
	// Dir holds etcd's data, certificates, keys and the log; a directory that was
	// used before is continued. Default: a temporary one that Close removes.
	Dir string
	// Port of the API server. Default: the last one used on Dir, or a free one.
	Port int
	// ControllerManager runs kube-controller-manager too; it takes
	// some 20 MB more at rest.
	ControllerManager bool
	// Controllers are the names of the controllers to run, as in the manager's flag
	// --controllers. Default: all that are on by default. Give a few where others
	// would undo what a test writes.
	Controllers []string
	// APIServerFlags are more flags of kube-apiserver, "name=value" without dashes.
	// They replace the package's own of the same name.
	APIServerFlags []string
	// Fsync makes etcd sync its files. Without it, which is much faster, data still
	// survives a killed process, but not a killed machine.
	Fsync bool
	// Verbosity is the log level of the Kubernetes components.
	Verbosity int
	// Logf gets the progress of a first build, which takes minutes. Default:
	// standard error.
	Logf func(format string, args ...any)
}

// Cluster is a control plane in a child process. Stop, Kill, Restart and Close
// are called by one goroutine at a time; all other methods by any.
type Cluster struct {
	options   Options
	binary    string
	dir       string
	temporary bool      // dir is removed by Close
	ready     readyLine // of the first start; none of it changes
	users     *users

	mu     sync.Mutex
	server *server // the last one started
}

// Start builds the server if need be and returns once the API server is ready.
// ctx bounds that, not the cluster's life, which ends with Close.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	binary, err := Build(ctx, options.Logf)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: options, binary: binary, dir: options.Dir}
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "countd-kube-"); err != nil {
			return nil, fmt.Errorf("making a data directory: %w", err)
		}
		c.temporary = true
	}
	if c.ready, err = c.start(ctx); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	if c.users, err = newUsers(c.ready); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (readyLine, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	server, ready, err := startServer(ctx, c.binary, c.args(), c.LogFile())
	if err != nil {
		return ready, fmt.Errorf("starting a control plane in %s: %w", c.dir, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = server
	return ready, nil
}

func (c *Cluster) args() []string {
	args := []string{
		"-exit-with-stdin",
		"-data", c.dir,
		"-port", strconv.Itoa(c.options.Port),
		"-v", strconv.Itoa(c.options.Verbosity),
	}
	if !c.options.Fsync {
		args = append(args, "-etcd-unsafe-no-fsync")
	}
	if c.options.ControllerManager {
		args = append(args, "-controller-manager")
	}
	if len(c.options.Controllers) > 0 {
		args = append(args, "-controllers", strings.Join(c.options.Controllers, ","))
	}
	for _, f := range c.options.APIServerFlags {
		args = append(args, "-apiserver-flag", f)
	}
	return args
}

// Stop ends the process in good order and keeps data and port for Restart. It
// kills a process that takes longer than ctx or ten seconds, and says so. After
// Stop or Kill it does nothing; that the process died unasked is an error.
func (c *Cluster) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return c.current().stop(ctx)
}

// Kill ends the process at once, as a crash would, and keeps data and port for
// Restart.
func (c *Cluster) Kill() error { return c.current().kill() }

// Restart stops the cluster if it runs and starts it on the same data and the
// same address; Configs stay good.
func (c *Cluster) Restart(ctx context.Context) error {
	if err := c.Stop(ctx); err != nil {
		return err
	}
	address, err := url.Parse(c.ready.URL)
	if err != nil {
		return fmt.Errorf("reading the port to restart on: %w", err)
	}
	if c.options.Port, err = strconv.Atoi(address.Port()); err != nil {
		return fmt.Errorf("reading the port to restart on: %w", err)
	}
	_, err = c.start(ctx) // with a port given, it is ready there or fails
	return err
}

// Close stops the cluster for good and removes its data if the directory is a
// temporary one.
func (c *Cluster) Close() error {
	return errors.Join(c.Stop(context.Background()), c.remove())
}

// Signal sends a signal to the process, such as SIGSTOP and SIGCONT for one that
// hangs. Stop and Kill end a process that is stopped, too.
func (c *Cluster) Signal(s os.Signal) error { return c.current().Signal(s) }

// Done is closed when the process that runs now has ended, for whatever reason.
func (c *Cluster) Done() <-chan struct{} { return c.current().Done() }

// PID of the process that runs now or ran last.
func (c *Cluster) PID() int { return c.current().PID() }

// URL of the API server, the same for the cluster's whole life.
func (c *Cluster) URL() string { return c.ready.URL }

// Dir holds data, certificates, keys and the log.
func (c *Cluster) Dir() string { return c.dir }

// LogFile is where all components log, over all restarts.
func (c *Cluster) LogFile() string { return filepath.Join(c.dir, "server.log") }

// AdminConfig is a Config that may do everything.
func (c *Cluster) AdminConfig() *rest.Config { return c.Config("admin", "system:masters") }

func (c *Cluster) current() *server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server
}

func (c *Cluster) remove() error {
	if !c.temporary {
		return nil
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("removing the data of the control plane: %w", err)
	}
	return nil
}
