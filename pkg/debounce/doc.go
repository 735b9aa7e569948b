// Package debounce coalesces a state that changes often into flushes that are
// rare: the first change after quiet is flushed at once, then there is at most
// one flush an interval, and the last state is always flushed.
//
//	change   x xx x  x x                  x
//	flush    |    |    |                  |
//	         at once   the last           at once
//
// Nothing is queued. What is coalesced is a level, not a train of events: a
// source that can be asked for its newest value and that says when there is a
// newer one. Whatever comes while a flush is waiting, or while it blocks, is
// therefore part of the next, and the last one cannot be lost (R4, R5). An idle
// debouncer has no timer.
//
// The package knows nothing of Kubernetes and nothing else of countd.
package debounce
