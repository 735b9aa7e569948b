package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// patience is how long a child may take to end when it is asked to.
const patience = 10 * time.Second

// Child is this program, started again. Its methods are for one goroutine.
type Child struct {
	// PID is its process id.
	PID int

	cmd    *exec.Cmd
	input  io.Closer
	output *bufio.Reader
}

// Start starts this program again with other arguments. What it writes to standard
// error comes out of this one's.
func Start(ctx context.Context, args ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = patience
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting this program again: %w", err)
	}
	return &Child{PID: cmd.Process.Pid, cmd: cmd, input: input, output: bufio.NewReader(output)}, nil
}

// Line waits for the next line that the child writes to standard output.
func (c *Child) Line() (string, error) {
	line, err := c.output.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("waiting for a line of process %d: %w", c.PID, err)
	}
	return strings.TrimSpace(line), nil
}

// Stop ends the child and waits for it. It returns what the child ended with.
func (c *Child) Stop() error {
	_ = c.input.Close() // which ends it
	kill := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	if _, err := io.Copy(io.Discard, c.output); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("reading what process %d says last: %w", c.PID, err)
	}
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("process %d: %w", c.PID, err)
	}
	return nil
}

// Attended returns a context that ends when standard input does: the child's side of
// Stop. It is for a process that does not read its standard input otherwise.
func Attended(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin) // an error is an end too
	}()
	return ctx
}
