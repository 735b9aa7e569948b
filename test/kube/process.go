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
	"strings"

	"github.com/countd/countd/test/kube/internal/child"
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

// server is a child that was ready once. Its end is expected after stop and kill,
// which are called by one goroutine at a time.
type server struct {
	*child.Process
	stdin    io.Closer // the server stops when it is closed
	log      string    // path
	expected bool
}

// startServer returns when the server is ready, has died, or ctx has ended, in
// the two last cases with an error and without a process. The log is appended to.
func startServer(ctx context.Context, binary string, args []string, log string) (*server, readyLine, error) {
	logFile, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, readyLine{}, fmt.Errorf("opening the log: %w", err)
	}
	defer logFile.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), binary, args...) // lives longer than ctx
	cmd.Stderr = logFile
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, readyLine{}, fmt.Errorf("making a pipe: %w", err)
	}
	// Not StdoutPipe, which Wait closes, maybe before the line is read.
	stdout, write, err := os.Pipe()
	if err != nil {
		return nil, readyLine{}, errors.Join(fmt.Errorf("making a pipe: %w", err), stdin.Close())
	}
	cmd.Stdout = write
	process, err := child.Start(cmd)
	_ = write.Close()
	if err != nil {
		return nil, readyLine{}, errors.Join(err, stdout.Close())
	}
	s := &server{Process: process, stdin: stdin, log: log}
	ready, err := s.awaitReady(ctx, stdout)
	if err != nil {
		return nil, readyLine{}, errors.Join(err, s.kill())
	}
	return s, ready, nil
}

func (s *server) awaitReady(ctx context.Context, stdout io.ReadCloser) (readyLine, error) {
	lines := make(chan []byte, 1)
	go readFirstLine(stdout, lines)
	var ready readyLine
	select {
	case line, ok := <-lines:
		if !ok {
			return ready, fmt.Errorf("waiting for the server to be ready: it died: %s", s.obituary())
		}
		if err := json.Unmarshal(line, &ready); err != nil {
			return ready, fmt.Errorf("reading the server's line %q: %w", line, err)
		}
		return ready, nil
	case <-ctx.Done():
		return ready, fmt.Errorf("waiting for the server to be ready: %w; the end of its log:\n%s", ctx.Err(), tail(s.log))
	}
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

// stop ends the process in good order. That one has died unasked is an error.
func (s *server) stop(ctx context.Context) error {
	select {
	case <-s.Done():
		if s.expected {
			return nil
		}
		s.expected = true // told once
		return fmt.Errorf("stopping the control plane: it had died already: %s", s.obituary())
	default:
	}
	s.expected = true
	if err := errors.Join(s.Stop(ctx), s.closeStdin()); err != nil {
		return fmt.Errorf("stopping the control plane: %w; the end of its log:\n%s", err, tail(s.log))
	}
	return nil
}

func (s *server) kill() error {
	s.expected = true
	return errors.Join(s.Kill(), s.closeStdin())
}

// closeStdin is for a process that has ended: Wait may have closed the pipe too.
func (s *server) closeStdin() error {
	if err := s.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("closing its standard input: %w", err)
	}
	return nil
}

// obituary is how the process ended and its last words. It waits for the end.
func (s *server) obituary() string {
	how := "status 0"
	if err := s.Err(); err != nil {
		how = err.Error()
	}
	return fmt.Sprintf("%s; the end of its log:\n%s", how, tail(s.log))
}

// tail is the end of the file, whole lines, or why it cannot be read.
func tail(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if len(data) > logTail {
		_, rest, _ := strings.Cut(string(data[len(data)-logTail:]), "\n")
		return rest
	}
	return string(data)
}
