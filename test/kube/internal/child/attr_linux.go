package child

import "syscall"

// attr lets the kernel kill the child with its parent, also a child that is
// stopped, and keeps a terminal's Ctrl-C from it: its parent stops it in order.
func attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
