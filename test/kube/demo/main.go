// Command demo runs a control plane with a small living workload, and a command
// beside it:
//
//	go run ./test/kube/demo -- countd --listen=127.0.0.1:8080
//
// The command starts when the workload stands, with KUBECONFIG set, and all ends
// when it ends, or with Ctrl-C or SIGTERM. Without a command, the path of the
// kubeconfig is printed on standard output and the cluster lives until then. Data
// are temporary unless -data says where to keep them.
//
// Scripts should build it and run the binary: go run does not pass SIGTERM on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	o, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = o.run(ctx)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode is that of the command if it failed.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	return 1
}
