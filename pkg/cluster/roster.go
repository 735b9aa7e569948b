package cluster

import (
	"context"

	"github.com/countd/countd/pkg/counts"
)

// roster is the sink of the namespaces of which rights are to be known.
type roster struct {
	*rights
	put map[string]bool // in the round that is under way; nil outside
}

// Begin starts a round: what is not put until End is gone.
func (r *roster) Begin(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put = make(map[string]bool)
	return nil
}

// Put says that there is a namespace.
func (r *roster) Put(_ context.Context, o counts.Object) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.put != nil {
		r.put[o.Name] = true
	}
	if _, ok := r.spaces[o.Name]; ok {
		return nil
	}
	s := new(space)
	if !r.isKnown() {
		s.again = len(reviewAgain) // it is not new
	}
	r.spaces[o.Name] = s
	select {
	case r.woken <- struct{}{}:
	default: // it has been woken and did not look yet
	}
	return nil
}

// Remove says that there is no such namespace.
func (r *roster) Remove(_ context.Context, _, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.spaces, name)
	delete(r.put, name)
	r.changed()
	return nil
}

// End ends a round.
func (r *roster) End(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.spaces {
		if !r.put[name] {
			delete(r.spaces, name)
		}
	}
	r.put = nil
	r.changed()
	return nil
}
