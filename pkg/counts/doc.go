// Package counts is the domain of countd: how many objects of each resource
// there are, in which namespace and in which state.
//
//	Source ──event──► Counter.Run ──► tally ──publish──► Snapshot ──► Subscribe
//	(any goroutine)   (one goroutine)  (the fold)        (immutable)  (deep copies)
//
// The tally is owned by the goroutine that runs [Counter.Run] and by nobody else
// (R1). What leaves it is a [Snapshot], which never changes again, or an [Update],
// which is built anew for each subscriber and is the receiver's to write to (R2).
// A Source waits for the tally, never for a subscriber; a subscriber that is slow
// gets the newest state when it is ready, and nothing is queued for it (R4, R5).
//
// The package imports nothing of Kubernetes and reads no clock.
package counts
