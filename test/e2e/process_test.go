package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/countd/countd/pkg/counts"
	"github.com/countd/countd/test/proxy"
)

// TestC29CountsAnswerAtOnce: one kind never syncs. The counts of all others answer
// at once, and that kind is said to be syncing.
func TestC29CountsAnswerAtOnce(t *testing.T) {
	t.Parallel()
	p := proxy.New(t, shared.Cluster(t).AdminConfig())
	p.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/secrets") {
			<-r.Context().Done()
			return true
		}
		return false
	})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"proxy": {Server: p.Config().Host}},
		Contexts:       map[string]*clientcmdapi.Context{"proxy": {Cluster: "proxy"}},
		CurrentContext: "proxy",
	}, kubeconfig))
	d := startDaemonAt(t, kubeconfig)
	for began := time.Now(); ; {
		var body struct {
			Data []struct{ Counts view }
		}
		d.get(t, "/v1/counts", &body) // whatever the moment, it answers
		if len(body.Data[0].Counts) > 50 {
			if _, there := body.Data[0].Counts["secret"]; there {
				t.Error("the kind that never syncs has a count")
			}
			break
		}
		if time.Since(began) > patience {
			t.Fatalf("only %d kinds are counted", len(body.Data[0].Counts))
		}
		pause(t)
	}
	for _, s := range d.resources(t) {
		if s.Resource.Key() == "secrets" && s.Phase != counts.Syncing {
			t.Errorf("secrets are %s", s.Phase)
		}
	}
	if code, body := d.ask(t, "/readyz?verbose"); code == http.StatusOK || !strings.Contains(string(body), "secrets") {
		t.Errorf("readyz does not name what it waits for: %d %s", code, body)
	}
}

// TestProcessStopsOnSIGTERM: the program as a process of its own, with a stream
// open: it tells the stream, ends within seconds, and with exit code 0.
func TestProcessStopsOnSIGTERM(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "countd")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/countd").CombinedOutput(); err != nil {
		t.Fatalf("building countd: %v\n%s", err, out)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, shared.Cluster(t).WriteKubeconfig(kubeconfig, "admin", "system:masters"))
	cmd := exec.CommandContext(t.Context(), binary, "--listen=127.0.0.1:0", "--log-format=json")
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+kubeconfig)
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	var d daemon
	lines := bufio.NewScanner(stderr)
	for d.addr == "" && lines.Scan() {
		var entry struct{ Msg, Address string }
		must(t, json.Unmarshal(lines.Bytes(), &entry))
		if entry.Msg == "serving" {
			d.addr = entry.Address
		}
	}
	own := d.own(t, "")
	must(t, own.next())
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	began := time.Now()
	for err = nil; err == nil; err = own.next() {
	}
	var closed *websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != websocket.CloseGoingAway {
		t.Errorf("stream ended with %v", err)
	}
	for lines.Scan() { // until the process closes it
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("countd ended with %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("stop took %v", took)
	}
}
