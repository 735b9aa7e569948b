// Package cluster reads a Kubernetes cluster into a counts.Counter: it discovers
// what can be counted, keeps one watch a resource, and turns each object into its
// key, its namespace and its state.
//
//	discovery ──► Watcher ──► feed (one a resource) ──► counts.Source
//	                 ▲            │
//	                 └── kick ────┘  a CRD or an APIService changed
//
// No object is kept. A feed reads in rounds (see counts.Source): a list is applied
// as it arrives, and what was not seen by its end is gone, so that the memory of
// reading a resource anew is that of one event or one page, and a list that is cut
// short never becomes a count.
//
// Each feed runs in a goroutine of its own that Watcher.Run waits for; a resource
// that hangs or fails costs nobody else anything. An embedder that runs informers
// already counts from them with [CountInformer] instead, without a second watch.
//
// The package writes to no global, the scheme of client-go least of all (R3).
package cluster
