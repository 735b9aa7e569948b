//go:build unix

package api

import (
	"errors"
	"syscall"
)

// attempt writes as much as the connection's buffer takes at once, without waiting.
func attempt(conn syscall.RawConn, b []byte) (n int, err error) {
	var failed error
	err = conn.Write(func(fd uintptr) bool {
		for n < len(b) {
			var wrote int
			wrote, failed = syscall.Write(int(fd), b[n:])
			if wrote > 0 {
				n += wrote
			}
			if failed != nil && !errors.Is(failed, syscall.EINTR) {
				break
			}
		}
		return true // whatever it took: who waits is somebody else
	})
	if errors.Is(failed, syscall.EAGAIN) {
		failed = nil
	}
	return n, errors.Join(err, failed)
}
