package counts

// AppendJSON appends the counts of all resources as one JSON object, by resource
// key:
//
//	{"pods":{"kind":"Pod","version":"v1","namespaced":true,
//	  "summary":{"count":3,"states":{"failed":1},"errors":1},
//	  "namespaces":{"a":{"count":3,"states":{"failed":1},"errors":1}}}}
//
// A number that is zero is left out; namespaces is there for every namespaced
// resource.
func (s *Snapshot) AppendJSON(b []byte) []byte {
	w := writer{b: b}
	w.open()
	for c := range s.Resources() {
		w.key(c.key)
		c.write(&w, 0)
	}
	w.close()
	return w.b
}

// AppendPatch appends the JSON Merge Patch (RFC 7396) that makes the AppendJSON
// of the snapshot with the given seq into that of s, and reports whether it is
// more than an empty one. It is right only where s reaches back to that seq; see
// [Snapshot.Reaches].
func (s *Snapshot) AppendPatch(b []byte, since uint64) (patch []byte, changed bool) {
	w := writer{b: b}
	w.open()
	for c := range s.Changed(since, Own) {
		changed = true
		w.key(c.key)
		if c.gone {
			w.null()
		} else {
			c.write(&w, since)
		}
	}
	w.close()
	return w.b, changed
}

// write writes what changed since. Since 0 it is the whole, without nulls.
func (c *Counted) write(w *writer, since uint64) {
	defined := c.defined > since
	w.open()
	if defined {
		w.key("kind")
		w.string(c.resource.Kind)
		w.key("version")
		w.string(c.resource.Version)
		w.key("namespaced")
		w.bool(c.resource.Namespaced)
	}
	if defined || c.total.stamps[Own] > since {
		w.key("summary")
		c.total.write(w, since)
	}
	switch {
	case c.resource.Namespaced:
		c.writeNamespaces(w, since, defined)
	case defined && since > 0: // it may have been namespaced before
		w.key("namespaces")
		w.null()
	}
	w.close()
}

func (c *Counted) writeNamespaces(w *writer, since uint64, always bool) {
	begun := false
	begin := func() {
		if !begun {
			begun = true
			w.key("namespaces")
			w.open()
		}
	}
	if always {
		begin()
	}
	c.namespaces.scan(func(namespace string, n *Numbers) bool {
		gone := n.Count() == 0
		switch {
		case n.stamps[Own] <= since || (gone && since == 0):
		case gone:
			begin()
			w.key(namespace)
			w.null()
		default:
			begin()
			w.key(namespace)
			n.write(w, since)
		}
		return true
	})
	if begun {
		w.close()
	}
}

// write writes those numbers that changed since, null for one that fell to zero.
func (n *Numbers) write(w *writer, since uint64) {
	w.open()
	words, changed := 0, false
	for _, c := range n.cells {
		switch {
		case c.id >= cellWords:
			words += int(c.n)
			changed = changed || c.seq > since
		case !steves(c.id):
			n.writeCell(w, since, c)
		}
	}
	if changed && words == 0 && since > 0 {
		w.key("states")
		w.null()
	}
	if changed && words > 0 {
		w.key("states")
		w.open()
		for _, c := range n.cells {
			if c.id >= cellWords {
				n.writeCell(w, since, c)
			}
		}
		w.close()
	}
	w.close()
}

func (n *Numbers) writeCell(w *writer, since uint64, c cell) {
	switch {
	case c.seq <= since || (c.n == 0 && since == 0):
		return
	case c.id >= cellWords:
		w.key(n.words[c.id-cellWords])
	default:
		w.key([...]string{cellCount: "count", cellErrors: "errors", cellTransitioning: "transitioning"}[c.id])
	}
	if c.n == 0 {
		w.null()
	} else {
		w.int(int64(c.n))
	}
}
