package counts

import "github.com/tidwall/btree"

// degree of the B-trees. A change copies a node of each level, so small nodes make
// a snapshot cheaper. Measured with BenchmarkFold, 100 changes spread over 100 of
// 500 resources, when the numbers of namespaces were in such trees too, ns and bytes an
// event: degree 32 2,300 and 3,017; 16 2,260 and 2,645; 8 1,774 and 1,886; 6 1,842 and
// 1,750; 4 2,180 and 1,704.
const degree = 8

type op uint8

const (
	opOpen op = iota
	opDefine
	opBegin
	opPut
	opRemove
	opEnd
	opSync
	opClose
)

// withholds says that after such an event nothing of its resource is published
// until a round has ended.
func (o op) withholds() bool { return o == opOpen || o == opBegin }

// event is one thing that a source says. Resource and done are set for the ops
// that need them and nil for the two that come by the million.
type event struct {
	op        op
	source    uint32
	key       key
	flags     record // of opPut
	word      string // of opPut
	namespace string
	part      bool // its round is that of its namespace alone
	resource  *Resource
	done      chan struct{} // closed once the event is folded and published
}

// tally is the fold of all events into numbers. It is owned by Counter.Run;
// nothing else may touch it (R1).
type tally struct {
	epoch   string
	seq     uint64
	ledgers map[string]*ledger // by resource key, removed ones included
	sources map[uint32]*ledger // by source id, open ones
	dirty   []*ledger

	resources *btree.Map[string, *Counted]

	// What fell to zero or was removed, oldest first: as long as it is in the
	// snapshot, readers that are behind learn of it. Beyond limit the oldest
	// is forgotten, and floor rises: who is behind that starts anew.
	tombs []tomb
	limit int
	floor uint64
}

type tomb struct {
	seq       uint64
	ledger    *ledger
	namespace string // empty for the resource itself
}

func newTally(epoch string, limit int) *tally {
	return &tally{
		epoch:     epoch,
		ledgers:   make(map[string]*ledger),
		sources:   make(map[uint32]*ledger),
		resources: btree.NewMap[string, *Counted](degree),
		limit:     limit,
	}
}

// apply folds one event. An event of a source that was closed is ignored.
func (t *tally) apply(e event) {
	if e.op == opOpen {
		t.open(e)
		return
	}
	l, ok := t.sources[e.source]
	if !ok {
		return
	}
	switch e.op {
	case opPut:
		l.put(e)
	case opRemove:
		l.remove(e.key)
	case opBegin:
		l.begin(e)
	case opEnd:
		l.end(e)
	case opDefine:
		l.resource = *e.resource
	case opSync: // only its done is wanted
	case opClose:
		if e.part {
			l.endPart(e.namespace)
			break
		}
		l.close()
		delete(t.sources, e.source)
	}
	t.touch(l)
}

func (t *tally) open(e event) {
	key := e.resource.Key()
	l, ok := t.ledgers[key]
	if !ok {
		l = newLedger()
		t.ledgers[key] = l
	}
	if l.source != 0 { // its Close was not heard
		delete(t.sources, l.source)
		l.close()
	}
	l.open(*e.resource, e.source)
	t.sources[e.source] = l
}

func (t *tally) touch(l *ledger) {
	if !l.touched {
		l.touched = true
		t.dirty = append(t.dirty, l)
	}
}

// publish returns the next snapshot, or nil where nothing that a reader can see
// has changed. It costs what changed, not what exists.
func (t *tally) publish() *Snapshot {
	seq, changed := t.seq+1, false
	for _, l := range t.dirty {
		l.touched = false
		if l.whole.holding {
			continue // its round's end touches it again
		}
		if l.counted == nil && l.source == 0 {
			delete(t.ledgers, l.resource.Key()) // closed before it was ever published
			continue
		}
		emptied, visible := l.publish(seq)
		if !visible {
			continue
		}
		changed = true
		t.resources.Set(l.counted.key, l.counted)
		for _, namespace := range emptied {
			t.tombs = append(t.tombs, tomb{seq, l, namespace})
		}
		if l.counted.gone {
			t.tombs = append(t.tombs, tomb{seq, l, ""})
		}
	}
	clear(t.dirty)
	t.dirty = t.dirty[:0]
	if !changed {
		return nil
	}
	t.seq = seq
	t.forget()
	return t.snapshot()
}

func (t *tally) snapshot() *Snapshot {
	return &Snapshot{
		epoch:     t.epoch,
		seq:       t.seq,
		floor:     t.floor,
		resources: t.resources.Copy(),
		newer:     make(chan struct{}),
	}
}

// forget drops the oldest tombs beyond the limit. Those of one seq go together,
// because a reader has either seen all of a seq or nothing of it.
func (t *tally) forget() {
	excess := len(t.tombs) - t.limit
	if excess <= 0 {
		return
	}
	n := 0
	for n < len(t.tombs) && (n < excess || t.tombs[n].seq == t.floor) {
		dead := t.tombs[n]
		t.floor = dead.seq
		switch {
		case dead.namespace != "":
			if dead.ledger.forget(dead.namespace, dead.seq) {
				t.resources.Set(dead.ledger.counted.key, dead.ledger.counted)
			}
		case dead.ledger.counted.gone && dead.ledger.counted.Seq() == dead.seq:
			t.resources.Delete(dead.ledger.counted.key)
			if dead.ledger.source == 0 {
				delete(t.ledgers, dead.ledger.counted.key)
			} else {
				dead.ledger.counted = nil // open again, not yet published again
			}
		}
		n++
	}
	clear(t.tombs[:n]) // lets go of their ledgers
	t.tombs = t.tombs[n:]
}
