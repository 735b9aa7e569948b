//go:build unix && !linux

package child

import "syscall"

// attr keeps a terminal's Ctrl-C from the child: its parent stops it in order.
func attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
