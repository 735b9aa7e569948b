package api

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/countd/countd/pkg/counts"
)

// TestHealthAnswersAsKubernetesComponentsDo; see healthz.go of k8s.io/apiserver.
func TestHealthAnswersAsKubernetesComponentsDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newUnsettled(t, counts.Options{})
		check := func(path string, code int, lines ...string) {
			t.Helper()
			response, got := f.get(path)
			same(t, path, strings.Split(got, "\n"), lines...)
			if response.StatusCode != code || response.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s gives %s, %v", path, response.Status, response.Header)
			}
		}
		const ok, failed = http.StatusOK, http.StatusInternalServerError
		f.setStatus(
			counts.Status{Resource: pods, Phase: counts.Syncing, Read: 1200},
			counts.Status{Resource: nodes, Phase: counts.Ready, Read: 3},
			counts.Status{Resource: counts.Resource{Name: "gadgets"}, Phase: counts.Excluded},
			counts.Status{Resource: widgets, Phase: counts.Failing},
		)
		reason := "resources are still being counted for the first time: 1 of 3 are ready, 1200 objects of the others are read"
		pending := []string{"[!]resource pods syncing, 1200 read", "[!]resource widgets.example.com failing"}
		check("/healthz", ok, "ok")
		check("/livez", ok, "ok")
		check("/livez?verbose", ok, "[+]ping ok", "livez check passed", "")
		check("/livez/ping", ok, "ok")
		check("/readyz", failed, "[+]ping ok", "[-]settled failed: "+reason, "[+]shutdown ok", pending[0], pending[1], "readyz check failed", "")
		check("/readyz/settled", failed, "internal server error: "+reason, "")
		check("/readyz?exclude=settled", ok, "ok")
		check("/readyz?exclude=settled&exclude=nonesuch&verbose", ok, "[+]ping ok", "[+]settled excluded: ok", "[+]shutdown ok", `warn: some health checks cannot be excluded: no matches for ["nonesuch"]`, pending[0], pending[1], "readyz check passed", "")
		f.settle()
		check("/readyz", ok, "ok")
		check("/readyz/settled", ok, "ok")
		f.setStatus(
			counts.Status{Resource: pods, Phase: counts.Ready},
			counts.Status{Resource: nodes, Phase: counts.Excluded},
			counts.Status{Resource: widgets, Phase: counts.Failing, Message: "two\nlines"},
		)
		check("/readyz?verbose", ok, "[+]ping ok", "[+]settled ok", "[+]shutdown ok", "[!]resource widgets.example.com failing: two lines", "readyz check passed", "")
		if response, _ := f.get("/readyz/nonesuch"); response.StatusCode != http.StatusNotFound {
			t.Errorf("a check that there is not gives %s", response.Status)
		}
	})
}
