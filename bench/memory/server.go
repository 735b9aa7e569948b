package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/countd/countd/bench/apiserver"
)

// child is the API server in a process of its own.
type child struct {
	url  string
	stop func()
}

// startServer runs this program again, as the API server.
func startServer(ctx context.Context, o apiserver.Options) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "-serve",
		"-objects", strconv.Itoa(o.Objects), "-namespaces", strconv.Itoa(o.Namespaces), "-changes", strconv.Itoa(o.Changes),
		"-kind", o.Kind, "-pages="+strconv.FormatBool(o.NoStreamingLists))
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the API server: %w", err)
	}
	stop := func() {
		_ = input.Close() // which ends it
		_ = cmd.Wait()
	}
	url, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		stop()
		return nil, fmt.Errorf("starting the API server: %w", err)
	}
	return &child{url: strings.TrimSpace(url), stop: stop}, nil
}

// serve is the API server until standard input ends, which it does with the
// process that started it.
func (o options) serve(ctx context.Context) error {
	handler, err := apiserver.New(o.server)
	if err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.out, "http://%s\n", listener.Addr()); err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
