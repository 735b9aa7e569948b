//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/countd/countd/bench/process"
)

// backlog is how many connections may wait to be accepted.
const backlog = 4096

// floor is the process that writes and does nothing else: it accepts connections, writes
// each message to each of them with one write(2) after the other, an interval apart, and
// says what CPU time that took. Its sockets are plain ones, which write waits for.
func (o options) floor(ctx context.Context) (err error) {
	text, err := os.ReadFile(o.frames)
	if err != nil {
		return err
	}
	var frames [][]byte
	if err := json.Unmarshal(text, &frames); err != nil {
		return err
	}
	listener, err := o.listenPlain()
	if err != nil {
		return err
	}
	sockets := make([]int, o.connections)
	for i := range sockets {
		if sockets[i], _, err = syscall.Accept(listener); err == nil {
			err = syscall.SetsockoptInt(sockets[i], syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
		}
		if err != nil {
			return fmt.Errorf("accepting a connection: %w", err)
		}
	}
	before := process.CPUTime()
	for _, frame := range frames {
		for _, socket := range sockets {
			if err := writeAll(socket, frame); err != nil {
				return err
			}
		}
		if err := pause(ctx, o.debounce); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(o.out).Encode(process.CPUTime() - before); err != nil {
		return err
	}
	<-ctx.Done() // the connections end with it
	return nil
}

// listenPlain says where it listens.
func (o options) listenPlain() (int, error) {
	listener, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(syscall.Bind(listener, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(listener, backlog)); err != nil {
		return 0, fmt.Errorf("listening: %w", err)
	}
	name, err := syscall.Getsockname(listener)
	if err != nil {
		return 0, err
	}
	address, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("listening on a %T", name)
	}
	_, err = fmt.Fprintln(o.out, "127.0.0.1:"+strconv.Itoa(address.Port))
	return listener, err
}

// writeAll is one write(2), unless a signal comes between.
func writeAll(socket int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(socket, b)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("writing: %w", err)
		}
		b = b[max(n, 0):]
	}
	return nil
}
