package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// refusal is an answer that says no: an HTTP status and a message of a stream
// alike, with Kubernetes' words for its reason.
type refusal struct {
	Type    string `json:"type"`
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: %s", r.Reason, r.Message) }

func refuse(code int, reason, format string, args ...any) *refusal {
	return &refusal{Type: "error", Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, "BadRequest", format, args...)
}

func forbidden(format string, args ...any) *refusal {
	return refuse(http.StatusForbidden, "Forbidden", format, args...)
}

func notFound(r *http.Request) *refusal {
	return refuse(http.StatusNotFound, "NotFound", "nothing is served at %.80q", r.URL.Path)
}

func tooMany(format string, args ...any) *refusal {
	return refuse(http.StatusTooManyRequests, "TooManyRequests", format, args...)
}

func unavailable(format string, args ...any) *refusal {
	return refuse(http.StatusServiceUnavailable, "ServiceUnavailable", format, args...)
}

// frame returns the refusal as a message of a stream.
func (r *refusal) frame() *frame { return newFrame(mustMarshal(r)) }

// refuse answers a request with a refusal; an error that is none is a fault of
// the server.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	var r *refusal
	if !errors.As(err, &r) {
		r = refuse(http.StatusInternalServerError, "InternalError", "%s", err)
	}
	s.instruments.refused.WithLabelValues(r.Reason).Inc()
	if r.Code == http.StatusServiceUnavailable || r.Code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.Code)
	_, _ = w.Write(append(mustMarshal(r), '\n')) // who is refused may be gone
}

// mustMarshal marshals a value of this package, whose types all can be.
func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("api: marshalling %T: %v", v, err))
	}
	return b
}
