package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countd/countd/bench/fanout/subscriber"
	"github.com/countd/countd/bench/process"
)

// floored is what writing alone costs.
type floored struct {
	frames int // that were written, to all connections
	bytes  float64
	cpu    time.Duration
}

// frame is the CPU time of one.
func (f floored) frame() time.Duration { return f.cpu / time.Duration(f.frames) }

// measureFloor has a process write frames to so many connections, which read them.
func (o options) measureFloor(ctx context.Context, frames []subscriber.Frame) (f floored, err error) {
	folder, err := os.MkdirTemp("", "fanout")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	texts, all := make([][]byte, len(frames)), int64(0)
	for i, frame := range frames {
		texts[i] = frame.Bytes
		all += int64(len(frame.Bytes))
	}
	f.frames, f.bytes = len(frames)*o.connections, float64(all)/float64(len(frames))
	text, err := json.Marshal(texts)
	if err != nil {
		return f, err
	}
	file := filepath.Join(folder, "frames")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return f, err
	}
	child, err := process.Start(ctx, "-role", floorRole, "-frames", file, "-connections", strconv.Itoa(o.connections), "-debounce", o.debounce.String())
	if err != nil {
		return f, err
	}
	address, err := child.Line()
	if err == nil {
		f.cpu, err = o.readFloor(ctx, child, address, all)
	}
	return f, errors.Join(err, child.Stop())
}

// readFloor reads all that the floor writes to each connection, and returns what it says.
func (o options) readFloor(ctx context.Context, child *process.Child, address string, bytes int64) (cpu time.Duration, err error) {
	group, reading := errgroup.WithContext(ctx)
	defer func() { err = errors.Join(err, group.Wait()) }()
	for range o.connections {
		conn, err := new(net.Dialer).DialContext(reading, "tcp", address)
		if err != nil {
			return 0, err
		}
		defer context.AfterFunc(reading, func() { _ = conn.Close() })() // it ends when one fails
		group.Go(func() error {
			defer conn.Close()
			if n, err := io.Copy(io.Discard, io.LimitReader(conn, bytes)); err != nil || n < bytes {
				return fmt.Errorf("reading from the floor: %d bytes, want %d: %w", n, bytes, errors.Join(err, io.ErrUnexpectedEOF))
			}
			return nil
		})
	}
	line, err := child.Line()
	if err != nil {
		return 0, err
	}
	return cpu, errors.Join(json.Unmarshal([]byte(line), &cpu), group.Wait())
}
