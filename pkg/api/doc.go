// Package api serves counts over HTTP: REST and health, streams over websockets,
// server-sent events and newline-delimited JSON, in two families of messages.
// One is countd's own, under /api/v1. The other, under /v1, is what Rancher's
// steve speaks for counts, so that its dashboard works against countd unchanged.
//
//	reader ──message──► stream ◄──ready── follower (one a subscription,
//	(handler)           (writer)           in debounce.Run)
//	                      │ ▲
//	               frames ▼ └─ newest Snapshot, and the subscription's cursor
//	                   transport: websocket · SSE · NDJSON
//
// A stream is owned by one goroutine, which alone writes to its client. A
// follower never carries a message: it says that there may be something new, and
// the stream works out what that is when it can write, from the newest snapshot
// and from what the client holds. So nothing is queued for a client that is slow
// (R4), it gets one newest state when it reads again, and the last state always
// arrives (R5). Snapshots are immutable and messages are built for one client, so
// nothing is shared that anybody writes to (R2).
//
// Nobody is asked who they are yet. Until somebody is, countd listens on loopback
// only; see [Listen].
package api
