package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/countd/countd/internal/decode"
	"github.com/countd/countd/pkg/counts"
)

// sink takes what a feed reads, in the manner of counts.Source.
type sink interface {
	Begin(context.Context) error
	Put(context.Context, counts.Object) error
	Remove(ctx context.Context, namespace, name string) error
	End(context.Context) error
}

var (
	// errStalled: a list has begun and does not go on.
	errStalled = errors.New("the list does not go on")
	// errCut: kubernetes/kubernetes#140890, a streaming list that is ended
	// before it says that it is complete.
	errCut = errors.New("the streaming list was ended before its initial-events-end bookmark")
	// errShort: a watch that is accepted and ended, again and again, is none.
	errShort = errors.New("the watch ended as soon as it had begun")
	// errRights: what was read in parts may be read as a whole, or no part any more.
	errRights = errors.New("the rights to list it have changed")
	// errNoVersions: an API without resourceVersions cannot say what happened
	// since; when a watch of it ends, it is listed again.
	errNoVersions = errors.New("the API has no resourceVersions to go on from")
)

const (
	// A list must bring stallObjects objects in stallTime, or its end. A
	// streaming list that does not is given up for pages: there are servers
	// that accept it and never say that it is complete.
	stallTime    = 15 * time.Second
	stallObjects = 100
	// pageTime is how long one page may take, and pageObjects how many objects
	// it has: fewer when pages take too long, more when they expire before the
	// last is read.
	pageTime    = time.Minute
	pageObjects = 500
	minPage     = 10
	maxPage     = 32_000
	// cutsAllowed streaming lists may be cut short in a row, by a network that
	// does so, before pages are used.
	cutsAllowed = 2
	// stuckAllowed times in a row a server may refuse to go on where the watch
	// ended, in other words than 410, before the resource is listed again.
	stuckAllowed = 3
	// pagesLast is how long pages are used before a relist tries the streaming
	// list again: what spoilt it may have passed.
	pagesLast = 10 * time.Minute
	// maxPause bounds what a Retry-After may ask for.
	maxPause = 5 * time.Minute
	// A watch that has lived this long was a good one: it is taken up again
	// without backing off.
	goodWatch = 900 * time.Millisecond
	// The API server is asked to end a watch after 5 to 10 minutes, as client-go
	// does, so that watches spread over the servers that there are.
	minWatch = 5 * time.Minute
)

// watchFeed is a feed that lists in a stream where the server can and in pages
// otherwise, and then watches. It stands in for client-go's Reflector, which
// holds a whole list before it hands it on (ARCHITECTURE.md has the figures);
// what a Reflector does for its caller is done here: consistent lists, resumed
// watches, bookmarks, both shapes of 410, Retry-After, backoff with jitter.
type watchFeed struct {
	reader *reader
	sink   *timed
	report *report
	turns  *turns

	rv         string    // where the watch goes on
	synced     bool      // a round has ended, and rv is good
	pages      bool      // the streaming list does not work here
	pagesSince time.Time // when that was found out
	cuts       int       // streaming lists cut short or refused in a row
	stuck      int       // refusals in a row to go on at rv that are no 410
	ends       time.Time // when the watch was asked to end
	good       bool      // the last attempt had a watch that lived for goodWatch
	pageSize   int64     // objects a page

	// refused, unless nil, is asked when reading is forbidden: true ends run, and
	// otherwise why is what is wrong.
	refused func(ctx context.Context, cause error) (elsewhere bool, why error)
}

func newWatchFeed(r *reader, s sink, status *report, t *turns) *watchFeed {
	return &watchFeed{reader: r, sink: newTimed(s), report: status, turns: t, pageSize: pageObjects}
}

func (f *watchFeed) run(ctx context.Context) {
	defer f.sink.stop()
	backoff := newBackoff()
	for ctx.Err() == nil {
		round := !f.synced
		f.good = false
		err := f.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		if f.good {
			backoff = newBackoff()
		}
		listed := err == nil && round && f.pages
		var pause time.Duration
		switch {
		case listed: // now watch
		case err == nil:
			switch {
			case !f.good:
				pause = backoff.Step()
				f.report.failed(errShort)
			case time.Now().Before(f.ends):
				pause = untilReconnect()
			}
		case f.synced && expired(err):
			f.relist(err)
			pause = backoff.Step()
		default:
			if f.good {
				pause = untilReconnect()
			} else {
				pause = backoff.Step()
			}
			pause = f.failed(err, pause)
			// What was read before is not given up at once: an API server that
			// starts forbids for a moment what it does not know to be allowed yet.
			if f.refused != nil && apierrors.IsForbidden(err) && (!f.synced || f.stuck >= stuckAllowed) {
				var elsewhere bool
				if elsewhere, err = f.refused(ctx, err); elsewhere {
					return
				}
			}
			if pause > 0 {
				f.report.failed(err)
			}
		}
		if f.synced && f.rv == "" && !listed {
			f.relist(errNoVersions)
		}
		sleep(ctx, pause)
	}
}

// failed decides what to do after a failure: it returns how long to wait, or zero
// when the next attempt is made in another way.
func (f *watchFeed) failed(err error, pause time.Duration) time.Duration {
	if s, ok := apierrors.SuggestsClientDelay(err); ok {
		pause = min(max(pause, time.Duration(s)*time.Second), maxPause)
	}
	if f.synced {
		if f.stuck++; cannotGoOn(err) && f.stuck >= stuckAllowed {
			f.relist(err)
		}
		return pause
	}
	switch {
	case !f.pages && streamingRefused(err):
		f.usePages("the API server has no streaming lists")
		return 0
	case !f.pages && errors.Is(err, errStalled):
		f.usePages("its streaming list did not end, it is read in pages")
		return 0
	// A timeout: the server's cache, from which it streams, does not fill, because the
	// objects cannot be converted for instance. Its plain list says why.
	case !f.pages && (errors.Is(err, errCut) || cannotGoOn(err) || apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err)):
		if f.cuts++; f.cuts >= cutsAllowed {
			f.usePages("its streaming list was cut short or refused, it is read in pages: " + err.Error())
		}
	case f.pages && errors.Is(err, errStalled):
		f.pageSize = max(f.pageSize/2, minPage)
	}
	return pause
}

// relist makes the next attempt a round.
func (f *watchFeed) relist(why error) {
	f.synced, f.stuck = false, 0
	if f.pages && time.Since(f.pagesSince) >= pagesLast {
		f.pages, f.cuts = false, 0
		f.report.note("")
	}
	f.report.relisting(why)
}

func (f *watchFeed) usePages(why string) {
	f.pages, f.pagesSince = true, time.Now()
	f.report.note(why)
}

// attempt makes one round, or one watch, or a round that goes over into a watch.
func (f *watchFeed) attempt(ctx context.Context) error {
	switch {
	case f.synced:
		return f.watch(ctx)
	case f.pages:
		return f.list(ctx)
	default:
		return f.stream(ctx)
	}
}

// watch goes on where the last watch ended.
func (f *watchFeed) watch(ctx context.Context) error {
	var timeout *int64
	timeout, f.ends = watchTimeout()
	w, err := f.reader.watch(ctx, metav1.ListOptions{
		ResourceVersion:     f.rv,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      timeout,
	})
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	defer w.Stop()
	// A server may accept a watch only to end it with an error: it is said to be
	// followed again when it has lived for a moment.
	good := time.AfterFunc(goodWatch, f.report.resumed)
	defer good.Stop()
	return f.follow(ctx, w)
}

// stream begins with a streaming list and goes over into its watch.
func (f *watchFeed) stream(ctx context.Context) error {
	turn, err := f.turns.take(ctx, f.report)
	if err != nil {
		return err
	}
	defer turn.end()
	listing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(stallTime, func() { cancel(errStalled) })
	defer stall.Stop()

	initial := true
	var timeout *int64
	timeout, f.ends = watchTimeout()
	w, err := f.reader.watch(listing, metav1.ListOptions{
		SendInitialEvents:    &initial,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks:  true,
		TimeoutSeconds:       timeout,
	})
	if err != nil {
		return fmt.Errorf("listing: %w", causeOf(listing, err))
	}
	defer w.Stop()
	if err := f.sink.begin(ctx); err != nil {
		return err
	}
	f.report.reading()
	for n := 1; ; n++ {
		event, ok := <-w.ResultChan()
		if !ok {
			return fmt.Errorf("listing: %w", causeOf(listing, errCut))
		}
		if event.Type == watch.Bookmark {
			done, err := f.bookmark(event)
			if err != nil {
				return err
			}
			if done {
				break
			}
			continue
		}
		if _, err := f.apply(ctx, event); err != nil {
			return fmt.Errorf("listing: %w", causeOf(listing, err))
		}
		if n%stallObjects == 0 {
			f.report.read(n)
			stall.Stop() // waiting for a turn is no stall
			if err := turn.goesOn(ctx); err != nil {
				return err
			}
			stall.Reset(stallTime)
		}
	}
	if !stall.Stop() {
		return errStalled // its end and the alarm came at once
	}
	turn.end()
	if err := f.roundEnded(ctx); err != nil {
		return err
	}
	return f.follow(ctx, w)
}

// list reads all pages.
func (f *watchFeed) list(ctx context.Context) error {
	turn, err := f.turns.take(ctx, f.report)
	if err != nil {
		return err
	}
	defer turn.end()
	if err := f.sink.begin(ctx); err != nil {
		return err
	}
	f.report.reading()
	read := 0
	// Without a resourceVersion the list is consistent, and its pages are of one
	// moment; from 0 the API server would ignore the limit.
	for o := (metav1.ListOptions{Limit: f.pageSize}); ; {
		page, err := f.page(ctx, o)
		if err != nil {
			if expired(err) && o.Continue != "" {
				f.pageSize = min(f.pageSize*4, maxPage)
			}
			return fmt.Errorf("listing: %w", err)
		}
		for _, o := range page.Items {
			if err := f.put(ctx, o); err != nil {
				return err
			}
		}
		read += len(page.Items)
		f.report.read(read)
		f.rv, o.Continue = page.ResourceVersion, page.Continue
		if page.Continue == "" {
			return f.roundEnded(ctx)
		}
		if err := turn.goesOn(ctx); err != nil {
			return err
		}
	}
}

func (f *watchFeed) page(ctx context.Context, o metav1.ListOptions) (*decode.List, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, pageTime, errStalled)
	defer cancel()
	p, err := f.reader.list(ctx, o)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	return p, nil
}

func (f *watchFeed) roundEnded(ctx context.Context) error {
	if err := f.sink.end(ctx); err != nil {
		return err
	}
	f.synced, f.cuts, f.stuck = true, 0, 0
	f.report.ready()
	return nil
}

// follow applies the events of a watch until it ends, which is no error. Only a
// watch that lives makes up for failures before it: not a request that takes long.
func (f *watchFeed) follow(ctx context.Context, w watch.Interface) error {
	began := time.Now()
	defer func() {
		if f.good = time.Since(began) >= goodWatch; f.good {
			f.stuck = 0
		}
	}()
	for event := range w.ResultChan() {
		if event.Type == watch.Bookmark {
			if _, err := f.bookmark(event); err != nil {
				return err
			}
			continue
		}
		rv, err := f.apply(ctx, event)
		if err != nil {
			return fmt.Errorf("watching: %w", err)
		}
		f.rv = rv
	}
	return nil
}

// apply hands one event on and returns the resourceVersion of its object. The
// resourceVersion is opaque: it says where to go on, and is compared with nothing.
func (f *watchFeed) apply(ctx context.Context, event watch.Event) (rv string, err error) {
	switch event.Type {
	case watch.Error:
		return "", apierrors.FromObject(event.Object)
	case watch.Added, watch.Modified, watch.Deleted:
	default:
		return "", fmt.Errorf("event is of the unknown type %q", event.Type)
	}
	o, ok := event.Object.(*decode.Object)
	if !ok {
		return "", fmt.Errorf("event is of a %T", event.Object)
	}
	if event.Type == watch.Deleted {
		return o.ResourceVersion, f.sink.remove(ctx, o.Namespace, o.Name)
	}
	return o.ResourceVersion, f.put(ctx, o)
}

// put counts an object. One whose state cannot be read is counted all the same:
// what somebody has written into one object must not cost the count of the others.
func (f *watchFeed) put(ctx context.Context, o *decode.Object) error {
	if o.Err != nil {
		f.report.odd(fmt.Errorf("state cannot be read: %s/%s: %w", o.Namespace, o.Name, o.Err))
	}
	return f.sink.put(ctx, o)
}

// bookmark takes the resourceVersion of a bookmark and says whether it is the one
// that ends a streaming list.
func (f *watchFeed) bookmark(event watch.Event) (endsList bool, err error) {
	o, ok := event.Object.(*decode.Object)
	if !ok {
		return false, fmt.Errorf("bookmark is a %T", event.Object)
	}
	f.rv = o.ResourceVersion
	return o.EndsList, nil
}
