package kube

import "syscall"

// childAttr lets the kernel kill the child with its parent, also one that is
// stopped, and keeps a terminal's Ctrl-C from it: its parent stops it in order.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
