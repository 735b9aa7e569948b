package counts

import "hash/maphash"

// key stands for an object's namespace and name. It is 128 bits of two hashes
// with random seeds, so that a million objects collide with a chance of about
// 1e-27 and nobody can choose names that do.
type key [2]uint64

// hasher makes keys. It is immutable.
type hasher [2]maphash.Seed

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

func (h hasher) key(namespace, name string) key {
	type object struct{ namespace, name string }
	o := object{namespace, name}
	return key{maphash.Comparable(h[0], o), maphash.Comparable(h[1], o)}
}

// record is what an object last contributed, all that is kept of it besides its
// key: the slot of its namespace, its state word, its two flags, and the mark
// of the round in which it was last seen.
//
//	31        12 11     5  4    3        2      1  0
//	[ slot:20   ][word:7 ][err][transit][steve*][mark]   * spare
type record uint32

const (
	recordMark          record = 1 << 0
	recordTransitioning record = 1 << 3
	recordError         record = 1 << 4
	wordShift                  = 5
	wordMask                   = 1<<7 - 1
	slotShift                  = 12
	maxSlots                   = 1 << 20
)

func newRecord(slot uint32, word uint8, s State) record {
	r := record(slot)<<slotShift | record(word)<<wordShift
	if s.Error {
		r |= recordError
	}
	if s.Transitioning {
		r |= recordTransitioning
	}
	return r
}

func (r record) slot() uint32 { return uint32(r >> slotShift) }
func (r record) word() uint8  { return uint8(r >> wordShift & wordMask) }

// addTo adds d, which is 1 or -1, to the cells that an object of this record
// counts in, and returns the cells, grown where needed.
func (r record) addTo(n []int32, d int32) []int32 {
	last := cellCount
	switch {
	case r.word() != 0:
		last = cellWords + int(r.word()) - 1
	case r&(recordError|recordTransitioning) != 0:
		last = cellBoth
	}
	for len(n) <= last {
		n = append(n, 0)
	}
	n[cellCount] += d
	if r&recordError != 0 {
		n[cellErrors] += d
	}
	if r&recordTransitioning != 0 {
		n[cellTransitioning] += d
	}
	if r&recordError != 0 && r&recordTransitioning != 0 {
		n[cellBoth] += d
	}
	if r.word() != 0 {
		n[last] += d
	}
	return n
}
