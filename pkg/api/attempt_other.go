//go:build !unix

package api

import "syscall"

// attempt writes nothing here, where sockets cannot be written to without waiting;
// somebody waits instead.
func attempt(syscall.RawConn, []byte) (int, error) { return 0, nil }
