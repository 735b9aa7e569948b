package api

import (
	"net"
	"syscall"
)

type rawConn = syscall.RawConn

// raw returns what attempts can be made on, or nil for a connection that is no
// socket, such as a pipe or TLS.
func raw(conn net.Conn) rawConn {
	s, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	r, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return r
}
