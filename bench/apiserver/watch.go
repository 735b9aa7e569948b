package apiserver

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	// firstVersion is the resourceVersion of the first moment; each event has
	// the next.
	firstVersion    = 1000
	eventsPerChange = 3
	// bookmarkEvery is how often a real API server sends bookmarks.
	bookmarkEvery = time.Minute
)

// serveWatch sends all changes since a version, and before them all objects where
// a streaming list is asked for; then bookmarks until the client leaves or its
// time is over.
func (l list) serveWatch(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	initial, _ := strconv.ParseBool(query.Get("sendInitialEvents"))
	if initial && l.options.NoStreamingLists {
		refuse(w, http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
		return
	}
	done := 0
	if version, err := strconv.Atoi(query.Get("resourceVersion")); err == nil && version > firstVersion {
		done = version - firstVersion
	}
	w.Header().Set("Content-Type", "application/json")
	out := newWriter(w)
	if initial {
		for i := range l.options.Objects {
			out.b = l.appendEvent(out.b, "ADDED", object{number: i, version: firstVersion})
			if !out.ready() {
				return
			}
		}
		out.b = l.appendBookmark(out.b, firstVersion, true)
		done = 0
	}
	events := l.options.Changes * eventsPerChange
	for ; done < events; done++ {
		kind, o := l.event(done)
		out.b = l.appendEvent(out.b, kind, o)
		if !out.ready() {
			return
		}
	}
	if !out.flush() {
		return
	}
	seconds, _ := strconv.Atoi(query.Get("timeoutSeconds"))
	end := time.NewTimer(max(time.Duration(seconds)*time.Second, bookmarkEvery))
	defer end.Stop()
	bookmarks := time.NewTicker(bookmarkEvery)
	defer bookmarks.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-end.C:
			return
		case <-bookmarks.C:
			out.b = l.appendBookmark(out.b, firstVersion+events, false)
			if !out.flush() {
				return
			}
		}
	}
}

// event is the event with a number from 0.
func (l list) event(number int) (kind string, o object) {
	change, version := number/eventsPerChange, firstVersion+number+1
	switch number % eventsPerChange {
	case 0:
		return "DELETED", object{number: change, version: version}
	case 1:
		return "ADDED", object{number: l.options.Objects + change, version: version}
	default:
		return "MODIFIED", object{number: l.options.Objects/2 + change, version: version, moved: true}
	}
}

func (l list) appendEvent(b []byte, kind string, o object) []byte {
	b = fmt.Appendf(b, `{"type":%q,"object":`, kind)
	b = l.appendObject(b, o)
	return append(b, "}\n"...)
}

func (l list) appendBookmark(b []byte, version int, endsList bool) []byte {
	kind, apiVersion, annotations := l.options.Kind, l.version, ""
	if l.metadata {
		kind, apiVersion = "PartialObjectMetadata", "meta.k8s.io/v1"
	}
	if endsList {
		annotations = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	return fmt.Appendf(b, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d","creationTimestamp":null%s}}}`+"\n", kind, apiVersion, version, annotations)
}
