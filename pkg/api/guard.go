package api

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// guard stands before all routes. A web page must not read counts through the
// browser of somebody on this machine: a page whose name was pointed at
// 127.0.0.1 (DNS rebinding) is known by the Host that it calls, and any other
// page by its Origin, which a browser sends with websockets and with whatever a
// script reads across origins.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-cache") // kept, but asked for again
		if !s.mayCall(r.Host) {
			s.refuse(w, forbidden("host %.80q is not a name of this machine: call countd as localhost or by a loopback address", r.Host))
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && !sameHost(origin, r.Host) {
			s.refuse(w, forbidden("origin %.80q is not that of the host called, %.80q", origin, r.Host))
			return
		}
		if r.ContentLength != 0 {
			// It is not read, and net/http waits for it no longer than for a header.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.options.HandshakeTimeout))
			s.refuse(w, badRequest("requests have no body here"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) mayCall(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return localName(host) || slices.ContainsFunc(s.options.Hosts, func(name string) bool {
		return strings.EqualFold(name, host)
	})
}

// sameHost compares without the scheme, which one server cannot have two of at
// one host and port. The origin "null" of a sandboxed page has no host.
func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// get lets through what only reads, and answers anything else with 405.
func (s *Server) get(next http.HandlerFunc) http.Handler {
	return s.only(next, http.MethodGet, http.MethodHead)
}

func (s *Server) only(next http.HandlerFunc, methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(methods, r.Method) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			s.refuse(w, refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "%s is not allowed here, only %s", r.Method, strings.Join(methods, " and ")))
			return
		}
		next(w, r)
	})
}

// accepts says whether a header such as Accept lists a value and does not rule
// it out with q=0.
func accepts(header http.Header, name, value string) bool {
	for _, line := range header.Values(name) {
		for element := range strings.SplitSeq(line, ",") {
			token, parameters, _ := strings.Cut(element, ";")
			if strings.EqualFold(strings.TrimSpace(token), value) {
				q := strings.ReplaceAll(parameters, " ", "")
				return strings.Trim(strings.TrimPrefix(q, "q="), "0.") != "" || !strings.HasPrefix(q, "q=")
			}
		}
	}
	return false
}
