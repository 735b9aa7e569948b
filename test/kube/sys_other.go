//go:build unix && !linux

package kube

import "syscall"

// childAttr keeps a terminal's Ctrl-C from the child: its parent stops it in
// order. The child ends with its parent because its standard input does.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
