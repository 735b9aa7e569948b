package kube_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/countd/countd/test/kube"
)

// parentVariable makes the test binary a parent that starts a cluster and waits
// to be killed; "stopped" stops the server with SIGSTOP first.
const parentVariable = "COUNTD_TEST_KUBE_PARENT"

func TestNoServerOutlivesItsParent(t *testing.T) {
	if role := os.Getenv(parentVariable); role != "" {
		beParent(t, role)
		return
	}
	for _, role := range []string{"running", "stopped"} {
		t.Run(role, func(t *testing.T) {
			if role == "stopped" && runtime.GOOS != "linux" {
				t.Skip("only Linux kills a stopped child with its parent")
			}
			parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoServerOutlivesItsParent$")
			parent.Env = append(os.Environ(), parentVariable+"="+role, "TMPDIR="+t.TempDir())
			stdout, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			address := readAddress(t, stdout)
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()

			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait()
			// The connection ends when the server does.
			if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
				t.Errorf("the server outlives its parent: %v", err)
			}
		})
	}
}

func beParent(t *testing.T, role string) {
	cluster := kube.StartT(t, kube.Options{})
	if role == "stopped" {
		if err := cluster.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println(cluster.URL())
	<-cluster.Done()
}

func readAddress(t *testing.T, stdout io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "https://"); ok {
			return address
		}
	}
	t.Fatal("the parent did not start its cluster")
	return ""
}
