package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/tools/clientcmd"
)

// TestMain is, where it is asked to, the child of a test.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "child" {
		fmt.Println("begun")
		<-Attended(context.Background()).Done()
		return
	}
	goleak.VerifyTestMain(m)
}

// TestChildEndsWithItsInput: a child says what it has to say, can be measured, and
// ends when it is told to.
func TestChildEndsWithItsInput(t *testing.T) {
	child, err := Start(t.Context(), "child")
	if err != nil {
		t.Fatal(err)
	}
	if line, err := child.Line(); err != nil || line != "begun" {
		t.Errorf("it says %q, %v", line, err)
	}
	usage, err := Of(child.PID)
	if err != nil || usage.Resident < 1<<20 || usage.Peak < usage.Resident {
		t.Errorf("it takes %+v, %v", usage, err)
	}
	if err := child.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := Of(child.PID); err == nil {
		t.Error("it runs on")
	}
}

// TestOutsiderIsMeasured: a program that does nothing is at rest, and one that is not
// there is no mistake unless it was named.
func TestOutsiderIsMeasured(t *testing.T) {
	child, err := Start(t.Context(), "child")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Outsider{{PID: child.PID}, {}} {
		if err := errors.Join(o.Await(t.Context()), o.Settle(t.Context())); err != nil {
			t.Error(err)
		}
		var out strings.Builder
		if result := o.Report(&out); (o.PID != 0) != strings.HasPrefix(result, " peer_rss_mib=") || (o.PID != 0) != (out.Len() > 0) {
			t.Errorf("process %d: %q, %q", o.PID, &out, result)
		}
	}
	if err := child.Stop(); err != nil {
		t.Error(err)
	}
	gone := Outsider{PID: child.PID}
	if err := gone.Await(t.Context()); err == nil {
		t.Error("a process that is gone is at rest")
	}
}

// TestCPUTimeIsRead: also of a process whose name looks like fields.
func TestCPUTimeIsRead(t *testing.T) {
	got, err := cpu([]byte("7 (a) b 1 2 (3) S 1 7 7 0 -1 4194304 90 0 0 0 150 25 0 0 20 0 1"))
	if want := 1750 * time.Millisecond; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if _, err := cpu([]byte("7 (a) S 1")); err == nil {
		t.Error("a short line is no error")
	}
}

// TestHostSaysWhere: the address is one line, and in the kubeconfig, and serving ends
// with the context.
func TestHostSaysWhere(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	said := make(lines, 1)
	h := Host{Listen: "127.0.0.1:0", Kubeconfig: filepath.Join(t.TempDir(), "config")}
	go func() { ended <- h.Run(ctx, http.NotFoundHandler(), said) }()
	url := strings.TrimSpace(<-said)
	if config, err := clientcmd.BuildConfigFromFlags("", h.Kubeconfig); err != nil || config.Host != url {
		t.Errorf("the kubeconfig says %+v, %v, want %s", config, err, url)
	}
	response, err := new(http.Transport).RoundTrip(request(t, url))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close() //nolint:errcheck // was only read
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("%s: %s", url, response.Status)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func request(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	return r
}

// lines takes what is written, in pieces.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}
