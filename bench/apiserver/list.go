package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// collection serves the objects of one kind. It is immutable.
type collection struct {
	history
	eras       *eras
	apiVersion string
	streams    bool            // streaming lists are served
	released   <-chan struct{} // closed once changes may be sent
	templates  map[encoding][]template
}

// encode makes the templates.
func (r *collection) encodeAll() error {
	r.templates = make(map[encoding][]template)
	if r.options.Objects == 0 {
		return nil
	}
	for _, e := range []encoding{{}, {protobuf: true}, {metadata: true}, {protobuf: true, metadata: true}} {
		var err error
		if r.templates[e], err = e.encode(r.options.Kind); err != nil {
			return err
		}
	}
	return nil
}

// request is one request for a resource.
type request struct {
	*collection
	internalversion.ListOptions
	encoding
	era era
}

// ServeHTTP answers a LIST or a WATCH.
func (r *collection) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	q := request{collection: r, era: r.eras.get()}
	if err := metainternalversion.ParameterCodec.DecodeParameters(req.URL.Query(), metav1.SchemeGroupVersion, &q.ListOptions); err != nil {
		q.refuse(w, apierrors.NewBadRequest(err.Error()).Status())
		return
	}
	as := "PartialObjectMetadataList"
	if q.Watch {
		as = "PartialObjectMetadata"
	}
	var ok bool
	if q.encoding, ok = negotiate(req.Header.Get("Accept"), as); !ok {
		encoding{}.refuse(w, metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
			Message: "only JSON and protobuf are served, whole or as " + as,
		})
		return
	}
	if errs := validation.ValidateListOptions(&q.ListOptions, r.streams); len(errs) > 0 {
		q.refuse(w, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs).Status())
		return
	}
	if q.Watch {
		q.serveWatch(w, req)
	} else {
		q.serveList(w)
	}
}

// notOlderThan returns the moment of an answer that may be of a version or newer.
func (q request) notOlderThan(version string) (moment, error) {
	if version == "" || version == "0" {
		return q.era.base, nil
	}
	n, err := strconv.Atoi(version)
	if err != nil {
		return moment{}, apierrors.NewBadRequest("resourceVersion: " + err.Error())
	}
	m, tooOld, tooLarge := q.moment(q.era, n)
	switch {
	case tooOld:
		return q.era.base, nil
	case tooLarge:
		err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d", n), 1)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
		return moment{}, err
	}
	return m, nil
}

// exactly returns the moment of a version, or 410.
func (q request) exactly(version int) (moment, error) {
	m, tooOld, tooLarge := q.moment(q.era, version)
	if tooOld || tooLarge {
		return m, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, q.version(q.era.base)))
	}
	return m, nil
}

// page returns the moment that a list is of and the numbers of its objects.
func (q request) page() (m moment, from, to int, err error) {
	limit := int(q.Limit)
	exact := q.ResourceVersionMatch == metav1.ResourceVersionMatchExact
	switch version := q.ResourceVersion; {
	case q.Continue != "":
		var of int
		if _, err := fmt.Sscanf(q.Continue, "%d-%d", &of, &from); err != nil {
			return m, 0, 0, apierrors.NewBadRequest("continue: " + err.Error())
		}
		if m, err = q.exactly(of); err != nil {
			return m, 0, 0, err
		}
		from = max(from, q.from(m))
	case version == "0":
		limit = 0 // the watch cache knows no pages
		m = q.era.base
		from = q.from(m)
	default:
		// With a limit and no match, a version means exactly this one.
		if exact || version != "" && limit > 0 && q.ResourceVersionMatch == "" {
			var n int
			if n, err = strconv.Atoi(version); err == nil {
				m, err = q.exactly(n)
			}
		} else {
			m, err = q.notOlderThan(version)
		}
		from = q.from(m)
	}
	to = q.to(m)
	if limit > 0 {
		to = min(to, from+limit)
	}
	return m, from, to, err
}

// serveList answers with one page.
func (q request) serveList(w http.ResponseWriter) {
	m, from, to, err := q.page()
	if err != nil {
		q.fail(w, err)
		return
	}
	list := metav1.ListMeta{ResourceVersion: strconv.Itoa(q.version(m))}
	if left := int64(q.to(m) - to); left > 0 {
		list.Continue, list.RemainingItemCount = fmt.Sprintf("%d-%d", q.version(m), to), &left
	}
	kind, version := q.options.Kind+"List", q.apiVersion
	if q.metadata {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	templates, size := q.templates[q.encoding], 0
	for i := from; q.protobuf && i < to; i++ {
		size += len(templates[templateOf(q.options.Kind, q.at(m, i))].item.text)
	}
	out := newWriter(w)
	if out.b, err = q.appendHead(out.b, kind, version, list, size); err != nil {
		q.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", q.contentType())
	var v values
	for i := from; i < to; i++ {
		if i > from && !q.protobuf {
			out.b = append(out.b, ',')
		}
		o := q.at(m, i)
		v.set(o)
		out.b = templates[templateOf(q.options.Kind, o)].item.append(out.b, &v)
		if !out.ready() {
			return
		}
	}
	out.b = q.appendTail(out.b)
	out.flush()
}

func (q request) fail(w http.ResponseWriter, err error) {
	q.refuse(w, statusOf(err))
}

func statusOf(err error) metav1.Status {
	if s := apierrors.APIStatus(nil); errors.As(err, &s) {
		return s.Status()
	}
	return apierrors.NewBadRequest(err.Error()).Status()
}
