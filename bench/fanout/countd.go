package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/cmd/countd/app"
)

// countd is the process of countd: it writes its address as one line once it serves.
func (o options) countd(ctx context.Context) (err error) {
	folder, err := os.MkdirTemp("", "fanout")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := process.WriteKubeconfig(kubeconfig, o.host.URL); err != nil {
		return err
	}
	if o.profile != "" {
		file, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	// Its own metrics are read, and are few without those of namespaces.
	args := []string{"--metrics-namespaces=false", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--log-format", "json"}
	return app.Main(ctx, "bench", args, io.Discard, addresses{said: o.out, rest: os.Stderr})
}

// addresses takes countd's log, an entry at a time: the address is said, and what is
// worth a warning goes on.
type addresses struct{ said, rest io.Writer }

func (a addresses) Write(b []byte) (int, error) {
	var entry struct{ Level, Msg, URL string }
	if err := json.Unmarshal(b, &entry); err == nil && entry.Level == "INFO" {
		if entry.Msg == "serving" {
			_, err = fmt.Fprintln(a.said, strings.TrimSuffix(entry.URL, "/"))
		}
		return len(b), err
	}
	return a.rest.Write(b)
}

// measured is a server of counts in a process of its own.
type measured struct {
	url  string
	pid  int
	stop func() error
}

// startCountd starts countd on an API server, and waits until it has counted all there is.
func (o options) startCountd(ctx context.Context, api string) (m measured, err error) {
	child, err := process.Start(ctx, "-role", countdRole, "-server", api, "-profile", o.profile)
	if err != nil {
		return m, err
	}
	m = measured{pid: child.PID, stop: child.Stop}
	if m.url, err = child.Line(); err == nil {
		err = ready(ctx, m.url)
	}
	if err != nil {
		return m, errors.Join(fmt.Errorf("starting countd: %w", err), child.Stop())
	}
	return m, nil
}

// used is what the process has taken.
func (m measured) used() (process.Usage, error) { return process.Of(m.pid) }

// ready waits until countd is.
func ready(ctx context.Context, url string) error {
	for {
		status, _, err := get(ctx, url+"/readyz")
		if err != nil || status == http.StatusOK {
			return err
		}
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

func get(ctx context.Context, url string) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	request.Close = true // once in a while is not worth a connection
	response, err := new(http.Transport).RoundTrip(request)
	if err != nil {
		return 0, nil, fmt.Errorf("asking countd: %w", err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

const lookEvery = 5 * time.Millisecond

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
