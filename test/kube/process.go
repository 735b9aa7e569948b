package kube

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// logTail is how many bytes of the log an error quotes.
const logTail = 4 << 10

// readyLine is what the server prints when it is ready.
type readyLine struct {
	URL        string `json:"url"`
	CAFile     string `json:"caFile"`
	CAKeyFile  string `json:"caKeyFile"`
	Kubeconfig string `json:"kubeconfig"`
}

// process is a running server, or one that has ended.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer     // the server stops when it is closed
	done  chan struct{} // closed when the process has ended
	err   error         // of Wait; read it after done
}

// startProcess returns when the server is ready, has died, or ctx has ended, in
// the two last cases with an error and without a process. The log is appended to.
func startProcess(ctx context.Context, binary string, args []string, log string) (*process, readyLine, error) {
	p := &process{cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.cmd.SysProcAttr = childAttr()
	logFile, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, readyLine{}, fmt.Errorf("opening the log: %w", err)
	}
	defer logFile.Close()
	p.cmd.Stderr = logFile
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, readyLine{}, fmt.Errorf("making a pipe: %w", err)
	}
	stdout, child, err := os.Pipe()
	if err != nil {
		return nil, readyLine{}, errors.Join(fmt.Errorf("making a pipe: %w", err), p.stdin.Close())
	}
	p.cmd.Stdout = child

	started := make(chan error)
	go p.run(started)
	err = <-started
	_ = child.Close()
	if err != nil {
		return nil, readyLine{}, errors.Join(fmt.Errorf("starting %s: %w", binary, err), stdout.Close())
	}
	lines := make(chan []byte, 1)
	go readFirstLine(stdout, lines)

	select {
	case line, ok := <-lines:
		if !ok {
			break
		}
		var ready readyLine
		if err := json.Unmarshal(line, &ready); err != nil {
			return nil, readyLine{}, errors.Join(fmt.Errorf("reading the server's line %q: %w", line, err), p.kill())
		}
		return p, ready, nil
	case <-ctx.Done():
		err := fmt.Errorf("waiting for the server to be ready: %w; the end of its log:\n%s", ctx.Err(), tail(log))
		return nil, readyLine{}, errors.Join(err, p.kill())
	}
	<-p.done
	return nil, readyLine{}, fmt.Errorf("the server died before it was ready (%w); the end of its log:\n%s", p.exit(), tail(log))
}

// run starts the process and waits for it on one thread, which lives as long:
// Linux kills the child when the thread that started it ends.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.err = p.cmd.Wait()
	}
	close(p.done)
}

// readFirstLine sends one line, or closes lines if there is none, and then reads
// on until the process ends, so that it never blocks on a full pipe.
func readFirstLine(stdout io.ReadCloser, lines chan<- []byte) {
	defer stdout.Close()
	r := bufio.NewReader(stdout)
	if line, err := r.ReadBytes('\n'); err == nil {
		lines <- line
	}
	close(lines)
	_, _ = io.Copy(io.Discard, r)
}

// stop asks the process to end, and kills it when ctx ends first.
func (p *process) stop(ctx context.Context) error {
	select {
	case <-p.done:
		return nil // ended before, by Kill or on its own
	default:
	}
	terminate(p.cmd.Process)
	_ = p.stdin.Close()
	select {
	case <-p.done:
		if p.err != nil {
			return fmt.Errorf("stopping the control plane: %w", p.err)
		}
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("stopping the control plane: %w; killing it", ctx.Err()), p.kill())
	}
}

// kill ends the process at once and returns when it is gone.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the control plane: %w", err)
	}
	<-p.done
	return nil
}

func (p *process) exit() error {
	if p.err != nil {
		return p.err
	}
	return errors.New("exit status 0")
}

// tail is the end of the file, whole lines, or why it cannot be read.
func tail(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if len(data) > logTail {
		data = data[len(data)-logTail:]
		if _, rest, ok := strings.Cut(string(data), "\n"); ok {
			return rest
		}
	}
	return string(data)
}
