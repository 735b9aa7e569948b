package counts

import (
	"iter"
	"slices"

	"github.com/tidwall/btree"
)

// Snapshot is the counts of all resources at one moment. It is immutable and
// shares with earlier and later snapshots all that did not change between them:
// keeping one costs what changed since, and reading one needs no lock.
//
// Every number in it knows the seq at which it last changed, so the difference
// between any earlier seq and now follows from the snapshot alone; see
// [Snapshot.AppendPatch].
type Snapshot struct {
	epoch     string
	seq       uint64
	floor     uint64
	resources *btree.Map[string, *Counted]
	newer     chan struct{}
}

// Epoch names the run of the Counter that made the snapshot. Seqs of different
// epochs have nothing to do with each other.
func (s *Snapshot) Epoch() string { return s.epoch }

// Seq grows with every snapshot of an epoch in which something visible changed.
func (s *Snapshot) Seq() uint64 { return s.seq }

// Newer is closed as soon as there is a newer snapshot.
func (s *Snapshot) Newer() <-chan struct{} { return s.newer }

// Reaches says whether the snapshot knows all that happened since the given
// seq, so that a reader who holds that one can go on with a difference.
func (s *Snapshot) Reaches(epoch string, since uint64) bool {
	return epoch == s.epoch && since >= s.floor && since <= s.seq
}

// Len is the number of resources counted.
func (s *Snapshot) Len() (n int) {
	for range s.Resources() {
		n++
	}
	return n
}

// Resources are the counted resources in the order of their keys.
func (s *Snapshot) Resources() iter.Seq[*Counted] {
	return func(yield func(*Counted) bool) {
		s.resources.Scan(func(_ string, c *Counted) bool { return c.gone || yield(c) })
	}
}

// Changed are the resources that are not what they were at the given seq in one
// reading, those that are gone since among them. It is right only where s reaches
// back to it.
func (s *Snapshot) Changed(since uint64, in Reading) iter.Seq[*Counted] {
	return func(yield func(*Counted) bool) {
		s.resources.Scan(func(_ string, c *Counted) bool { return c.stamps[in] <= since || yield(c) })
	}
}

// Resource returns the counts of one resource by its key, or nil where it is
// not counted.
func (s *Snapshot) Resource(key string) *Counted {
	if c, ok := s.resources.Get(key); ok && !c.gone {
		return c
	}
	return nil
}

// Counted is the counts of one resource. It is immutable.
type Counted struct {
	resource   Resource
	key        string
	stamps     stamps // when anything of it last changed
	defined    uint64 // when resource last changed
	gone       bool
	rescoped   bool // it has had another scope within the epoch
	words      []string
	total      *Numbers
	namespaces table
}

// Resource is what is counted.
func (c *Counted) Resource() Resource { return c.resource }

// Key is the resource's key; see [Resource.Key].
func (c *Counted) Key() string { return c.key }

// Seq is when anything in these counts last changed.
func (c *Counted) Seq() uint64 { return c.stamps.any() }

// Gone says that the resource is no longer served. Its numbers are zero.
func (c *Counted) Gone() bool { return c.gone }

// Total are the numbers of the resource in all.
func (c *Counted) Total() *Numbers { return c.total }

// Namespaces are the numbers of each namespace that holds any, in order.
func (c *Counted) Namespaces() iter.Seq2[string, *Numbers] {
	return func(yield func(string, *Numbers) bool) {
		c.namespaces.scan(func(namespace string, n *Numbers) bool {
			return n.Count() == 0 || yield(namespace, n)
		})
	}
}

// ItemCount returns the counts in countd's own reading. The caller owns it.
func (c *Counted) ItemCount() ItemCount { return c.itemCount((*Numbers).Summary) }

// SteveItemCount returns the counts in steve's reading; see
// [Numbers.SteveSummary]. The caller owns it.
func (c *Counted) SteveItemCount() ItemCount { return c.itemCount((*Numbers).SteveSummary) }

func (c *Counted) itemCount(summary func(*Numbers) Summary) ItemCount {
	item := ItemCount{Summary: summary(c.total)}
	for namespace, n := range c.Namespaces() {
		if item.Namespaces == nil {
			item.Namespaces = make(map[string]Summary, c.namespaces.len())
		}
		item.Namespaces[namespace] = summary(n)
	}
	return item
}

// Selector narrows a snapshot. The zero Selector selects everything.
type Selector struct {
	// Resources are keys of resources; nil selects all.
	Resources []string
	// Namespaces narrows to these and leaves cluster-scoped resources out; the
	// totals are then the sums over them. nil selects all.
	Namespaces []string
}

// Select returns the part of s that the selector names. It is a snapshot like
// any other: differences of it say only what changed in it.
func (s *Snapshot) Select(sel Selector) *Snapshot {
	if sel.Resources == nil && sel.Namespaces == nil {
		return s
	}
	part := *s
	part.resources = new(btree.Map[string, *Counted])
	add := func(key string, c *Counted) bool {
		if sel.Namespaces != nil {
			if c = c.in(sel.Namespaces); c == nil {
				return true
			}
		}
		part.resources.Set(key, c)
		return true
	}
	if sel.Resources == nil {
		s.resources.Scan(add)
		return &part
	}
	for _, key := range sel.Resources {
		if c, ok := s.resources.Get(key); ok {
			add(key, c)
		}
	}
	return &part
}

// in narrows c to some namespaces. It returns nil where c is cluster-scoped and
// always was, and says of one that was namespaced that it is gone.
func (c *Counted) in(namespaces []string) *Counted {
	if !c.resource.Namespaced && !c.rescoped {
		return nil
	}
	part := *c
	if !c.resource.Namespaced {
		part.gone, part.stamps, part.total = true, stamps{c.defined, c.defined}, new(Numbers)
		return &part
	}
	chosen := newTableWriter()
	numbers := make([]*Numbers, 0, len(namespaces))
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		if n := c.namespaces.get(namespace); n != nil {
			chosen.set(namespace, unplaced, n)
			numbers = append(numbers, n)
		}
	}
	part.namespaces = chosen.table()
	part.total = sum(numbers, c.words)
	part.stamps = part.total.stamps.newest(stamps{c.defined, c.defined})
	return &part
}
