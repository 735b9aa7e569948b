package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/countd/countd/pkg/counts"
)

// server is what a dashboard talks to. It keeps its address when it is killed and
// started again.
type server interface {
	url() string
	start() error
	kill() error
}

// countd is the program, in a process of its own.
type countd struct {
	t       testing.TB
	address string
	args    []string
	cmd     *exec.Cmd
	drained chan struct{} // its log has ended
}

// newCountd prepares a countd that ends with the test.
func newCountd(t testing.TB, kubeconfig string, args ...string) *countd {
	c := &countd{t: t, address: freeAddress(t)}
	c.args = append([]string{"--kubeconfig=" + kubeconfig, "--listen=" + c.address, "--log-format=json", "--debounce=50ms"}, args...)
	t.Cleanup(func() {
		if c.cmd == nil {
			return
		}
		if err := c.end(syscall.SIGTERM); err != nil {
			t.Errorf("countd ended with %v", err)
		}
	})
	return c
}

// freeAddress is one on which nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func adminKubeconfig(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, shared.Cluster(t).WriteKubeconfig(path, "admin", "system:masters"))
	return path
}

func (c *countd) url() string { return "http://" + c.address }

// start returns when countd serves, which is before it has counted.
func (c *countd) start() error {
	cmd := exec.Command(built.server(c.t), c.args...) // kill and the test's cleanup end it, in good order
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.cmd, c.drained = cmd, make(chan struct{})
	serving := make(chan struct{})
	go c.readLog(stderr, serving, c.drained)
	select {
	case <-serving:
		return nil
	case <-c.drained:
		return fmt.Errorf("countd ended before it served")
	case <-time.After(patience):
		return fmt.Errorf("countd does not serve")
	}
}

func (c *countd) readLog(log io.Reader, serving, drained chan<- struct{}) {
	defer close(drained)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if testing.Verbose() {
			_, _ = fmt.Fprintln(c.t.Output(), lines.Text())
		}
		var entry struct{ Msg string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
			close(serving)
		}
	}
}

func (c *countd) kill() error {
	_ = c.end(syscall.SIGKILL) // an error, of course
	return nil
}

func (c *countd) end(signal os.Signal) error {
	if err := c.cmd.Process.Signal(signal); err != nil {
		return err
	}
	<-c.drained
	err := c.cmd.Wait()
	c.cmd = nil
	return err
}

// awaitReady waits until all is counted.
func (c *countd) awaitReady(ctx context.Context) error {
	return poll(ctx, "countd to be ready", func() bool {
		code, _, err := get(ctx, c.url()+"/readyz")
		return err == nil && code == http.StatusOK
	})
}

// get asks over a connection of its own, so that none is left when the test ends.
func get(ctx context.Context, url string) (code int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// poll asks again and again something that has no event to wait for.
func poll(ctx context.Context, what string, ok func() bool) error {
	timeout := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-timeout:
			return fmt.Errorf("waited in vain for %s", what)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// servedCounts are those that a server of steve's family answers to a GET.
func servedCounts(ctx context.Context, url string) (map[string]counts.ItemCount, error) {
	code, body, err := get(ctx, url+"/v1/counts")
	if err != nil {
		return nil, err
	}
	if code != http.StatusOK {
		return nil, fmt.Errorf("GET /v1/counts: %d", code)
	}
	var answer struct {
		Data []struct{ Counts map[string]counts.ItemCount }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	return answer.Data[0].Counts, nil
}
