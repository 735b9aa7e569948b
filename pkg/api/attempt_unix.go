//go:build unix

package api

import (
	"errors"
	"sync"
	"syscall"
)

// attempts are used again: what a connection is given to call is on the heap, and a
// message to ten thousand clients needs as many. Its zero value is ready.
type attempts struct{ pool sync.Pool }

// attempt is one call of syscall.RawConn.Write.
type attempt struct {
	rest   []byte
	failed error
	write  func(fd uintptr) bool // its own method
}

// attempt writes as much as the connection's buffer takes at once, without waiting.
func (as *attempts) attempt(conn syscall.RawConn, b []byte) (n int, err error) {
	a, ok := as.pool.Get().(*attempt)
	if !ok {
		a = new(attempt)
		a.write = a.writeTo
	}
	a.rest, a.failed = b, nil
	err = conn.Write(a.write)
	n, failed := len(b)-len(a.rest), a.failed
	a.rest = nil // a message must not live on because it was written
	as.pool.Put(a)
	if errors.Is(failed, syscall.EAGAIN) {
		failed = nil
	}
	return n, errors.Join(err, failed)
}

func (a *attempt) writeTo(fd uintptr) bool {
	for len(a.rest) > 0 {
		var n int
		n, a.failed = syscall.Write(int(fd), a.rest)
		if n > 0 {
			a.rest = a.rest[n:]
		}
		if a.failed != nil && !errors.Is(a.failed, syscall.EINTR) {
			break
		}
	}
	return true // whatever it took: who waits is somebody else
}
