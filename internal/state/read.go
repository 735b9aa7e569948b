package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/countd/countd/pkg/counts"
)

// Reading is what an object says of its state. It is immutable.
type Reading struct {
	// State is countd's own reading; with the rules [Wrangler], wrangler's.
	State counts.State
	// Steve is wrangler's reading where it is another than State; nil: the same. It is
	// shared: nobody may write to it.
	Steve *counts.State
	// Next is what the object will be without an event, because time passes; nil for
	// nearly all. A Reading without it holds for ever, so it may be remembered by the
	// values of the fields that decide it.
	Next *Next
}

// Next is a reading that will hold. It is immutable.
type Next struct {
	At time.Time
	// Reading is what a Read at that moment says, so it may have a Next in turn:
	// three in a row at most, one for each rule that looks at the clock.
	Reading Reading
}

// Rules are those by which states are read.
type Rules uint8

const (
	// Corrected reads countd's own states.
	Corrected Rules = iota
	// Wrangler reads wrangler's and no others.
	Wrangler
)

// Read says what state an object is in at a moment, and what it will be. The object is the
// content of an unstructured object with an apiVersion and a kind, whole or with nothing
// else but the fields that decide its state. Read does not modify it. A field of a wrong
// type is, in countd's own reading, like one that is not there; what it is in wrangler's is
// wrangler's. On an error, which is that the reader panicked, the state is zero.
func (r Rules) Read(content map[string]any, now time.Time) (_ Reading, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading the state of a %v: %v", content["kind"], p)
		}
	}()
	o := newObject(content)
	moments := o.clock.moments()
	if r == Corrected {
		moments = append(moments, o.moments()...)
	}
	slices.SortFunc(moments, time.Time.Compare)
	reading := r.at(o, now)
	last := &reading
	for _, at := range moments {
		if !at.After(now) {
			continue
		}
		if next := r.at(o, at); !next.same(*last) {
			last.Next = &Next{At: at, Reading: next}
			last = &last.Next.Reading
		}
	}
	return reading, nil
}

// at is what an object is in at one moment.
func (r Rules) at(o object, now time.Time) Reading {
	steve := summarize(o.clock.content(o.content, now))
	if r == Wrangler {
		return Reading{State: steve}
	}
	reading := Reading{State: o.own(steve, now)}
	if reading.State != steve {
		reading.Steve = &steve
	}
	return reading
}

// same says whether two readings are the same, whatever follows.
func (r Reading) same(other Reading) bool {
	if r.State != other.State || (r.Steve == nil) != (other.Steve == nil) {
		return false
	}
	return r.Steve == nil || *r.Steve == *other.Steve
}
