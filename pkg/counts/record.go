package counts

import "hash/maphash"

// key stands for an object's namespace and name. It is 96 bits of two hashes with
// random seeds, so that among a million objects of a resource two collide with a
// chance of about 6e-18, and nobody can choose names that do. With its record it
// fills 16 bytes of a map exactly; 128 bits would take 24 with the padding.
type key [3]uint32

// hasher makes keys. It is immutable.
type hasher [2]maphash.Seed

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

func (h hasher) key(namespace, name string) key {
	type object struct{ namespace, name string }
	o := object{namespace, name}
	x, y := maphash.Comparable(h[0], o), maphash.Comparable(h[1], o)
	return key{uint32(x), uint32(x >> 32), uint32(y)} //nolint:gosec // pieces of a hash
}

// record is what an object last contributed, all that is kept of it besides its
// key: the slot of its namespace, its state word, its flags in countd's reading
// and in steve's, and the mark of the round in which it was last seen.
//
//	31      12 11     5  4    3        2          1              0
//	[ slot:20 ][word:7 ][err][transit][steve err][steve transit][mark]
type record uint32

const (
	recordMark               record = 1 << 0
	recordSteveTransitioning record = 1 << 1
	recordSteveError         record = 1 << 2
	recordTransitioning      record = 1 << 3
	recordError              record = 1 << 4
	wordShift                       = 5
	wordMask                        = 1<<7 - 1
	slotShift                       = 12
	maxSlots                        = 1 << 20
)

// flagsOf returns the four flags of an object's record.
func flagsOf(o Object) (flags record) {
	steve := o.Steve
	if steve == nil {
		steve = &o.State
	}
	for _, f := range [...]struct {
		set bool
		bit record
	}{
		{o.State.Error, recordError},
		{o.State.Transitioning, recordTransitioning},
		{steve.Error, recordSteveError},
		{steve.Transitioning, recordSteveTransitioning},
	} {
		if f.set {
			flags |= f.bit
		}
	}
	return flags
}

func newRecord(slot uint32, word uint8, flags record) record {
	return record(slot)<<slotShift | record(word)<<wordShift | flags
}

func (r record) slot() uint32 { return uint32(r >> slotShift) }
func (r record) word() uint8  { return uint8(r >> wordShift & wordMask) }

// addTo adds d, which is 1 or -1, to the cells that an object of this record
// counts in, and returns the cells, grown where needed.
func (r record) addTo(n []int32, d int32) []int32 {
	n = bump(n, cellCount, d)
	if r&recordError != 0 {
		n = bump(n, cellErrors, d)
	}
	if r&recordTransitioning != 0 {
		n = bump(n, cellTransitioning, d)
	}
	if r&recordSteveError != 0 {
		n = bump(n, cellSteveErrors, d)
	}
	if r&recordSteveTransitioning != 0 {
		n = bump(n, cellSteveTransitioning, d)
		if r&recordSteveError == 0 {
			n = bump(n, cellSteveProgress, d)
		}
	}
	if r.word() != 0 {
		n = bump(n, cellWords+int(r.word())-1, d)
	}
	return n
}

func bump(n []int32, cell int, d int32) []int32 {
	for len(n) <= cell {
		n = append(n, 0)
	}
	n[cell] += d
	return n
}
