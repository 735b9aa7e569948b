package state

import (
	"strings"
	"unicode"
)

// failureWords are words of a reason, alone or two in a row, which say that something
// failed. They are taken from the reasons of kubelets, Flux, cert-manager, Crossplane,
// Knative and OLM. What may as well be said while things fall into place is not among them:
// NotFound, DoesNotExist, Missing, Unavailable, Unreachable, Conflict, NotReady.
var failureWords = map[string]bool{
	"aborted":       true,
	"backoff":       true,
	"bad":           true,
	"crash":         true,
	"crashed":       true,
	"degraded":      true,
	"denied":        true,
	"err":           true,
	"error":         true,
	"errored":       true,
	"errors":        true,
	"evicted":       true,
	"exceeded":      true,
	"exhausted":     true,
	"expired":       true,
	"fail":          true,
	"failed":        true,
	"failing":       true,
	"fails":         true,
	"failure":       true,
	"failures":      true,
	"fatal":         true,
	"forbidden":     true,
	"invalid":       true,
	"killed":        true,
	"malformed":     true,
	"misconfigured": true,
	"notallowed":    true,
	"notpermitted":  true,
	"notsupported":  true,
	"panic":         true,
	"refused":       true,
	"rejected":      true,
	"stalled":       true,
	"timedout":      true,
	"timeout":       true,
	"unauthorized":  true,
	"unschedulable": true,
	"unsupported":   true,
}

// negations before such a word take it back: NoErrors.
var negations = map[string]bool{
	"no":      true,
	"non":     true,
	"not":     true,
	"without": true,
}

// purposes are words of a reason which say that somebody wants an object to rest, with
// the word for its state.
var purposes = map[string]string{
	"completed": "completed",
	"disabled":  "disabled",
	"paused":    "paused",
	"suspended": "suspended",
}

// saysFailure says whether a reason (or a phase) says that something failed.
func saysFailure(reason string) bool {
	before := ""
	for _, word := range words(reason) {
		if failureWords[before+word] || failureWords[word] && !negations[before] {
			return true
		}
		before = word
	}
	return false
}

// onPurpose returns the state of an object that rests because somebody wants it so,
// if that is what a reason says.
func onPurpose(reason string) string {
	before := ""
	for _, word := range words(reason) {
		if state := purposes[word]; state != "" && !negations[before] {
			return state
		}
		before = word
	}
	return ""
}

// words splits a reason into its words, in lower case: OOMKilled, failed_to_pull. It goes
// by words because Deferred has an "err" in it and Failover a "fail".
func words(reason string) (words []string) {
	r := []rune(reason)
	start := 0
	end := func(at int) {
		if at > start {
			words = append(words, strings.ToLower(string(r[start:at])))
		}
		start = at
	}
	for i := range r {
		switch {
		case !unicode.IsLetter(r[i]):
			end(i)
			start = i + 1
		case unicode.IsUpper(r[i]) && i > 0 && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])):
			end(i)
		}
	}
	end(len(r))
	return words
}
