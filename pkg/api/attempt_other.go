//go:build !unix

package api

import "syscall"

// attempts are none here.
type attempts struct{}

// attempt writes nothing here, where sockets cannot be written to without waiting;
// somebody waits instead.
func (*attempts) attempt(syscall.RawConn, []byte) (int, error) { return 0, nil }
