package api

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// silence returns for how long the other side's kernel has acknowledged nothing, where
// something is on its way to it, and 0 where nothing is. A client that is stopped or
// busy is not silent: its kernel acknowledges what comes, and that there is no room.
// Only one that is gone, or behind a broken network, is (tcp(7), TCP_INFO).
func silence(conn syscall.RawConn) (d time.Duration) {
	_ = conn.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil && info.Unacked > 0 { // an error: it is no TCP
			d = time.Duration(info.Last_ack_recv) * time.Millisecond
		}
	})
	return d
}
