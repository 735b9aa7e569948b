package counts

import "slices"

// round is how far a source has come with reading its resource, as a whole or one
// namespace of it.
type round struct {
	mark    record // what records get that are put in it
	holding bool   // it is under way: publish nothing
	cut     bool   // the last one did not end
}

// begin starts a round: what it does not put until end is swept. That of the
// resource as a whole is the end of its parts.
func (l *ledger) begin(e event) {
	if !e.part && l.parts != nil {
		l.parts = nil
		l.whole.cut = true
		l.touch(total) // a part may have withheld its namespace
	}
	r, in := l.round(e)
	if r.cut {
		// Some records have this round's mark from the one that was cut
		// short, and two values of the mark cannot tell three rounds apart.
		l.level(r.mark, in)
	}
	r.mark ^= recordMark
	r.holding, r.cut = true, true
}

// end ends a round: objects that were not put in it are gone. For the resource as a
// whole, when it is read in parts, those are the ones of which there is no part.
func (l *ledger) end(e event) {
	r, in := l.round(e)
	switch {
	case !e.part && l.parts != nil:
		slots := make(map[uint32]bool, len(l.parts))
		for namespace := range l.parts {
			if i, ok := l.byName[namespace]; ok {
				slots[i] = true
			}
		}
		l.sweep(func(rec record) bool { return !slots[rec.slot()] })
	case r.cut:
		l.sweep(func(rec record) bool { return in(rec) && rec&recordMark != r.mark })
	}
	r.holding, r.cut = false, false
	if e.part {
		l.touch(total) // it has withheld the namespace
	}
}

// endPart takes a namespace out of those that are read.
func (l *ledger) endPart(namespace string) {
	if i, ok := l.byName[namespace]; ok {
		l.sweep(func(rec record) bool { return rec.slot() == i })
	}
	delete(l.parts, namespace)
	l.touch(total) // it may have withheld the namespace
}

// sweep removes what is gone.
func (l *ledger) sweep(gone func(record) bool) {
	for k, rec := range l.records {
		if gone(rec) {
			l.subtract(rec)
			delete(l.records, k)
		}
	}
}

// level gives records the same mark.
func (l *ledger) level(mark record, which func(record) bool) {
	for k, rec := range l.records {
		if which(rec) {
			l.records[k] = rec&^recordMark | mark
		}
	}
}

// round returns the round that an event is about, and which records are of it.
func (l *ledger) round(e event) (r *round, in func(record) bool) {
	all := func(record) bool { return true }
	if !e.part {
		return &l.whole, all
	}
	if l.parts == nil {
		l.parts = make(map[string]*round)
		if l.whole.cut {
			l.level(l.whole.mark, all)
			l.whole.cut = false
		}
	}
	r, ok := l.parts[e.namespace]
	if !ok {
		r = &round{mark: l.whole.mark} // as its records have it
		l.parts[e.namespace] = r
	}
	slot, ok := l.byName[e.namespace]
	return r, func(rec record) bool { return ok && rec.slot() == slot }
}

// markOf is the mark of a record that is put now.
func (l *ledger) markOf(namespace string) record {
	if r, ok := l.parts[namespace]; ok {
		return r.mark
	}
	return l.whole.mark
}

// held are the slots of the namespaces whose round is under way. nil where there
// are none, as nearly always.
func (l *ledger) held() (slots map[uint32]bool) {
	for namespace, r := range l.parts {
		if i, ok := l.byName[namespace]; ok && r.holding {
			if slots == nil {
				slots = make(map[uint32]bool)
			}
			slots[i] = true
		}
	}
	return slots
}

// withhold returns the total without what has changed in the slots that are held.
func (l *ledger) withhold(now []int32, held map[uint32]bool) []int32 {
	if len(held) == 0 {
		return now
	}
	now = slices.Clone(now)
	for i := range held {
		s := &l.slots[i]
		for cell, n := range s.now {
			now[cell] -= n
		}
		if s.published != nil {
			for _, c := range s.published.cells {
				now = bump(now, int(c.id), c.n)
			}
		}
	}
	return now
}
