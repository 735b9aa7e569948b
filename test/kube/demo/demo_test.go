package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/countd/countd/test/kube/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCommandRunsOnAFilledClusterAndEndsTheDemo(t *testing.T) {
	out := filepath.Join(t.TempDir(), "kubeconfig")
	o := &options{
		kubeconfigOut: out,
		workload:      workload.Options{Namespaces: 2},
		command:       []string{"sh", "-c", `grep -q certificate-authority-data "$KUBECONFIG" && exit 7`},
	}
	err := o.run(t.Context())
	if err == nil || exitCode(err) != 7 {
		t.Errorf("want the command's exit code 7, got error %v", err)
	}
	if data, err := os.ReadFile(out); err != nil || !bytes.Contains(data, []byte("certificate-authority-data")) {
		t.Errorf("reading the written kubeconfig: %v", err)
	}
}

func TestEndOfTheDemoEndsTheCommandInGoodOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := newCommand(ctx, []string{"sh", "-c", `trap 'echo asked; exit 0' TERM; echo runs; while :; do sleep 0.1; done`}, "unused")
	var stdout bytes.Buffer
	read, write := io.Pipe()
	cmd.Stdout = io.MultiWriter(&stdout, write)
	go func() {
		lines := bufio.NewScanner(read)
		for lines.Scan() {
			cancel() // it runs
		}
	}()
	if err := supervise(ctx, cmd); err != nil {
		t.Error(err)
	}
	_ = write.Close()
	if want := "runs\nasked\n"; stdout.String() != want {
		t.Errorf("want the command to be asked to end, got %q", stdout.String())
	}
}

func TestFlagsThatContradictAreRefused(t *testing.T) {
	if _, err := parseFlags([]string{"-kubeconfig=a", "-data=b"}); err == nil {
		t.Error("want an error")
	}
}
