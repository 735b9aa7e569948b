package api

import (
	"compress/gzip"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/countd/countd/pkg/counts"
)

// serveCounts answers GET /api/v1/counts with the newest snapshot.
func (s *Server) serveCounts(w http.ResponseWriter, r *http.Request) {
	q, err := s.ofQuery(r.URL.Query(), paramResources, paramNamespaces)
	if err == nil {
		err = s.unknown(q.selector.Resources, false)
	}
	if err != nil {
		s.refuse(w, err)
		return
	}
	now := s.options.Counter.Snapshot()
	tag := entityTag(now, q.selector)
	w.Header().Set("ETag", tag)
	if matches(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.writeJSON(w, r, snapshotFrame(now.Select(q.selector)).data())
}

// entityTag names a part of a snapshot. It is weak, because the same part may be
// sent compressed or not.
func entityTag(s *counts.Snapshot, sel counts.Selector) string {
	tag := fmt.Sprintf(`W/"%s.%d`, s.Epoch(), s.Seq())
	if sel.Resources != nil || sel.Namespaces != nil {
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%q %q", sel.Resources, sel.Namespaces) // a hash takes all
		tag += "." + strconv.FormatUint(h.Sum64(), 36)
	}
	return tag + `"`
}

// matches compares as RFC 9110, 13.1.2 has it: weakly.
func matches(ifNoneMatch, tag string) bool {
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// resources is the answer of /api/v1/resources.
type resources struct {
	Type string `json:"type"`
	// Settled says that of each resource it is known whether it is counted.
	Settled   bool                `json:"settled"`
	Resources map[string]resource `json:"resources"`
}

// resource says whether one resource is counted, and if not, why not.
type resource struct {
	Kind       string       `json:"kind"`
	Version    string       `json:"version"`
	Namespaced bool         `json:"namespaced"`
	Phase      counts.Phase `json:"phase"`
	Since      time.Time    `json:"since,omitzero"`
	// Counted says that /api/v1/counts has a number, which in any phase but
	// ready may be stale.
	Counted  bool   `json:"counted"`
	Read     int    `json:"read,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	Note     string `json:"note,omitempty"`
	Rounds   uint64 `json:"rounds"`
	Restarts uint64 `json:"restarts"`
	Errors   uint64 `json:"errors"`
}

// serveResources answers GET /api/v1/resources.
func (s *Server) serveResources(w http.ResponseWriter, r *http.Request) {
	if _, err := s.ofQuery(r.URL.Query()); err != nil {
		s.refuse(w, err)
		return
	}
	answer := resources{Type: "resources", Settled: s.settled(), Resources: make(map[string]resource)}
	for _, status := range s.options.Status() {
		answer.Resources[status.Resource.Key()] = resource{
			Kind: status.Resource.Kind, Version: status.Resource.Version, Namespaced: status.Resource.Namespaced,
			Phase: status.Phase, Since: status.Since.UTC(), Counted: status.Counted, Read: status.Read,
			Reason: status.Reason, Message: status.Message, Note: status.Note,
			Rounds: status.Rounds, Restarts: status.Restarts, Errors: status.Errors,
		}
	}
	s.writeJSON(w, r, mustMarshal(answer))
}

// smallest is the least number of bytes that are worth compressing: they fit in
// one packet.
const smallest = 1400

// writeJSON answers with JSON, compressed where the client can take that.
func (s *Server) writeJSON(w http.ResponseWriter, r *http.Request, body []byte) {
	body = append(body, '\n')
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Add("Vary", "Accept-Encoding")
	// A client that goes away meanwhile is not to be told.
	if len(body) < smallest || !accepts(r.Header, "Accept-Encoding", "gzip") {
		header.Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
		return
	}
	header.Set("Content-Encoding", "gzip")
	z, ok := s.compressors.Get().(*gzip.Writer)
	if !ok {
		z, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that exists
	}
	defer s.compressors.Put(z)
	z.Reset(w)
	_, _ = z.Write(body)
	_ = z.Close()
}
