//go:build unix

package kube

import (
	"os"
	"syscall"
)

// lockFile waits for an exclusive lock, which ends when the file is closed or the
// process dies.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			return err
		}
	}
}
