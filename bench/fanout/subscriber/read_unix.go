//go:build unix

package subscriber

import (
	"errors"
	"syscall"
)

// errNothing says that there is nothing to read now.
var errNothing = errors.New("nothing to read")

// readSome reads what is there.
func readSome(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, b)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, errNothing
		default:
			return n, err
		}
	}
}
