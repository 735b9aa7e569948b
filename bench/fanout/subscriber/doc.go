// Package subscriber is many clients of a server of counts, in steve's family or in
// countd's own, that cost little: ten thousand of them in one process, beside the server
// on the same machine.
//
//	socket (one goroutine, no buffer) ─► stream ─► message ─► state
//	  a connection                       frames    one for all that are sent the same
//
// A connection without anything to read has a goroutine and a few words; bytes are read
// into a buffer that all share. What comes is compared with what others were sent: a
// message is kept, inflated and parsed once, whoever and however many receive it, and
// all who held the same and were sent the same hold one [State]. So each connection's
// state is known exactly, and a connection that was sent a byte that is not another's has
// a message and a state of its own.
//
// A [Crowd] is all connections that ask the same question of one server. Where a rule of
// the family is broken (a difference that does not begin where the client is, an error
// message, a stop), the connection counts as lost.
package subscriber
