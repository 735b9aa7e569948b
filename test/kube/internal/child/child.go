// Package child runs processes that do not outlive this one: on Linux the kernel
// kills them with their parent, elsewhere they are expected to stop when their
// standard input ends. It runs on Unix only.
package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Process is a child that runs or has ended. Its methods may be called by any
// goroutine.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait; written before done is closed
}

// Start starts the command, which it owns from then on.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = attr()
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	return p, nil
}

// run starts the process and waits for it on one thread, which lives as long:
// Linux kills the child when the thread that started it ends.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.err = p.cmd.Wait()
	}
	close(p.done)
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the process ended: nil for status 0. It waits for the end.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// PID stays the same when the process has ended.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signalling process %d: %w", p.PID(), err)
	}
	return nil
}

// Stop sends SIGTERM, continues a process that is stopped, and returns how it
// ended. When ctx ends first it kills the process and says so.
func (p *Process) Stop(ctx context.Context) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if there is none left
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		err := fmt.Errorf("waiting for process %d to end: %w; it was killed", p.PID(), ctx.Err())
		return errors.Join(err, p.Kill())
	}
}

// Kill ends the process at once and returns when it is gone.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing process %d: %w", p.PID(), err)
	}
	<-p.done
	return nil
}
