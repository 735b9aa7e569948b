package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/countd/countd/pkg/counts"
)

// check is one thing that must hold for countd to be alive or ready.
type check struct {
	name string
	run  func() error
}

func (s *Server) livenessChecks() []check {
	return []check{{"ping", func() error { return nil }}}
}

func (s *Server) readinessChecks() []check {
	return []check{
		{"ping", func() error { return nil }},
		{"settled", s.checkSettled},
		{"shutdown", s.checkShutdown},
	}
}

func (s *Server) checkSettled() error {
	if s.settled() {
		return nil
	}
	of, ready, read := 0, 0, 0
	for _, status := range s.options.Status() {
		switch status.Phase {
		case counts.Excluded:
			continue
		case counts.Ready:
			ready++
		case counts.Syncing:
			read += status.Read
		}
		of++
	}
	return fmt.Errorf("resources are still being counted for the first time: %d of %d are ready, %d objects of the others are read", ready, of, read)
}

func (s *Server) checkShutdown() error {
	if s.draining() {
		return errDraining
	}
	return nil
}

// health answers as the health endpoints of Kubernetes' components do (apiserver,
// pkg/server/healthz): "ok", or a line for each check where one has failed or
// the client asks for them with verbose. Which failed and why is no secret yet:
// only this machine can ask.
func (s *Server) health(name string, checks []check, details func() []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		excluded := r.URL.Query()["exclude"]
		var out strings.Builder
		failed := false
		for _, c := range checks {
			err := error(nil)
			note := ""
			if i := slices.Index(excluded, c.name); i >= 0 {
				excluded = slices.DeleteFunc(excluded, func(e string) bool { return e == c.name })
				note = "excluded: "
			} else {
				err = c.run()
			}
			if err != nil {
				failed = true
				_, _ = fmt.Fprintf(&out, "[-]%s failed: %s\n", c.name, err)
			} else {
				_, _ = fmt.Fprintf(&out, "[+]%s %sok\n", c.name, note)
			}
		}
		if len(excluded) > 0 {
			_, _ = fmt.Fprintf(&out, "warn: some health checks cannot be excluded: no matches for %.80q\n", excluded)
		}
		for _, line := range details() {
			out.WriteString(line + "\n")
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if failed {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprintf(w, "%s%s check failed\n", out.String(), name)
			return
		}
		if !r.URL.Query().Has("verbose") {
			_, _ = w.Write([]byte("ok"))
			return
		}
		_, _ = fmt.Fprintf(w, "%s%s check passed\n", out.String(), name)
	}
}

// single answers for one check, as /readyz/settled.
func (s *Server) single(checks []check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(checks, func(c check) bool { return c.name == r.PathValue("check") })
		if i < 0 {
			s.refuse(w, notFound(r))
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := checks[i].run(); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprintf(w, "internal server error: %s\n", err)
			return
		}
		_, _ = w.Write([]byte("ok"))
	}
}

// unready has a line for each resource that is not ready. Such a resource alone
// does not make countd unready: the others are counted without it.
func (s *Server) unready() (lines []string) {
	for _, status := range s.options.Status() {
		if status.Phase == counts.Ready || status.Phase == counts.Excluded {
			continue
		}
		line := fmt.Sprintf("[!]resource %s %s", status.Resource.Key(), status.Phase)
		if status.Phase == counts.Syncing {
			line += fmt.Sprintf(", %d read", status.Read)
		}
		if status.Reason != "" {
			line += ": " + status.Reason
		}
		if status.Message != "" {
			line += ": " + strings.ReplaceAll(status.Message, "\n", " ")
		}
		lines = append(lines, line)
	}
	return lines
}

func noDetails() []string { return nil }
