// Package api serves counts over HTTP: REST and health, streams over websockets,
// server-sent events and newline-delimited JSON, in two families of messages.
// One is countd's own, under /api/v1. The other, under /v1, is what Rancher's
// steve speaks for counts, so that its dashboard works against countd unchanged.
//
//	pace (one an interval)        conversation ◄──message── reader (one a websocket)
//	  │ what changed, by name       │ joins
//	  ▼                             ▼
//	view (one a question) ───── members, each with a cursor
//	  │ frames, encoded once        ▲ again when it can take more
//	  ▼                             │
//	outlet: websocket · SSE · NDJSON, with one write under way at most
//
// Subscriptions that ask for the same share a view: one projection, one debounce,
// one encoding and one compression of each message. A view is owned by one goroutine.
// It works out what a client lacks when the client can take it, from the newest
// snapshot and from the client's cursor; clients with the same cursor are sent the
// same frame. So nothing is queued for a client that is slow (R4), it gets one newest
// state when it reads again, and the last state always arrives (R5). Snapshots and
// frames are immutable (R2).
//
// Writing never holds a view up: what the kernel does not take at once is written
// by a goroutine of the connection's own, and until that is done the view passes
// the connection by. Between messages a websocket has one goroutine, which reads.
//
// Nobody is asked who they are yet. Until somebody is, countd listens on loopback
// only; see [Listen].
package api
