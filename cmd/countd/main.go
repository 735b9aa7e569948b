// Command countd counts the objects of a Kubernetes cluster and streams how many
// there are. See its --help.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/countd/countd/cmd/countd/app"
)

// version is set by the linker; without it, the module's own version is told.
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := app.Main(ctx, version, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "countd:", err)
		os.Exit(1)
	}
}
