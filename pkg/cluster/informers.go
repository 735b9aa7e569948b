package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	"github.com/countd/countd/internal/decode"
	"github.com/countd/countd/pkg/counts"
)

// InformerOptions say what to count from which informer.
type InformerOptions struct {
	// Counter is what is counted into. Required.
	Counter *counts.Counter
	// Resource is what the informer's objects are. Required.
	Resource counts.Resource
	// Informer is typed, dynamic or of metadata; it may run already. Required.
	// It is only listened to.
	Informer cache.SharedInformer
	// States says how states are read. Default: [CorrectedStates].
	States StateRules
	// Log takes what could not be counted. Default: nothing is logged.
	Log *slog.Logger
}

// CountInformer counts the objects of an informer that somebody else runs, until
// ctx ends, and then takes their resource out of the counts. It blocks.
//
// An informer hands on a relist one event at a time, deletions first, so its
// counts pass through states that never were; the state that they come to rest in
// is right. A Watcher, which folds a relist in as one step, has no such states.
func CountInformer(ctx context.Context, o InformerOptions) error {
	if o.Counter == nil || o.Informer == nil {
		return errors.New("cluster: CountInformer needs a Counter and an Informer")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	source, err := o.Counter.Source(ctx, o.Resource)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	defer func() {
		// ctx is over; the counter may be too, and then there is nothing to close.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = source.Close(closing)
	}()
	decoder, err := decode.New(o.Resource, o.States)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	sink := newTimed(source)
	defer sink.stop()
	h := &handler{ctx: ctx, sink: sink, log: o.Log.With("resource", o.Resource.Key()), decoder: decoder}
	if err := sink.begin(ctx); err != nil {
		return err
	}
	registration, err := o.Informer.AddEventHandler(h)
	if err != nil {
		return fmt.Errorf("cluster: listening to the informer of %s: %w", o.Resource.Key(), err)
	}
	defer func() { _ = o.Informer.RemoveEventHandler(registration) }()
	select {
	case <-registration.HasSyncedChecker().Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := sink.end(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// handler turns an informer's events into a source's. An update counts as what
// the object is now, whatever it was: an informer may report a deletion and a new
// object of the same name as one update.
type handler struct {
	ctx     context.Context //nolint:containedctx // of CountInformer, which outlives the handler's calls
	sink    *timed
	decoder *decode.Decoder
	log     *slog.Logger
}

func (h *handler) OnAdd(obj any, _ bool) { h.put(obj) }

func (h *handler) OnUpdate(_, obj any) { h.put(obj) }

// OnDelete takes what was counted for the object's key away. Of a deletion that
// only a relist found, the key is all that is certain: its object may be old, or
// nil.
func (h *handler) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		namespace, name, err := cache.SplitMetaNamespaceKey(tombstone.Key)
		if err != nil {
			h.lost("tombstone with a malformed key", "key", tombstone.Key)
			return
		}
		_ = h.sink.remove(h.ctx, namespace, name) // fails when counting ends
		return
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		h.lost("deleted object without metadata", "error", err)
		return
	}
	_ = h.sink.remove(h.ctx, m.GetNamespace(), m.GetName())
}

func (h *handler) put(obj any) {
	o, err := h.decoder.Informed(obj)
	if err != nil {
		h.lost("object without metadata", "error", err)
		return
	}
	if o.Err != nil {
		h.lost("object is counted without its state", "namespace", o.Namespace, "name", o.Name, "error", o.Err)
	}
	_ = h.sink.put(h.ctx, o)
}

func (h *handler) lost(what string, attrs ...any) {
	h.log.Warn("informer says something odd", append(attrs, "what", what)...)
}
