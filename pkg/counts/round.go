package counts

import "slices"

// round is how far a source has come with reading its resource, as a whole or one
// namespace of it.
type round struct {
	mark    record // what records get that are put in it
	holding bool   // it is under way: publish nothing
	cut     bool   // the last one did not end
}

// begin starts a round: what it does not put until end is swept.
func (l *ledger) begin(e event) {
	r, in := l.round(e)
	if r.cut {
		// Some records have this round's mark from the one that was cut
		// short, and two values of the mark cannot tell three rounds apart.
		for k, rec := range l.records {
			if in(rec) {
				l.records[k] = rec&^recordMark | r.mark
			}
		}
	}
	r.mark ^= recordMark
	r.holding, r.cut = true, true
}

// end ends a round: objects that were not put in it are gone.
func (l *ledger) end(e event) {
	r, in := l.round(e)
	if r.cut {
		for k, rec := range l.records {
			if in(rec) && rec&recordMark != r.mark {
				l.subtract(rec)
				delete(l.records, k)
			}
		}
	}
	r.holding, r.cut = false, false
	if e.part {
		l.touch(total) // it has withheld the namespace
	}
}

// round returns the round that an event is about, and which records are of it.
func (l *ledger) round(e event) (r *round, in func(record) bool) {
	if !e.part {
		return &l.whole, func(record) bool { return true }
	}
	if l.parts == nil {
		l.parts = make(map[string]*round)
	}
	r, ok := l.parts[e.namespace]
	if !ok {
		r = new(round)
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
