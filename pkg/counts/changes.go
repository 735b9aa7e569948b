package counts

import "slices"

// Changes is what changed between two snapshots, by name alone: enough to tell
// readers of a part that nothing changed in theirs, without projecting it. It is
// owned by whoever asked for it.
type Changes struct {
	any        bool // everything may have changed
	redefined  bool // a resource came, went or changed its kind, version or scope
	resources  map[string]struct{}
	namespaces map[string]struct{} // nil where they were not asked for
}

// Changes returns what changed since the given seq, in any reading. Where s does
// not reach back to it, that may be everything. It costs a look at each resource
// and, with namespaces, at each namespace of the resources that changed; without,
// [Changes.Touch] takes every namespace for changed.
func (s *Snapshot) Changes(since uint64, namespaces bool) Changes {
	if !s.Reaches(s.epoch, since) {
		return Changes{any: true}
	}
	changes := Changes{resources: make(map[string]struct{})}
	if namespaces {
		changes.namespaces = make(map[string]struct{})
	}
	s.resources.Scan(func(key string, c *Counted) bool {
		if c.Seq() <= since {
			return true
		}
		changes.resources[key] = struct{}{}
		changes.redefined = changes.redefined || c.defined > since
		if namespaces {
			c.namespaces.scan(func(namespace string, n *Numbers) bool {
				if n.stamps.any() > since {
					changes.namespaces[namespace] = struct{}{}
				}
				return true
			})
		}
		return true
	})
	return changes
}

// Touch reports whether anything that a selector selects may have changed. It
// never says no where something has.
func (c Changes) Touch(sel Selector) bool {
	switch {
	case c.any:
		return true
	case sel.Resources == nil && len(c.resources) == 0:
		return false
	case sel.Resources != nil && !containsAny(c.resources, sel.Resources):
		return false
	case sel.Namespaces == nil || c.redefined || c.namespaces == nil:
		return true
	default:
		return containsAny(c.namespaces, sel.Namespaces)
	}
}

func containsAny(set map[string]struct{}, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, ok := set[name]; return ok })
}
