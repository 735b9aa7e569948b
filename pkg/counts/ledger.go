package counts

import "strings"

// total is the slot of the resource as a whole. The slots of namespaces follow.
const total = 0

// slot holds the numbers of one namespace as they are now, and as they were last
// published.
type slot struct {
	namespace string
	now       []int32  // by cell id
	published *Numbers // nil where none ever was
	place     uint32   // in the table; unplaced where it is in none
	dirty     bool
}

// ledger is what the tally keeps of one resource: a record for each object, and
// the sums of the records. It outlives the resource until its removal is
// forgotten, because a resource that comes back goes on where it ended.
type ledger struct {
	resource Resource
	source   uint32 // the id of the source whose events count; 0 when closed
	records  map[key]record
	words    vocabulary
	slots    []slot
	free     []uint32
	byName   map[string]uint32
	dirty    []uint32 // slots that may differ from what was published

	whole round
	parts map[string]*round // by namespace; nil where the resource is read as a whole

	rescoped bool // it came back with another scope

	counted    *Counted // last published; nil before the first
	namespaces *tableWriter
	touched    bool // in the tally's list of dirty ledgers
}

func newLedger() *ledger {
	return &ledger{
		slots:      make([]slot, 1),
		byName:     make(map[string]uint32),
		namespaces: newTableWriter(),
	}
}

// open starts to count a resource for a source. Nothing is published before the
// source's first round has ended.
func (l *ledger) open(r Resource, source uint32) {
	l.rescoped = l.rescoped || (l.counted != nil && l.resource.Namespaced != r.Namespaced)
	l.resource, l.source = r, source
	l.records = make(map[key]record)
	l.whole = round{holding: true}
	l.parts = nil
}

func (l *ledger) put(e event) {
	namespace := e.namespace
	if !l.resource.Namespaced {
		namespace = ""
	}
	old, had := l.records[e.key]
	r := newRecord(l.slot(namespace), l.words.id(e.word), e.flags) | l.markOf(namespace)
	if had && old == r {
		return
	}
	l.records[e.key] = r
	if had && old&^recordMark == r&^recordMark {
		return
	}
	// Added before it is subtracted, so that no slot is empty in between.
	l.add(r)
	if had {
		l.subtract(old)
	}
}

func (l *ledger) remove(k key) {
	if r, ok := l.records[k]; ok {
		l.subtract(r)
		delete(l.records, k)
	}
}

// close ends the counting of a resource. All that was published of it falls to
// zero with the next publication.
func (l *ledger) close() {
	for i := range l.slots {
		if len(l.slots[i].now) > 0 {
			clear(l.slots[i].now)
			l.touch(uint32(i))
		}
	}
	l.records, l.source = nil, 0
	l.whole, l.parts = round{}, nil
}

func (l *ledger) add(r record)      { l.count(r, 1) }
func (l *ledger) subtract(r record) { l.count(r, -1) }

func (l *ledger) count(r record, d int32) {
	for _, i := range [2]uint32{total, r.slot()} {
		l.slots[i].now = r.addTo(l.slots[i].now, d)
		l.touch(i)
		if r.slot() == total {
			return // cluster-scoped
		}
	}
}

func (l *ledger) touch(i uint32) {
	if s := &l.slots[i]; !s.dirty {
		s.dirty = true
		l.dirty = append(l.dirty, i)
	}
}

// slot returns the slot of a namespace and makes it where there is none. Beyond
// maxSlots, which is more namespaces than etcd can hold, objects count in all
// and in no namespace.
func (l *ledger) slot(namespace string) uint32 {
	if namespace == "" {
		return total
	}
	if i, ok := l.byName[namespace]; ok {
		return i
	}
	if len(l.free) == 0 && len(l.slots) == maxSlots {
		return total
	}
	namespace = strings.Clone(namespace) // not a piece of somebody's whole object
	s := slot{namespace: namespace}
	s.place, s.published = l.namespaces.find(namespace)
	var i uint32
	if n := len(l.free); n > 0 {
		i, l.free = l.free[n-1], l.free[:n-1]
		l.slots[i] = s
	} else {
		i = uint32(len(l.slots)) //nolint:gosec // see maxSlots
		l.slots = append(l.slots, s)
	}
	l.byName[namespace] = i
	// A slot that is made and never counted in must be found and freed again.
	l.touch(i)
	return i
}

// publish stamps what changed since the last publication with seq and returns
// the namespaces that became empty. It reports whether anything that a reader
// can see changed.
func (l *ledger) publish(seq uint64) (emptied []string, changed bool) {
	var touched stamps
	held := l.held()
	dirty := l.dirty
	l.dirty = l.dirty[:0] // whose array dirty still reads, ahead of what is appended
	for _, i := range dirty {
		s := &l.slots[i]
		if held[i] {
			l.dirty = append(l.dirty, i)
			continue
		}
		s.dirty = false
		now := s.now
		if i == total {
			now = l.withhold(now, held)
		}
		next := s.published.restamp(now, l.words.words, seq)
		if next != s.published && (len(next.cells) > 0 || i == total) {
			s.published, changed, touched = next, true, touched.newest(next.stamps)
			if i != total {
				s.place = l.namespaces.set(s.namespace, s.place, next)
			}
		}
		if i != total && (len(s.now) == 0 || s.now[cellCount] == 0) {
			if s.published != nil && s.published.stamps.any() == seq {
				emptied = append(emptied, s.namespace)
			}
			delete(l.byName, s.namespace)
			l.slots[i] = slot{}
			l.free = append(l.free, i)
		}
	}
	gone := l.source == 0
	defined := seq
	if last := l.counted; last != nil && last.gone == gone && (gone || last.resource == l.resource) {
		if !changed {
			return nil, false
		}
		defined = last.defined
	}
	if l.slots[total].published == nil {
		l.slots[total].published = &Numbers{stamps: stamps{seq, seq}}
	}
	next := &Counted{
		resource:   l.resource,
		key:        l.resource.Key(),
		stamps:     stamps{seq, seq},
		defined:    defined,
		gone:       gone,
		rescoped:   l.rescoped,
		words:      l.words.words,
		total:      l.slots[total].published,
		namespaces: l.namespaces.table(),
	}
	if defined != seq {
		next.stamps = l.counted.stamps.newest(touched)
	}
	l.counted = next
	return emptied, true
}

// forget drops a namespace that has been empty since seq, and says whether it
// was there to drop.
func (l *ledger) forget(namespace string, seq uint64) bool {
	_, n := l.namespaces.find(namespace)
	if n == nil || n.stamps.any() != seq || n.Count() != 0 {
		return false
	}
	l.namespaces.remove(namespace)
	if i, ok := l.byName[namespace]; ok {
		l.slots[i].published, l.slots[i].place = nil, unplaced
	}
	shorter := *l.counted
	shorter.namespaces = l.namespaces.table()
	l.counted = &shorter
	return true
}
