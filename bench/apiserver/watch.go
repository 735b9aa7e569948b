package apiserver

import (
	"context"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bookmarkEvery is how often a real API server sends bookmarks.
const bookmarkEvery = time.Minute

// serveWatch sends all changes since a version, and before them all objects where
// a streaming list is asked for; then bookmarks until the client leaves, its time is
// over, or a break ends it.
func (q request) serveWatch(w http.ResponseWriter, r *http.Request) {
	start, initial, err := q.begin()
	if err != nil && !apierrors.IsResourceExpired(err) {
		q.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", q.streamType())
	out := newWriter(w)
	if err != nil { // which a real one says in the stream, too
		q.sendError(out, err)
		return
	}
	if initial && !q.sendInitial(out, start) {
		return
	}
	if !q.awaitRelease(r.Context(), out) {
		return
	}
	end := q.era.base
	newer := q.newer()
	if end.done = q.events(); !q.sendChanges(out, start, end) {
		return
	}
	var seconds int64
	if q.TimeoutSeconds != nil {
		seconds = *q.TimeoutSeconds
	}
	over := time.NewTimer(max(time.Duration(seconds)*time.Second, bookmarkEvery))
	defer over.Stop()
	bookmarks := time.NewTicker(bookmarkEvery)
	defer bookmarks.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-over.C:
			return
		case <-newer:
			start = end
			newer = q.newer() // before it is looked how many there are
			if end.done = q.events(); !q.sendChanges(out, start, end) {
				return
			}
		case <-q.era.ended:
			q.sendError(out, apierrors.NewResourceExpired("too old resource version"))
			return
		case <-bookmarks.C:
			if q.AllowWatchBookmarks && !q.sendBookmark(out, end, false) {
				return
			}
		}
	}
}

// begin returns the moment from which a watch goes on, and whether it begins with all
// objects of that moment.
func (q request) begin() (start moment, initial bool, err error) {
	if q.SendInitialEvents != nil {
		initial = *q.SendInitialEvents
	} else {
		initial = q.ResourceVersion == "" || q.ResourceVersion == "0"
	}
	if initial {
		start, err = q.notOlderThan(q.ResourceVersion)
		return start, true, err
	}
	version, err := strconv.Atoi(q.ResourceVersion)
	if err != nil {
		return start, false, apierrors.NewBadRequest("resourceVersion: " + err.Error())
	}
	start, tooOld, tooLarge := q.moment(q.era, version)
	if tooOld {
		return start, false, apierrors.NewResourceExpired("too old resource version: " + q.ResourceVersion)
	}
	if tooLarge {
		start.done = q.events()
	}
	return start, false, nil
}

// sendInitial sends all objects of a moment, and the bookmark that ends them where the
// client has asked for it.
func (q request) sendInitial(out *writer, m moment) bool {
	templates := q.templates[q.encoding]
	var v values
	for i := q.from(m); i < q.to(m); i++ {
		o := q.at(m, i)
		v.set(o)
		out.b = templates[templateOf(q.options.Kind, o)].events[added].append(out.b, &v)
		if !out.ready() {
			return false
		}
	}
	if q.SendInitialEvents == nil || !q.AllowWatchBookmarks {
		return out.flush()
	}
	return q.sendBookmark(out, m, true)
}

// awaitRelease waits until changes may be sent, and reports whether the client is there.
func (q request) awaitRelease(ctx context.Context, out *writer) bool {
	select {
	case <-q.released:
		return true
	default:
	}
	if !out.flush() { // the client learns that its watch has begun
		return false
	}
	select {
	case <-q.released:
		return true
	case <-ctx.Done():
		return false
	}
}

func (q request) sendChanges(out *writer, start, end moment) bool {
	templates := q.templates[q.encoding]
	var v values
	for i := start.done; i < end.done; i++ {
		kind, o := q.change(i)
		v.set(o)
		out.b = templates[templateOf(q.options.Kind, o)].events[kind].append(out.b, &v)
		if !out.ready() {
			return false
		}
	}
	return out.flush()
}

func (q request) sendBookmark(out *writer, m moment, endsList bool) bool {
	mark := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: q.options.Kind, APIVersion: q.apiVersion}}
	if q.metadata {
		mark.TypeMeta = partial(mark).TypeMeta
	}
	mark.ResourceVersion = strconv.Itoa(q.version(m))
	if endsList {
		mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	// Metadata is the first field of every kind: no other object is needed.
	event, err := q.event("BOOKMARK", mark)
	out.b = append(out.b, event...)
	return err == nil && out.flush()
}

func (q request) sendError(out *writer, err error) {
	s := statusOf(err)
	s.Kind, s.APIVersion = "Status", "v1"
	if event, err := q.event("ERROR", &s); err == nil {
		out.b = append(out.b, event...)
		out.flush()
	}
}

// writer gathers bytes and writes them in large pieces.
type writer struct {
	w    http.ResponseWriter
	b    []byte
	gone bool
}

const pieceSize = 64 << 10

func newWriter(w http.ResponseWriter) *writer {
	return &writer{w: w, b: make([]byte, 0, pieceSize+16<<10)}
}

// ready writes a full piece and reports whether the client is there.
func (w *writer) ready() bool {
	if len(w.b) < pieceSize {
		return !w.gone
	}
	return w.flush()
}

func (w *writer) flush() bool {
	if _, err := w.w.Write(w.b); err != nil {
		w.gone = true
		return false
	}
	w.b = w.b[:0]
	w.gone = http.NewResponseController(w.w).Flush() != nil
	return !w.gone
}
