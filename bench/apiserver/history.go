package apiserver

import (
	"strconv"
	"sync"
)

const (
	// startVersion is the resourceVersion of the object with number 0; each object
	// and each event after it has the next. All have as many digits.
	startVersion    = 1_000_000_000
	eventsPerChange = 3
)

// Moment is what a client holds that has read everything there is up to then. It is
// immutable.
type Moment struct {
	// Objects there are.
	Objects int `json:"objects"`
	// Events that a client gets until then, from the beginning of its list.
	Events int `json:"events"`
	// ResourceVersion is that of the newest thing that happened.
	ResourceVersion string `json:"resourceVersion"`
}

// history is what happens to the objects. It is immutable.
//
// Objects are in the order of their numbers. A change deletes the first, creates one
// after the last, and gives a third, from the middle on, another state.
//
// Where it is live, there are creations only, which the log has; with it, history is
// safe for concurrent use.
type history struct {
	options Options
	log     *creations // nil where it is not live
}

// moment is the state after so many events and breaks. It is immutable.
type moment struct {
	done   int // events of the changes
	breaks int
	lost   int // objects in all breaks
}

func (h history) firstVersion() int { return startVersion + h.options.Objects }

func (h history) events() int {
	if h.log != nil {
		return h.log.len()
	}
	return h.options.Changes * eventsPerChange
}

func (h history) version(m moment) int { return h.firstVersion() + m.done + m.breaks }

// from and to are the numbers of the objects of a moment, to excluded.
func (h history) from(m moment) int {
	if h.log != nil {
		return m.lost
	}
	return (m.done+2)/eventsPerChange + m.lost
}

func (h history) to(m moment) int {
	if h.log != nil {
		return h.options.Objects + m.done
	}
	return h.options.Objects + (m.done+1)/eventsPerChange
}

// object is one version of one object.
type object struct {
	number, version int
	moved           bool // it has another state than at first
	namespace       int
}

// at returns an object as it is at a moment.
func (h history) at(m moment, number int) object {
	o := h.object(m, number)
	if h.log == nil || number < h.options.Objects {
		o.namespace = number % h.options.Namespaces
	}
	return o
}

func (h history) object(m moment, number int) object {
	first, all := h.firstVersion(), h.options.Objects
	switch {
	case number >= all && h.log != nil:
		return h.created(number - all)
	case number >= all:
		return object{number: number, version: first + (number-all)*eventsPerChange + 2}
	case number >= all/2 && number-all/2 < m.done/eventsPerChange:
		return object{number: number, version: first + (number-all/2)*eventsPerChange + 3, moved: true}
	default:
		return object{number: number, version: startVersion + number}
	}
}

// change is the event with a number from 0.
func (h history) change(number int) (kind eventType, o object) {
	if h.log != nil {
		return added, h.created(number)
	}
	kind, o = h.scripted(number)
	o.namespace = o.number % h.options.Namespaces
	return kind, o
}

// created is the object of a creation.
func (h history) created(number int) object {
	return object{number: h.options.Objects + number, version: h.firstVersion() + number + 1, namespace: h.log.at(number)}
}

func (h history) scripted(number int) (kind eventType, o object) {
	n, version := number/eventsPerChange, h.firstVersion()+number+1
	switch number % eventsPerChange {
	case 0:
		return deleted, object{number: n, version: version}
	case 1:
		return added, object{number: h.options.Objects + n, version: version}
	default:
		return modified, object{number: h.options.Objects/2 + n, version: version, moved: true}
	}
}

// chance returns what is by chance about the object, the same whenever it is asked
// (splitmix64).
func (o object) chance() uint64 {
	x := uint64(o.number) + 0x9e3779b97f4a7c15
	if o.moved {
		x ^= 0x5851f42d4c957f2d
	}
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// era is the time between two breaks. It is immutable.
type era struct {
	base  moment        // of which lists are
	ended chan struct{} // closed at the break
}

// eras are safe for concurrent use.
type eras struct {
	history history

	mu  sync.Mutex
	now era
}

func newEras(h history) *eras {
	return &eras{history: h, now: era{ended: make(chan struct{})}}
}

func (e *eras) get() era {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

// expire makes a break in which objects are lost; at least one is left.
func (e *eras) expire(gone int) Moment {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.now.base
	m.done = e.history.events()
	m.breaks++
	m.lost += min(gone, e.history.to(m)-e.history.from(m)-1)
	close(e.now.ended)
	e.now = era{base: m, ended: make(chan struct{})}
	return e.history.end(e.now)
}

// end is what who has read all of an era holds.
func (h history) end(e era) Moment {
	end := e.base
	end.done = h.events()
	return Moment{
		Objects:         h.to(end) - h.from(end),
		Events:          h.to(e.base) - h.from(e.base) + end.done - e.base.done,
		ResourceVersion: strconv.Itoa(h.version(end)),
	}
}

// moment returns the moment of a version in an era, unless the version is too old or is
// still to come.
func (h history) moment(e era, version int) (m moment, tooOld, tooLarge bool) {
	m = e.base
	m.done += version - h.version(e.base)
	return m, version < h.version(e.base), m.done > h.events()
}
