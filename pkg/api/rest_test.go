package api

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/countd/countd/pkg/counts"
)

// direct asks a handler without a connection.
func direct(h http.Handler, target string, header ...string) (code int, body string) {
	w := directly(h, target, header...)
	return w.Code, w.Body.String()
}

func directly(h http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = "localhost"
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestCountsAreTheSnapshot(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		f.source(nodes)
		f.source(deployments)
		p.put("a", "x")
		all := `"deployments.apps":{"kind":"Deployment","version":"v1","namespaced":true,"summary":{},"namespaces":{}},"nodes":{"kind":"Node","version":"v1","namespaced":false,"summary":{}},"pods":` + podsOne
		for query, want := range map[string]string{
			"":                                   all,
			"?resources=pods":                    `"pods":` + podsOne,
			"?resources=pods,nodes&namespaces=a": `"pods":` + podsOne,
			"?resources=pods&resources=%20pods":  `"pods":` + podsOne,
			"?resources=nodes":                   `"nodes":{"kind":"Node","version":"v1","namespaced":false,"summary":{}}`,
			"?resources=pods&namespaces=b,c":     `"pods":{"kind":"Pod","version":"v1","namespaced":true,"summary":{},"namespaces":{}}`,
		} {
			response, got := f.get("/api/v1/counts" + query)
			same(t, query, []string{got}, snapshotOf(4, want)+"\n")
			if kind := response.Header.Get("Content-Type"); kind != "application/json" {
				t.Errorf("%s is %s", query, kind)
			}
		}
	})
}

func TestCountsThatDidNotChangeAreNotSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		response, _ := f.get("/api/v1/counts")
		tag := response.Header.Get("ETag")
		if tag != `W/"k3x9.1"` {
			t.Errorf("tag is %s", tag)
		}
		for _, header := range []string{tag, `"k3x9.1"`, `"x", ` + tag, "*"} {
			response, body := f.get("/api/v1/counts", "If-None-Match", header)
			if response.StatusCode != http.StatusNotModified || body != "" || response.Header.Get("ETag") != tag {
				t.Errorf("%s gives %s %q", header, response.Status, body)
			}
		}
		for _, path := range []string{"/api/v1/counts?resources=pods", "/api/v1/counts?namespaces=pods"} {
			if response, _ := f.get(path, "If-None-Match", tag); response.StatusCode != http.StatusOK {
				t.Errorf("%s has the tag of the whole", path)
			}
		}
		one, _ := f.get("/api/v1/counts?namespaces=a,b&resources=pods")
		two, _ := f.get("/api/v1/counts?resources=pods&namespaces=b&namespaces=a")
		if one.Header.Get("ETag") != two.Header.Get("ETag") {
			t.Error("the same part has two tags")
		}
		p.put("a", "x")
		if response, _ := f.get("/api/v1/counts", "If-None-Match", tag); response.StatusCode != http.StatusOK {
			t.Errorf("changed counts give %s", response.Status)
		}
	})
}

func TestWrongQueriesAreRefusedWithHelp(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		f.source(deployments)
		f.setStatus(counts.Status{Resource: counts.Resource{Version: "v1", Name: "secrets", Kind: "Secret"}, Phase: counts.Forbidden})
		for path, want := range map[string]string{
			"/api/v1/counts?resource=pods":                 `unknown parameter \"resource\"; did you mean resources?`,
			"/api/v1/counts?since=1":                       `unknown parameter \"since\"`,
			"/api/v1/counts?resources=":                    `resources names none: leave it out to get all`,
			"/api/v1/counts?resources=pod":                 `resource \"pod\" is not served by this cluster; did you mean pods?`,
			"/api/v1/counts?resources=secret":              `resource \"secret\" is not served by this cluster; did you mean secrets?`,
			"/api/v1/counts?resources=deployments":         `resource \"deployments\" is not served by this cluster; did you mean deployments.apps?`,
			"/api/v1/counts?resources=zzz":                 `resource \"zzz\" is not served by this cluster`,
			"/api/v1/counts?resources=widgets.example.com": `resource \"widgets.example.com\" is not served by this cluster; /api/v1/watch waits for it to be installed`,
			"/api/v1/counts?resources=Pods":                `resources has \"Pods\", which is not a name: want lower-case letters, digits, '-' and '.', at most 253`,
			"/api/v1/counts?namespaces=a%0d%0ax":           `namespaces has \"a\\r\\nx\", which is not a name: want lower-case letters, digits, '-' and '.', at most 253`,
			"/api/v1/watch?resources=deploymnts.apps":      `resource \"deploymnts.apps\" is not served by this cluster; did you mean deployments.apps?`,
			"/api/v1/watch?debounceMs=fast":                `parameter \"debounceMs\" is \"fast\", want a whole number`,
			"/api/v1/watch?debounceMs=50&debounceMs=60":    `parameter \"debounceMs\" is given 2 times`,
			"/api/v1/watch?debounceMs=60001":               `debounceMs is 60001, want 50 to 60000`,
			"/api/v1/watch?epoch=k3x9&since=-1":            `parameter \"since\" is \"-1\", want a whole number`,
			"/api/v1/watch?since=1":                        `epoch and since belong together: they say which state is held`,
			"/api/v1/resources?resources=pods":             `unknown parameter \"resources\"`,
		} {
			response, got := f.get(path)
			same(t, path, []string{got}, `{"type":"error","code":400,"reason":"BadRequest","message":"`+want+`"}`+"\n")
			if response.StatusCode != http.StatusBadRequest {
				t.Errorf("%s gives %s", path, response.Status)
			}
		}
		if response, body := f.get("/api/v1/counts?resources=secrets"); response.StatusCode != http.StatusOK {
			t.Errorf("a resource that is known and not counted gives %s", body)
		}
	})
}

func TestNoNameIsWrongBeforeAllAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newUnsettled(t, counts.Options{Epoch: "k3x9"})
		_, got := f.get("/api/v1/counts?resources=pods")
		same(t, "early", []string{got}, snapshotOf(0, "")+"\n")
	})
}

// TestC26FourAnswers: not allowed, not read yet, failing and really 0.
func TestC26FourAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newUnsettled(t, counts.Options{Epoch: "k3x9"})
		f.source(pods)
		since := time.Date(2026, 12, 1, 4, 5, 6, 0, time.FixedZone("", 3600))
		f.setStatus(
			counts.Status{Resource: pods, Phase: counts.Ready, Since: since, Counted: true, Rounds: 1},
			counts.Status{Resource: nodes, Phase: counts.Forbidden, Since: since, Reason: "Forbidden", Message: `nodes is forbidden: User "x" cannot list`, Errors: 3},
			counts.Status{Resource: widgets, Phase: counts.Syncing, Since: since, Read: 500, Note: "read in pages"},
			counts.Status{Resource: deployments, Phase: counts.Failing, Since: since, Counted: true, Reason: "Timeout", Message: "no answer", Rounds: 2, Restarts: 5, Errors: 7},
		)
		rows := []string{
			`"deployments.apps":{"kind":"Deployment","version":"v1","namespaced":true,"phase":"failing","since":"2026-12-01T03:05:06Z","counted":true,"reason":"Timeout","message":"no answer","rounds":2,"restarts":5,"errors":7}`,
			`"nodes":{"kind":"Node","version":"v1","namespaced":false,"phase":"forbidden","since":"2026-12-01T03:05:06Z","counted":false,"reason":"Forbidden","message":"nodes is forbidden: User \"x\" cannot list","rounds":0,"restarts":0,"errors":3}`,
			`"pods":{"kind":"Pod","version":"v1","namespaced":true,"phase":"ready","since":"2026-12-01T03:05:06Z","counted":true,"rounds":1,"restarts":0,"errors":0}`,
			`"widgets.example.com":{"kind":"Widget","version":"v1","namespaced":true,"phase":"syncing","since":"2026-12-01T03:05:06Z","counted":false,"read":500,"note":"read in pages","rounds":0,"restarts":0,"errors":0}`,
		}
		_, got := f.get("/api/v1/resources")
		same(t, "resources", []string{got}, `{"type":"resources","settled":false,"resources":{`+strings.Join(rows, ",")+"}}\n")
		_, got = f.get("/api/v1/counts")
		same(t, "counts", []string{got}, snapshotOf(1, `"pods":{"kind":"Pod","version":"v1","namespaced":true,"summary":{},"namespaces":{}}`)+"\n")
		response, got := f.get("/readyz")
		same(t, "readyz", strings.Split(got, "\n"),
			"[+]ping ok",
			"[-]settled failed: resources are still being counted for the first time: 1 of 4 are ready, 500 objects of the others are read",
			"[+]shutdown ok",
			`[!]resource nodes forbidden: Forbidden: nodes is forbidden: User "x" cannot list`,
			"[!]resource widgets.example.com syncing, 500 read",
			"[!]resource deployments.apps failing: Timeout: no answer",
			"readyz check failed", "")
		if response.StatusCode != http.StatusInternalServerError {
			t.Errorf("readyz gives %s", response.Status)
		}
	})
}

func TestLargeAnswersAreCompressedForWhoAccepts(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		_, small := f.get("/api/v1/counts", "Accept-Encoding", "gzip")
		if !strings.HasPrefix(small, `{"type"`) {
			t.Error("a small answer is compressed")
		}
		for i := range 100 {
			p.put(fmt.Sprint("namespace", i), "x")
		}
		_, plain := f.get("/api/v1/counts")
		for range 2 { // the compressor is used again
			response, packed := f.get("/api/v1/counts", "Accept-Encoding", "br, gzip;q=0.5")
			if response.Header.Get("Content-Encoding") != "gzip" || len(packed) > len(plain)/4 {
				t.Errorf("%d bytes of %d, %v", len(packed), len(plain), response.Header)
			}
			z, err := gzip.NewReader(strings.NewReader(packed))
			must(t, err)
			unpacked, err := io.ReadAll(z)
			must(t, err)
			same(t, "unpacked", []string{string(unpacked)}, plain)
		}
		for _, refused := range []string{"gzip;q=0", "gzip; q=0.0", "identity", "gzipped"} {
			if response, _ := f.get("/api/v1/counts", "Accept-Encoding", refused); response.Header.Get("Content-Encoding") != "" {
				t.Errorf("%q was answered compressed", refused)
			}
		}
	})
}

func TestPageIsServedAndNothingElseOfIt(t *testing.T) {
	page := fstest.MapFS{
		"index.html":    {Data: []byte("<title>countd</title>")},
		"assets/app.js": {Data: []byte("live()")},
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(o *Options) { o.Page = page })
		for path, want := range map[string]string{"/": "<title>countd</title>", "/assets/app.js": "live()"} {
			response, got := f.get(path)
			if got != want || !strings.HasPrefix(response.Header.Get("Content-Security-Policy"), "default-src 'self'") {
				t.Errorf("%s is %q with %v", path, got, response.Header)
			}
		}
		for _, path := range []string{"/assets", "/assets/", "/nonesuch", "/v1/pods", "/api/v1/", "/api/v2/counts", "/v1/schemas/", "/assets%2f..%2f..%2fetc/passwd"} {
			response, got := f.get(path)
			if response.StatusCode != http.StatusNotFound || !strings.HasPrefix(got, `{"type":"error","code":404,"reason":"NotFound",`) {
				t.Errorf("%s gives %s %s", path, response.Status, got)
			}
		}
	})
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		for _, path := range []string{"/v1/counts", "/v1/subscribe", "/api/v1/counts", "/api/v1/watch", "/readyz", "/metrics", "/"} {
			for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
				response, got := f.do(method, path)
				if response.StatusCode != http.StatusMethodNotAllowed || !strings.HasPrefix(response.Header.Get("Allow"), "GET") || !strings.Contains(got, `"reason":"MethodNotAllowed"`) {
					t.Errorf("%s %s gives %s %s", method, path, response.Status, got)
				}
			}
		}
		if response, _ := f.do("HEAD", "/api/v1/watch"); response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("HEAD of a stream gives %s", response.Status)
		}
		if response, body := f.do("HEAD", "/api/v1/counts"); response.StatusCode != http.StatusOK || body != "" {
			t.Errorf("HEAD gives %s %q", response.Status, body)
		}
		if response, body := f.get("/v1/subscribe"); response.StatusCode != http.StatusBadRequest || !strings.Contains(body, "is a websocket") {
			t.Errorf("GET of a websocket gives %s %s", response.Status, body)
		}
	})
}

func TestMetricsAreOfTheGivenRegistry(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		f.get("/nonesuch")
		_, got := f.get("/metrics")
		for _, want := range []string{`countd_api_refused_requests_total{reason="NotFound"} 1`} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in %s", want, got)
			}
		}
		if strings.Contains(got, "go_goroutines") {
			t.Error("metrics of the default registry are served")
		}
	})
}

func directlyAs(h http.Handler, host, origin, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = host
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
