package subscriber

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The families.
const (
	Countd = "countd"
	Steve  = "steve"
)

// Question is what a crowd asks. It is immutable.
type Question struct {
	// URL of the server: "http://127.0.0.1:8080".
	URL string
	// Family is Countd or Steve.
	Family string
	// Namespaces that are asked for, in countd's own family; nil: all.
	Namespaces []string
	// Debounce that is asked for.
	Debounce time.Duration
	// Deflate says that compressed messages are understood, as browsers do.
	Deflate bool
	// Buffer is the size of the kernel's buffer for what was received, over a
	// network whose packets are those of Ethernet; 0: loopback's own.
	Buffer int
}

// ethernet is how many bytes of TCP a packet has there. Loopback's are 64 KiB, for which
// the kernel on the server's side buffers some megabytes.
const ethernet = 1460

const handshakeTimeout = 30 * time.Second

// dial opens a connection, asks, and returns what came after the handshake.
func (q Question) dial(ctx context.Context) (*net.TCPConn, []byte, error) {
	u, err := url.Parse(q.URL)
	if err != nil {
		return nil, nil, err
	}
	dialer := net.Dialer{Timeout: handshakeTimeout}
	if q.Buffer > 0 {
		dialer.Control = func(_, _ string, c syscall.RawConn) (err error) {
			failed := c.Control(func(fd uintptr) {
				err = errors.Join(syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, q.Buffer),
					syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, ethernet))
			})
			return errors.Join(failed, err)
		}
	}
	c, err := dialer.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, nil, err
	}
	conn, ok := c.(*net.TCPConn)
	if !ok {
		return nil, nil, fmt.Errorf("%s is not TCP", u.Host)
	}
	rest, err := q.shake(conn, u.Host)
	if err != nil {
		_ = conn.Close()
		return nil, nil, fmt.Errorf("opening a websocket: %w", err)
	}
	return conn, rest, nil
}

// shake does the handshake.
func (q Question) shake(conn *net.TCPConn, host string) (rest []byte, err error) {
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return nil, err
	}
	request := "GET " + q.path() + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
	if q.Family == Countd {
		request += "Sec-WebSocket-Protocol: v1.countd\r\n"
	}
	if q.Deflate {
		request += "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n"
	}
	if _, err := conn.Write([]byte(request + "\r\n")); err != nil {
		return nil, err
	}
	var head []byte
	end, chunk := -1, make([]byte, 1024)
	for end < 0 {
		n, err := conn.Read(chunk)
		if err != nil {
			return nil, err
		}
		head = append(head, chunk[:n]...)
		if end = bytes.Index(head, []byte("\r\n\r\n")); end < 0 && len(head) > 64<<10 {
			return nil, fmt.Errorf("an answer without an end: %.100q", head)
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head[:end+4])), nil)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols {
		return nil, fmt.Errorf("the server answers %s", response.Status)
	}
	if q.Family == Steve {
		ask := map[string]any{"resourceType": "count", "debounceMs": q.Debounce.Milliseconds()}
		text, err := json.Marshal(ask)
		if err != nil {
			return nil, err
		}
		if _, err := conn.Write(masked(textMessage, text)); err != nil {
			return nil, err
		}
	}
	return head[end+4:], conn.SetDeadline(time.Time{})
}

// path is what is asked for.
func (q Question) path() string {
	if q.Family == Steve {
		return "/v1/subscribe?sockId=1"
	}
	query := url.Values{"debounceMs": {strconv.FormatInt(q.Debounce.Milliseconds(), 10)}}
	if q.Namespaces != nil {
		query.Set("namespaces", strings.Join(q.Namespaces, ","))
	}
	return "/api/v1/watch?" + query.Encode()
}

// The opcodes of frames: RFC 6455, 11.8.
const (
	continuation = 0
	textMessage  = 1
	closeMessage = 8
	pingMessage  = 9
	pongMessage  = 10
)

// masked is a frame with at most 125 bytes from a client, masked with zeros.
func masked(opcode byte, payload []byte) []byte {
	return append([]byte{1<<7 | opcode, 1<<7 | byte(len(payload)), 0, 0, 0, 0}, payload...)
}
