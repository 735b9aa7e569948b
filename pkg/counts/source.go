package counts

import (
	"context"
	"fmt"
)

// Source is where the objects of one resource come from. What it says is folded
// in the order in which it says it, so one goroutine at a time should speak.
//
// A source reads in rounds. Between Begin and End nothing of its resource is
// published; at End, what was not put since Begin is gone, and all changes
// become visible at once. A round that does not end is taken up by the next
// Begin. Nothing is published before the first End. After End, each Put and
// Remove is published as it comes.
//
// An object counts by namespace and name: to put it again replaces what it
// contributed, to remove it takes that away. Duplicates, deletions of which only
// the key is known and objects that were recreated are therefore counted right,
// and no resourceVersion is compared.
type Source struct {
	counter  *Counter
	id       uint32
	resource Resource
}

// Source opens the source of a resource. A resource can have one at a time.
func (c *Counter) Source(ctx context.Context, r Resource) (*Source, error) {
	if r.Name == "" || r.Kind == "" {
		return nil, fmt.Errorf("counts: resource %+v: Name and Kind are needed", r)
	}
	c.mu.Lock()
	_, taken := c.open[r.Key()]
	c.lastID++
	s := &Source{counter: c, id: c.lastID, resource: r}
	if !taken {
		c.open[r.Key()] = s.id
	}
	c.mu.Unlock()
	if taken {
		return nil, fmt.Errorf("counts: %s: %w", r.Key(), ErrTaken)
	}
	if err := s.send(ctx, event{op: opOpen, resource: &r}); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

func (s *Source) release() {
	c, key := s.counter, s.resource.Key()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[key] == s.id { // and not that of a source opened since
		delete(c.open, key)
	}
}

// Part is one namespace of a source that is read namespace by namespace. Its
// rounds are its own: between its Begin and End nothing of its namespace is
// published, while the others go on, and at End only what is in its namespace is
// swept. It begins with a round; until the first End of the Source itself, nothing of
// the resource is published, and what is in no part is gone with it. Everything that
// is put has to be in the namespace.
//
// A source that is read as a whole comes to be read in parts when the first part
// begins, and is read as a whole again when it begins itself. What is published stays
// meanwhile.
type Part struct {
	source    *Source
	namespace string
}

// In returns the part of one namespace. The resource must be namespaced, and while it
// is read in parts none of it be put but in parts.
func (s *Source) In(namespace string) *Part { return &Part{source: s, namespace: namespace} }

// Begin starts a round of the namespace.
func (p *Part) Begin(ctx context.Context) error {
	return p.source.send(ctx, event{op: opBegin, part: true, namespace: p.namespace})
}

// Put is [Source.Put].
func (p *Part) Put(ctx context.Context, o Object) error { return p.source.Put(ctx, o) }

// Remove is [Source.Remove].
func (p *Part) Remove(ctx context.Context, namespace, name string) error {
	return p.source.Remove(ctx, namespace, name)
}

// End ends a round of the namespace and returns once its result is in the
// snapshot, unless nothing of the resource is published yet.
func (p *Part) End(ctx context.Context) error {
	return p.source.sendAndWait(ctx, event{op: opEnd, part: true, namespace: p.namespace})
}

// Close ends the part: its namespace is empty from then on, and it returns once that
// is in the snapshot, unless nothing of the resource is published yet.
func (p *Part) Close(ctx context.Context) error {
	return p.source.sendAndWait(ctx, event{op: opClose, part: true, namespace: p.namespace})
}

// Begin starts a round.
func (s *Source) Begin(ctx context.Context) error { return s.send(ctx, event{op: opBegin}) }

// Put says that there is an object, and its state. The namespace of a
// cluster-scoped one is empty.
func (s *Source) Put(ctx context.Context, o Object) error {
	return s.send(ctx, event{
		op:        opPut,
		key:       s.counter.hasher.key(o.Namespace, o.Name),
		namespace: o.Namespace,
		word:      o.State.Word,
		flags:     flagsOf(o),
	})
}

// Remove says that there is no such object.
func (s *Source) Remove(ctx context.Context, namespace, name string) error {
	return s.send(ctx, event{op: opRemove, key: s.counter.hasher.key(namespace, name)})
}

// End ends a round and returns once its result is in the snapshot.
func (s *Source) End(ctx context.Context) error { return s.sendAndWait(ctx, event{op: opEnd}) }

// Sync returns once all that was said before is in the snapshot, unless a round
// is under way.
func (s *Source) Sync(ctx context.Context) error {
	return s.sendAndWait(ctx, event{op: opSync})
}

// Redefine says that the resource is now read in another version or has another
// kind. Its key and its scope cannot change: for that, close the source and open
// another.
func (s *Source) Redefine(ctx context.Context, r Resource) error {
	if r.Key() != s.resource.Key() || r.Namespaced != s.resource.Namespaced {
		return fmt.Errorf("counts: cannot redefine %+v as %+v: another key or scope", s.resource, r)
	}
	s.resource = r
	return s.send(ctx, event{op: opDefine, resource: &r})
}

// Close ends the counting of the resource, which leaves the snapshot, and
// returns once it has. Afterwards another source may be opened for it.
func (s *Source) Close(ctx context.Context) error {
	err := s.sendAndWait(ctx, event{op: opClose})
	s.release()
	return err
}

func (s *Source) send(ctx context.Context, e event) error {
	e.source = s.id
	select {
	case s.counter.events <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.counter.stopped:
		return ErrStopped
	}
}

func (s *Source) sendAndWait(ctx context.Context, e event) error {
	e.done = make(chan struct{})
	if err := s.send(ctx, e); err != nil {
		return err
	}
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.counter.stopped:
		return ErrStopped
	}
}
