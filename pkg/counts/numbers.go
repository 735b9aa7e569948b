package counts

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxWords is how many state words a resource may have, "other" among them, and
// MaxWordBytes how long one may be. Words come from objects, which anybody may
// write: an object whose word is beyond the bounds, or not printable, counts as
// "other".
const (
	MaxWords     = 64
	MaxWordBytes = 63

	otherWord = "other"
)

// The numbers of a namespace or of a whole resource are cells: the first ones
// are these, the rest are state words in the order in which they were first
// seen. Those of steve are in its reading only, the count is in both, all others are
// in countd's own. Steve's progress is transitioning without error.
const (
	cellCount = iota
	cellErrors
	cellTransitioning
	cellSteveErrors
	cellSteveTransitioning
	cellSteveProgress
	cellWords
)

func steves(cell uint8) bool { return cell >= cellSteveErrors && cell <= cellSteveProgress }

// stamps are the seqs at which something last changed, by reading.
type stamps [readings]uint64

func (s *stamps) set(cell uint8, seq uint64) {
	if !steves(cell) {
		s[Own] = seq
	}
	if steves(cell) || cell == cellCount {
		s[Steve] = seq
	}
}

// newest returns, for each reading, the newer of two stamps.
func (s stamps) newest(o stamps) stamps {
	for r := range s {
		s[r] = max(s[r], o[r])
	}
	return s
}

func (s stamps) any() uint64 { return max(s[Own], s[Steve]) }

// cell is one number and the seq at which it last changed. A cell that fell to
// zero stays, so that a difference can say that it is gone.
type cell struct {
	seq uint64
	n   int32
	id  uint8
}

// Numbers are the numbers of one namespace, or of a resource in all. They are
// immutable.
type Numbers struct {
	stamps stamps // when any cell last changed
	words  []string
	cells  []cell // ascending by id
}

func (n *Numbers) get(id uint8) int {
	for _, c := range n.cells {
		if c.id == id {
			return int(c.n)
		}
	}
	return 0
}

// Count is the number of objects.
func (n *Numbers) Count() int { return n.get(cellCount) }

// Errors is the number of objects in error.
func (n *Numbers) Errors() int { return n.get(cellErrors) }

// Transitioning is the number of objects on their way to another state.
func (n *Numbers) Transitioning() int { return n.get(cellTransitioning) }

// States are the state words in use, with the number of objects in each.
func (n *Numbers) States() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, c := range n.cells {
			if c.id >= cellWords && c.n > 0 && !yield(n.words[c.id-cellWords], int(c.n)) {
				return
			}
		}
	}
}

// Summary returns the numbers in countd's own reading. The caller owns it.
func (n *Numbers) Summary() Summary {
	s := Summary{Count: n.Count(), Errors: n.Errors(), Transitioning: n.Transitioning()}
	for word, number := range n.States() {
		if s.States == nil {
			s.States = make(map[string]int)
		}
		s.States[word] = number
	}
	return s
}

// SteveSummary returns the numbers as Rancher's steve has them, whose states
// are two words: an object is in "error", or else "in-progress", or neither.
// The caller owns it.
func (n *Numbers) SteveSummary() Summary {
	s := Summary{Count: n.Count(), Errors: n.get(cellSteveErrors), Transitioning: n.get(cellSteveTransitioning)}
	progress := n.get(cellSteveProgress)
	if s.Errors > 0 || progress > 0 {
		s.States = make(map[string]int, 2)
	}
	if s.Errors > 0 {
		s.States["error"] = s.Errors
	}
	if progress > 0 {
		s.States["in-progress"] = progress
	}
	return s
}

// restamp returns what follows old when the numbers are now those in now, by
// cell id, where a missing id means zero: each cell that differs is stamped with
// seq. It returns old itself where nothing differs. old may be nil.
func (old *Numbers) restamp(now []int32, words []string, seq uint64) *Numbers {
	var before []cell
	if old != nil {
		before = old.cells
	}
	next := &Numbers{stamps: stamps{seq, seq}, words: words, cells: make([]cell, 0, max(len(before), len(now)))}
	if old != nil {
		next.stamps = old.stamps
	}
	differs := old == nil
	i := 0
	for id := range max(len(now), maxID(before)+1) {
		c := cell{id: uint8(id)}
		if had := i < len(before) && before[i].id == c.id; had {
			c = before[i]
			i++
		}
		var n int32
		if id < len(now) {
			n = now[id]
		}
		if n != c.n {
			c.n, c.seq, differs = n, seq, true
			next.stamps.set(c.id, seq)
		}
		if c.seq != 0 {
			next.cells = append(next.cells, c)
		}
	}
	if !differs {
		return old
	}
	return next
}

func maxID(cells []cell) int {
	if len(cells) == 0 {
		return -1
	}
	return int(cells[len(cells)-1].id)
}

// sum adds the numbers of several namespaces up. Each cell keeps the newest
// stamp of its parts, so that a difference of sums follows from the sum alone.
func sum(parts []*Numbers, words []string) *Numbers {
	var n [cellWords + MaxWords]cell
	total := &Numbers{words: words}
	for _, part := range parts {
		total.stamps = total.stamps.newest(part.stamps)
		for _, c := range part.cells {
			n[c.id] = cell{seq: max(n[c.id].seq, c.seq), n: n[c.id].n + c.n, id: c.id}
		}
	}
	for _, c := range n {
		if c.seq != 0 {
			total.cells = append(total.cells, c)
		}
	}
	return total
}

// vocabulary interns the state words of one resource. Only the tally writes to
// it; snapshots hold its words as far as they were then, and those never change.
type vocabulary struct {
	words []string
	ids   map[string]uint8
}

// id returns the number of a word, 0 for none.
func (v *vocabulary) id(word string) uint8 {
	if word == "" || word == "active" {
		return 0
	}
	if id, ok := v.ids[word]; ok {
		return id
	}
	if word != otherWord && (v.full() || !printable(word)) {
		return v.id(otherWord)
	}
	if v.ids == nil {
		v.ids = make(map[string]uint8)
	}
	word = strings.Clone(word) // not a piece of somebody's whole object
	v.words = append(v.words, word)
	id := uint8(len(v.words)) //nolint:gosec // at most MaxWords
	v.ids[word] = id
	return id
}

// full says that there is no place for another word, the one for "other" kept.
func (v *vocabulary) full() bool {
	if _, ok := v.ids[otherWord]; ok {
		return len(v.words) == MaxWords
	}
	return len(v.words) == MaxWords-1
}

func printable(word string) bool {
	return len(word) <= MaxWordBytes && utf8.ValidString(word) &&
		!strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) })
}
