// Command server serves countd's page and its API with counts that a test
// dictates, one JSON object a line on standard input; see command. Each line is
// answered by one on standard output, once what it says is in the counts: {} or
// {"error":"…"}. The first line on standard output is {"url":"…"}.
//
// It stops, as countd does on SIGTERM, when standard input ends.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countd/countd/pkg/api"
	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/web"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "loopback `address` to serve on")
	flag.Parse()
	if err := run(context.Background(), *listen); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen string) error {
	counter, err := counts.New(counts.Options{})
	if err != nil {
		return err
	}
	script := newScript(counter)
	server, err := api.New(api.Options{
		Counter:     counter,
		Status:      script.board.all,
		Settled:     script.settled,
		Page:        web.Files(),
		Version:     "test",
		Debounce:    50 * time.Millisecond,
		MinDebounce: 50 * time.Millisecond,
		Log:         slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	listener, err := api.Listen(ctx, listen)
	if err != nil {
		return err
	}
	script.line = &line{Listener: listener}
	answer := json.NewEncoder(os.Stdout)
	if err := answer.Encode(map[string]string{"url": "http://" + listener.Addr().String()}); err != nil {
		return err
	}

	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	group.Go(func() error { return ended(ctx, counter.Run(ctx)) })
	group.Go(func() error { return server.Run(ctx, script.line) })
	group.Go(func() error {
		defer stop()
		return obey(ctx, script, answer)
	})
	return group.Wait()
}

// obey carries out commands until standard input ends.
func obey(ctx context.Context, s *script, answer *json.Encoder) error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20) // many objects in one command
	for lines.Scan() {
		reply := map[string]string{}
		if err := s.do(ctx, lines.Bytes()); err != nil {
			reply["error"] = err.Error()
		}
		if err := answer.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

// ended is nil where err only says that ctx has ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
