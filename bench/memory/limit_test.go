package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long it is waited for what must come.
const patience = 2 * time.Minute

// TestCountdWithinALimit: with 200,000 objects countd runs in a memory limit of 64 MiB
// without coming close to it, and in one that is too small it says so, in the log and
// in a metric, and counts all the same.
func TestCountdWithinALimit(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs whole programs")
	}
	const objects = 200_000
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".", "github.com/countd/countd/cmd/countd")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	kubeconfig := filepath.Join(bin, "kubeconfig")
	server := exec.CommandContext(t.Context(), filepath.Join(bin, "memory"),
		"-serve", "-objects", strconv.Itoa(objects), "-kubeconfig", kubeconfig, "-changes", "0")
	if _, err := server.StdinPipe(); err != nil { // open until the test ends
		t.Fatal(err)
	}
	if line := started(t, server, server.StdoutPipe, "http://"); line == "" {
		t.Fatal("the API server did not start")
	}
	for name, c := range map[string]struct {
		limit string
		near  bool
	}{
		"enough":  {limit: "64MiB"},
		"too few": {limit: "16MiB", near: true},
	} {
		t.Run(name, func(t *testing.T) {
			countd := exec.CommandContext(t.Context(), filepath.Join(bin, "countd"), "--listen=127.0.0.1:0", "--log-format=json")
			countd.Env = append(os.Environ(), "GOMEMLIMIT="+c.limit, "KUBECONFIG="+kubeconfig)
			warned, counting := make(chan struct{}, 1), make(chan struct{})
			var serving struct{ Address string }
			line := started(t, countd, countd.StderrPipe, `"msg":"serving"`, func(line string) {
				switch {
				case strings.Contains(line, `"memory is close to its limit`):
					warned <- struct{}{}
				case strings.Contains(line, `"msg":"counting"`):
					close(counting)
				}
			})
			if err := json.Unmarshal([]byte(line), &serving); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			url := "http://" + serving.Address
			if c.near {
				select {
				case <-warned:
				case <-time.After(patience):
					t.Error("nothing was logged close to the limit")
				}
			}
			select {
			case <-counting:
			case <-time.After(patience):
				t.Fatal("not ready: " + get(t, url+"/readyz?verbose"))
			}
			var counts struct {
				Resources map[string]struct{ Summary struct{ Count int } }
			}
			if err := json.Unmarshal([]byte(get(t, url+"/api/v1/counts?resources=pods")), &counts); err != nil {
				t.Fatal(err)
			}
			if n := counts.Resources["pods"].Summary.Count; n != objects {
				t.Errorf("%d pods, want %d", n, objects)
			}
			told := get(t, url+"/metrics")
			used, limit := metric(t, told, "countd_memory_used_bytes"), metric(t, told, "countd_memory_limit_bytes")
			t.Logf("%.1f MiB used with a limit of %.0f", used/(1<<20), limit/(1<<20))
			if near := used > 0.8*limit; near != c.near {
				t.Errorf("%.0f bytes used with a limit of %.0f", used, limit)
			}
			select {
			case <-warned:
				t.Error("it was logged (again) that the limit is close")
			default:
			}
		})
	}
}

// started starts a process that ends with the test, and returns the first line of an
// output that has a text in it. Each line goes to also.
func started(t *testing.T, cmd *exec.Cmd, output func() (io.ReadCloser, error), text string, also ...func(line string)) string {
	t.Helper()
	out, err := output()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found, read := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			for _, f := range also {
				f(lines.Text())
			}
			if strings.Contains(lines.Text(), text) {
				select {
				case found <- lines.Text():
				default: // it was there already
				}
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait() // fails, because it was killed
	})
	select {
	case line := <-found:
		return line
	case <-read:
		t.Fatal("the process has ended")
	case <-time.After(patience):
		t.Fatalf("no line with %q", text)
	}
	return ""
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func metric(t *testing.T, told, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(told)
	if found == nil {
		t.Fatalf("no metric %s", name)
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
