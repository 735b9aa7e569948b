package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

const (
	portFile = "port"

	// Ports are taken below the range that Linux gives to outgoing connections
	// (32768 and up), so that a restart finds its port free.
	portMin, portMax = 20000, 32000
	portTries        = 100
)

// listen takes the secure port. The listener itself is handed to the API server,
// so nobody can take the port in between.
func listen(ctx context.Context, port int) (net.Listener, error) {
	if port == 0 {
		if saved, err := os.ReadFile(portFile); err == nil {
			last, err := strconv.Atoi(strings.TrimSpace(string(saved)))
			if err != nil {
				return nil, fmt.Errorf("reading the port of the last run: %w", err)
			}
			if l, err := listenOn(ctx, last); err == nil {
				return l, nil
			}
		}
		return listenAnywhere(ctx)
	}
	return listenOn(ctx, port)
}

func listenAnywhere(ctx context.Context) (net.Listener, error) {
	var last error
	for range portTries {
		l, err := listenOn(ctx, portMin+rand.IntN(portMax-portMin))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, fmt.Errorf("looking for a free port, %d tried: %w", portTries, last)
}

func listenOn(ctx context.Context, port int) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listening on the secure port: %w", err)
	}
	if err := os.WriteFile(portFile, []byte(strconv.Itoa(port)+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("keeping the port for the next run: %w", err), l.Close())
	}
	return l, nil
}
