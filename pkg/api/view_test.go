package api

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/countd/countd/pkg/counts"
)

// TestEqualQuestionsAreEncodedOnce: however many ask the same, over whatever
// transport, there is one view and one encoding of each state.
func TestEqualQuestionsAreEncodedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		p.put("a", "x")
		const clients = 60
		var own []*transcript
		for i := range clients {
			// The order and the repetition of names make no other question.
			own = append(own, f.dial("/api/v1/watch?"+[]string{"namespaces=a,b", "namespaces=b&namespaces=a,a"}[i%2]).listen())
			f.messages("/api/v1/watch?namespaces=a,b", "sse") // of which nothing is read
		}
		synctest.Wait()
		if views, encoded := f.value("countd_api_open_views", "countd"), f.value("countd_api_encoded_frames_total", "countd"); views != 1 || encoded != 1 {
			t.Errorf("%v views, %v encodings of the snapshot", views, encoded)
		}
		var want []string
		for i := range 10 {
			p.put("a", fmt.Sprint(i))
			pass(time.Second)
			if encoded := f.value("countd_api_encoded_frames_total", "countd"); encoded != float64(i+2) {
				t.Errorf("%v encodings after %d changes", encoded, i+1)
			}
		}
		for i, heard := range own {
			got := heard.take()
			if i == 0 {
				want = got
			}
			same(t, fmt.Sprint("client ", i), got, want...)
		}
		if len(want) != 11 {
			t.Errorf("a client was sent %q", want)
		}

		var steve []*transcript
		for range clients {
			s := f.dial("/v1/subscribe")
			steve = append(steve, s.listen())
			s.say(askCount)
		}
		synctest.Wait()
		p.put("b", "x")
		pass(time.Second)
		if encoded := f.value("countd_api_encoded_frames_total", "steve"); encoded != 2 {
			t.Errorf("%v encodings in steve's family", encoded)
		}
		for _, heard := range steve {
			same(t, "names", names(t, heard.take()), resourceStart, resourceChange, resourceChange)
		}
	})
}

// TestViewEndsWithItsLastMember, and with it all that goes on for it.
func TestViewEndsWithItsLastMember(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		for range 3 {
			var clients []*body
			for i := range 4 {
				clients = append(clients, f.open(fmt.Sprintf("/api/v1/watch?namespaces=a&debounceMs=%d", 100+i%2)))
			}
			synctest.Wait()
			if views := f.value("countd_api_open_views"); views != 2 {
				t.Errorf("%v views", views)
			}
			for _, c := range clients {
				c.close()
			}
			synctest.Wait()
			if views, members := f.value("countd_api_open_views"), f.value("countd_api_open_subscriptions"); views != 0 || members != 0 {
				t.Errorf("%v views with %v members are left", views, members)
			}
			if n := len(f.server.views.byKey) + len(f.server.views.paces); n != 0 {
				t.Errorf("%d are kept", n)
			}
		}
		p.put("a", "x")
	})
}

// TestViewThatNothingTouchesIsLeftAlone: what changes elsewhere is looked at once, by
// name, however many views there are; none of them projects or encodes anything.
func TestViewThatNothingTouchesIsLeftAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		for i := range 50 {
			f.dial(fmt.Sprintf("/api/v1/watch?namespaces=ns%d", i)).listen()
		}
		synctest.Wait()
		before := f.value("countd_api_encoded_frames_total")
		for i := range 10 {
			p.put("ns7", fmt.Sprint(i))
			pass(time.Second)
		}
		if encoded := f.value("countd_api_encoded_frames_total") - before; encoded != 10 {
			t.Errorf("%v encodings for 10 changes in one of 50 views", encoded)
		}
		if skipped := f.value("countd_api_flushes_total", "skipped"); skipped != 49*10 {
			t.Errorf("%v times a view had nothing new", skipped)
		}
	})
}

// TestStateIsForgottenAtRest: once nobody has come for a while, a view keeps none of
// its messages.
func TestStateIsForgottenAtRest(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		ask := func() { f.open("/api/v1/watch?namespaces=a").line() }
		ask()
		pass(keepFrames - time.Second)
		ask()
		if encoded := f.value("countd_api_encoded_frames_total"); encoded != 1 {
			t.Errorf("%v encodings while clients came", encoded)
		}
		pass(keepFrames + time.Second)
		ask()
		if encoded := f.value("countd_api_encoded_frames_total"); encoded != 2 {
			t.Errorf("%v encodings after a rest", encoded)
		}
	})
}

// TestFramesAreAsGorillaReadsThem, of all lengths that have headers of their own,
// compressed or not.
func TestFramesAreAsGorillaReadsThem(t *testing.T) {
	var pool deflaters
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 125, 126, smallestDeflated, 1<<16 - 1, 1 << 16, 1 << 18} {
		text := strings.Repeat("a", n)
		noise := make([]byte, n) // which compression makes longer
		for i := range noise {
			noise[i] = byte(' ' + random.IntN(95))
		}
		for _, message := range []string{text, string(noise)} {
			f := newFrame([]byte(message))
			if got := string(f.line()); got != message+"\n" {
				t.Errorf("%d bytes: the line has %d", n, len(got))
			}
			for _, b := range [][]byte{f.text(), f.compressed(&pool)} {
				if got := gorillaReads(t, b); got != message {
					t.Errorf("%d bytes as a frame of %d: %d were read", n, len(b), len(got))
				}
			}
			if c := len(f.compressed(&pool)); c > len(f.text()) || (message == text && n > smallestDeflated && c > n/4) {
				t.Errorf("%d bytes are %d when they are compressed", n, c)
			}
		}
	}
}

// gorillaReads returns the message of a frame, as a client of gorilla's reads it.
func gorillaReads(t *testing.T, b []byte) string {
	t.Helper()
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 4096)
		n, _ := server.Read(buffer)
		_, key, _ := strings.Cut(string(buffer[:n]), "Sec-WebSocket-Key: ")
		key, _, _ = strings.Cut(key, "\r\n")
		_, _ = fmt.Fprintf(server, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n"+
			"Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n\r\n", acceptKey(key))
		_, _ = server.Write(b)
		_ = server.Close()
	}()
	dialer := websocket.Dialer{EnableCompression: true, NetDialContext: func(context.Context, string, string) (net.Conn, error) { return client, nil }}
	conn, _, err := dialer.DialContext(t.Context(), "ws://localhost/", nil)
	must(t, err)
	_, reader, err := conn.NextReader()
	must(t, err)
	data, err := io.ReadAll(reader)
	must(t, err)
	_ = conn.Close()
	<-done
	return string(data)
}

// TestCompressedStreamOverTCP: a client that can take it is sent compressed messages,
// and one that asks for less is not.
func TestCompressedStreamOverTCP(t *testing.T) {
	f := newFixture(t)
	p := f.source(pods)
	for i := range 200 {
		p.put(fmt.Sprintf("namespace-%d", i), "x")
	}
	listener, err := Listen(t.Context(), "localhost:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	other, err := New(Options{Counter: f.counter, Status: f.status, Settled: f.server.options.Settled})
	must(t, err)
	go func() { stopped <- other.Run(ctx, listener) }()
	_, want := f.get("/api/v1/counts")
	read := map[bool]int{}
	for _, compress := range []bool{false, true} {
		bytes := 0
		dialer := websocket.Dialer{EnableCompression: compress, NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return countedConn{conn, &bytes}, err
		}}
		conn, _, err := dialer.DialContext(t.Context(), "ws://"+listener.Addr().String()+"/api/v1/watch?debounceMs=100", nil)
		must(t, err)
		client := &clientSocket{t, conn}
		same(t, fmt.Sprint("compressed ", compress), []string{client.hear() + "\n"}, want)
		read[compress] = bytes
		must(t, conn.Close())
	}
	if read[true] > read[false]/4 {
		t.Errorf("read %d bytes compressed, %d plain", read[true], read[false])
	}
	stop()
	must(t, <-stopped)
}

// countedConn counts the bytes that are read.
type countedConn struct {
	net.Conn
	bytes *int
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	*c.bytes += n
	return n, err
}

// TestTurnsAreGivenToAllWhoAsked: whoever found a write under way is served when it
// is over, once.
func TestTurnsAreGivenToAllWhoAsked(t *testing.T) {
	var o turn
	v := newView(nil, counts.Selector{}, own{}, viewMeter{})
	a, b := &member{view: v}, &member{view: v}
	if !o.take(a) {
		t.Fatal("the first turn is not given")
	}
	for range 2 {
		if o.take(a) || o.take(b) || o.try() {
			t.Fatal("a turn is given twice")
		}
	}
	o.give()
	if len(v.wanting) != 2 || v.wanting[0] != a || v.wanting[1] != b {
		t.Errorf("%d want to be served", len(v.wanting))
	}
	o.dismiss(a)
	if o.take(a) || !o.take(b) {
		t.Error("a turn is given to who has left, or not to who has not")
	}
	waits := make(chan bool)
	go func() { waits <- o.wait() }()
	o.give()
	if !<-waits {
		t.Error("who waited got no turn")
	}
	go func() { waits <- o.wait() }()
	o.end()
	if <-waits {
		t.Error("a turn is given after the end")
	}
	o.give()
	o.ended()
}

// acceptKey is RFC 6455's answer to a client's key.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}
