package counts

import "context"

// Update is what a subscriber receives. It shares nothing with anybody: the
// receiver may write to all of it.
type Update struct {
	// Epoch and Seq say which state this is; see [Snapshot].
	Epoch string
	Seq   uint64
	// Full says that Counts is everything there is. Otherwise it is what
	// changed since the last update that was received.
	Full bool
	// Counts has the counts of each resource as a whole, by resource key.
	Counts map[string]ItemCount
	// Removed are the keys of resources that are no longer served.
	Removed []string
}

// SubscribeOptions are the wishes of a subscriber. The zero value asks for
// everything, as fast as it is received.
type SubscribeOptions struct {
	Selector Selector
	// Pace is called before an update is built, but for the first, and may wait;
	// a debounce.Pacer's Wait fits. An error ends the subscription. With it, an
	// update that is not received is replaced by a newer one at that pace.
	// Without, it stays on offer as it is, so that a subscriber that never
	// receives costs nothing, and is followed by the newest once it is received.
	Pace func(context.Context) error
}

// Subscribe returns a channel of updates: the first is the state as it is now,
// and each further one the newest there is when it is built. States in between are
// skipped while the receiver is busy; the last one always arrives. The channel is
// closed when ctx ends.
func (c *Counter) Subscribe(ctx context.Context, o SubscribeOptions) <-chan Update {
	updates := make(chan Update)
	go func() {
		defer close(updates)
		s := subscriber{counter: c, options: o, updates: updates}
		s.run(ctx)
	}()
	return updates
}

type subscriber struct {
	counter *Counter
	options SubscribeOptions
	updates chan<- Update
	full    bool   // the receiver has had a whole state
	since   uint64 // the seq of the last update that was received
}

func (s *subscriber) run(ctx context.Context) {
	for {
		now, newer := s.counter.Latest()
		var out chan<- Update // nil while there is nothing to send
		replace := newer
		update, ok := s.update(now)
		if ok {
			out = s.updates
			if s.options.Pace == nil {
				replace = nil
			}
		} else {
			s.since = now.seq
		}
		select {
		case out <- update:
			s.full, s.since = true, now.seq
			select {
			case <-newer:
			case <-ctx.Done():
				return
			}
		case <-replace: // not taken yet: offer the newer state instead
		case <-ctx.Done():
			return
		}
		if s.options.Pace != nil {
			if err := s.options.Pace(ctx); err != nil {
				return
			}
		}
	}
}

// update builds what has changed since the subscriber last received, and reports
// whether that is anything.
func (s *subscriber) update(now *Snapshot) (Update, bool) {
	u := Update{Epoch: now.epoch, Seq: now.seq, Counts: make(map[string]ItemCount)}
	part := now.Select(s.options.Selector)
	if !s.full || !now.Reaches(now.epoch, s.since) {
		u.Full = true
		for c := range part.Resources() {
			u.Counts[c.key] = c.ItemCount()
		}
		return u, true
	}
	for c := range part.Changed(s.since, Own) {
		if c.gone {
			u.Removed = append(u.Removed, c.key)
		} else {
			u.Counts[c.key] = c.ItemCount()
		}
	}
	return u, len(u.Counts) > 0 || len(u.Removed) > 0
}
