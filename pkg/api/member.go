package api

import "sync"

// member is one subscription of a client at its view. The connection that it
// belongs to may have several.
type member struct {
	view   *view
	outlet outlet
	// lost is called where the client's state is too far back for a difference
	// and the client must ask anew. It is nil where the client is sent a whole
	// state instead. The view calls it at most once, and forgets the member.
	lost func()

	// The rest but wants and left is owned by the view's goroutine.

	// The cursor: the client holds the state of held, which is also that of
	// every seq up to same. Differences are made from same, because the
	// snapshot may no longer reach back to held when nothing that the client
	// asked for has changed for long.
	epoch      string
	held, same uint64
	begun      bool // something was sent
	behind     bool // what it holds is not what the view has told the others
	index      int  // among the view's members

	wants bool // waits to be served; guarded by the view's mutex

	// Guarded by the mutex of the outlet's turn.
	left bool // wants nothing any more
	late bool // to be served when the write under way is over
}

// outlet is a connection as its members' views see it.
type outlet interface {
	// take takes the turn to write for a member, unless the member has left or a
	// write is under way. It never blocks. Where it reports false and the member
	// has not left, the member is served again when that write is over.
	take(*member) bool
	// send sends a frame. It never blocks. The turn is taken, and is given back
	// when the frame is written.
	send(*frame)
	// give gives the turn back where there is nothing to send.
	give()
	// dismiss makes take fail for the member from now on.
	dismiss(*member)
}

// turn sees to it that one message at a time is written to a connection, and that
// a member for which there was no turn gets one. Its zero value is ready.
type turn struct {
	mu   sync.Mutex
	busy bool // a write is under way
	over bool // the connection has ended
	late []*member
	free chan struct{} // closed when the write is over; nil where nobody waits
}

// take takes the turn for a member, if it is free.
func (t *turn) take(m *member) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over || m.left:
		return false
	case t.busy:
		if !m.late {
			m.late = true
			t.late = append(t.late, m)
		}
		return false
	default:
		t.busy = true
		return true
	}
}

// try takes the turn if it is free.
func (t *turn) try() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy || t.over {
		return false
	}
	t.busy = true
	return true
}

// wait takes the turn as soon as it is free, and returns false where the connection
// has ended.
func (t *turn) wait() bool {
	for {
		t.mu.Lock()
		if t.over || !t.busy {
			t.busy = t.busy || !t.over
			over := t.over
			t.mu.Unlock()
			return !over
		}
		if t.free == nil {
			t.free = make(chan struct{})
		}
		free := t.free
		t.mu.Unlock()
		<-free
	}
}

// give gives the turn back.
func (t *turn) give() {
	t.mu.Lock()
	late := t.late
	t.busy, t.late = false, nil
	for _, m := range late {
		m.late = false
	}
	t.wake()
	t.mu.Unlock()
	for _, m := range late {
		m.view.want(m)
	}
}

// wake wakes who waits. The mutex is held.
func (t *turn) wake() {
	if t.free != nil {
		close(t.free)
		t.free = nil
	}
}

// end ends all turns but the one that is taken.
func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over, t.late = true, nil
	t.wake()
}

// ended waits until no turn is taken any more. It follows end.
func (t *turn) ended() {
	for {
		t.mu.Lock()
		if !t.busy {
			t.mu.Unlock()
			return
		}
		if t.free == nil {
			t.free = make(chan struct{})
		}
		free := t.free
		t.mu.Unlock()
		<-free
	}
}

func (t *turn) dismiss(m *member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.left = true
}
