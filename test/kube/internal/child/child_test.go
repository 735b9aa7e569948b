package child_test

import (
	"context"
	"os/exec"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/countd/countd/test/kube/internal/child"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStopEndsAProcessThatIsStopped(t *testing.T) {
	p := start(t, "sleep", "1000")
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err == nil {
		t.Error("want the error that it died of SIGTERM")
	}
	<-p.Done()
}

func TestStopKillsWhenItsContextEnds(t *testing.T) {
	p := start(t, "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Stop(ctx); err == nil {
		t.Error("want an error that says it was killed")
	}
	<-p.Done()
}

func TestEndIsTold(t *testing.T) {
	p := start(t, "sh", "-c", "exit 3")
	if err := p.Err(); err == nil {
		t.Error("want the error of status 3")
	}
	if err := p.Kill(); err != nil {
		t.Errorf("killing a process that has ended: %v", err)
	}
}

func TestMissingProgramIsAnError(t *testing.T) {
	if _, err := child.Start(exec.CommandContext(t.Context(), "/does/not/exist")); err == nil {
		t.Error("want an error")
	}
}

func start(t *testing.T, name string, args ...string) *child.Process {
	t.Helper()
	p, err := child.Start(exec.CommandContext(context.WithoutCancel(t.Context()), name, args...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
