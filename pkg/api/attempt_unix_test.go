//go:build unix

package api

import (
	"io"
	"net"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestAttemptTakesWhatFits: a message is written without a piece of memory for it, and of
// one that is too large for the kernel as much as it takes, without waiting.
func TestAttemptTakesWhatFits(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var as attempts
	socket, message, all := raw(conn), []byte("message"), 0
	write := func() {
		n, err := as.attempt(socket, message)
		if err != nil || n != len(message) {
			t.Errorf("%d bytes of %d: %v", n, len(message), err)
		}
		all += n
	}
	// The race detector has pools forget, now and then.
	if allocations := testing.AllocsPerRun(1000, write); allocations >= 2 {
		t.Errorf("writing a message allocates %g times", allocations)
	}
	large := make([]byte, 64<<20)
	n, err := as.attempt(socket, large)
	if err != nil || n == 0 || n == len(large) {
		t.Errorf("%d bytes of %d: %v", n, len(large), err)
	}
	if more, err := as.attempt(socket, large); err != nil || more >= n {
		t.Errorf("%d more bytes: %v", more, err)
	} else {
		n += more
	}
	var group errgroup.Group
	group.Go(conn.Close)
	if got, err := io.Copy(io.Discard, client); err != nil || got != int64(all+n) {
		t.Errorf("%d bytes were read, %d written: %v", got, all+n, err)
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := as.attempt(socket, message); err == nil {
		t.Error("writing to what is closed is no error")
	}
	_ = client.Close()
}
