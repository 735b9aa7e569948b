package subscriber

import (
	"bytes"
	"compress/flate"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard is what a stream has in it.
type heard struct {
	messages []string
	pings    []string
	under    []byte
}

func (h *heard) piece(b []byte, first, _ bool) {
	if first {
		h.under = nil
	}
	h.under = append(h.under, b...)
}

func (h *heard) end() error {
	h.messages = append(h.messages, string(h.under))
	return nil
}

func (h *heard) ping(payload []byte) error {
	h.pings = append(h.pings, string(payload))
	return nil
}

// frame is a frame of a server.
func frame(first byte, text string) []byte {
	m := message{bytes: []byte(text)}
	b := m.frame().Bytes
	b[0] = first
	return b
}

// TestStreamIsReadInAnyPieces: fragments, control frames between them and headers of all
// lengths, however they are cut.
func TestStreamIsReadInAnyPieces(t *testing.T) {
	const final = 1 << 7
	middle, long := strings.Repeat("m", 300), strings.Repeat("l", 70_000)
	wire := bytes.Join([][]byte{
		frame(final|textMessage, "short"), frame(final|pingMessage, "?"), frame(final|textMessage, middle), frame(final|pingMessage, ""),
		frame(textMessage, "one "), frame(final|pingMessage, "!"), frame(continuation, "two "), frame(final|continuation, "three"),
		frame(final|textMessage, long), frame(final|pongMessage, "x"), frame(final|textMessage, "last"),
	}, nil)
	want := []string{"short", middle, "one two three", long, "last"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var s stream
		var h heard
		for rest := wire; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(1<<r.IntN(17)))
			if err := s.feed(rest[:n], &h); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, h.messages); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff([]string{"?", "", "!"}, h.pings); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestStreamRefusesWhatIsOutOfOrder, and says why a server closes.
func TestStreamRefusesWhatIsOutOfOrder(t *testing.T) {
	for want, wire := range map[string][]byte{
		"masked":              {0x81, 0x80},
		"opcode 0":            frame(1<<7|continuation, "x"),
		"opcode 3":            frame(1<<7|3, "x"),
		"opcode 9":            frame(pingMessage, "x"),
		"opcode 1":            append(frame(textMessage, "x"), frame(textMessage, "x")...),
		"1001 the server end": frame(1<<7|closeMessage, "\x03\xe9the server ends"),
	} {
		var s stream
		if err := s.feed(wire, new(heard)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%x: %v, want %s", wire, err, want)
		}
	}
}

// TestMessagesAreShared: connections that are sent the same have one message, however
// their pieces fall; one that is sent another byte has its own.
func TestMessagesAreShared(t *testing.T) {
	same, other := []byte(strings.Repeat("abc", 1000)), []byte(strings.Repeat("abc", 999)+"abd")
	short := same[:1500]
	texts := [][]byte{same, same, other, same, short, other, same, short}
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		var ms messages
		under, offsets := make([]*message, len(texts)), make([]int, len(texts))
		var whole []*message
		for left := len(texts); left > 0; {
			i := r.IntN(len(texts))
			if offsets[i] == len(texts[i]) {
				continue
			}
			n := min(len(texts[i])-offsets[i], 1+r.IntN(700))
			under[i] = ms.piece(under[i], offsets[i], texts[i][offsets[i]:][:n], false)
			if offsets[i] += n; offsets[i] == len(texts[i]) {
				under[i] = ms.end(under[i], offsets[i])
				whole = append(whole, under[i])
				left--
			}
		}
		different := make(map[*message]bool)
		for _, m := range whole {
			different[m] = true
		}
		for i, m := range under {
			if !bytes.Equal(m.bytes, texts[i]) {
				t.Fatalf("connection %d has a message of %d bytes, was sent %d", i, len(m.bytes), len(texts[i]))
			}
		}
		if len(different) != 3 {
			t.Fatalf("%d messages, want 3", len(different))
		}
	}
}

// TestMessageIsInflated as a server deflates it.
func TestMessageIsInflated(t *testing.T) {
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"type":"snapshot"}`
	_, _ = z.Write([]byte(text))
	if err := z.Flush(); err != nil {
		t.Fatal(err)
	}
	m := message{compressed: true, bytes: bytes.TrimSuffix(out.Bytes(), []byte("\x00\x00\xff\xff"))}
	if got, err := m.inflate(); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
}

// TestStatesFollow: what a client holds after some messages, in each family.
func TestStatesFollow(t *testing.T) {
	counts := map[string]Kind{
		"pods": {Count: 4, Namespaces: map[string]int{"b": 4}}, "nodes": {Namespaces: map[string]int{}},
	}
	for family, messages := range map[string][]string{
		Countd: {
			`{"type":"snapshot","epoch":"e","seq":1,"resources":{"pods":{"summary":{"count":3},"namespaces":{"a":{"count":1},"b":{"count":2}}},"gone":{"summary":{"count":1}},"nodes":{"summary":{"count":2}}}}`,
			`{"type":"delta","epoch":"e","from":1,"seq":5,"resources":{"pods":{"summary":{"states":{"error":1}}},"gone":null,"nodes":{"summary":{"count":null}}}}`,
			`{"type":"delta","epoch":"e","from":5,"seq":6,"resources":{"pods":{"summary":{"count":4},"namespaces":{"a":null,"b":{"count":4}}}}}`,
		},
		Steve: {
			`{"name":"resource.start","resourceType":"count","data":{}}`,
			`{"name":"resource.change","data":{"counts":{"pods":{"summary":{"count":3},"namespaces":{"a":{"count":3}}},"nodes":{"summary":{"count":2}}}}}`,
			`{"name":"ping","data":{"version":"1"}}`,
			`{"name":"resource.change","data":{"counts":{"pods":{"summary":{"count":4},"namespaces":{"b":{"count":4}}},"nodes":{"summary":{}}}}}`,
		},
	} {
		var s *State
		for _, text := range messages {
			var err error
			if s, err = s.then(family, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(counts, s.Kinds); diff != "" {
			t.Errorf("%s (-want +got):\n%s", family, diff)
		}
	}
}

// TestStatesAreNotGuessed: a difference to something else, an error and a stop end a
// connection.
func TestStatesAreNotGuessed(t *testing.T) {
	s := &State{epoch: "e", seq: 3}
	for _, c := range []struct{ family, text string }{
		{Countd, `{"type":"delta","epoch":"e","from":2,"seq":4,"resources":{}}`},
		{Countd, `{"type":"delta","epoch":"f","from":3,"seq":4,"resources":{}}`},
		{Countd, `{"type":"error","code":403,"reason":"Forbidden"}`},
		{Steve, `{"name":"resource.stop","data":{}}`},
		{Steve, `{"name":"resource.error","data":{"error":"too old"}}`},
		{Steve, `{`},
	} {
		if _, err := s.then(c.family, []byte(c.text)); err == nil {
			t.Errorf("%s: %s is no error", c.family, c.text)
		}
	}
}

// TestLatenciesAreOfEachChangeAtEachConnection, rounded up.
func TestLatenciesAreOfEachChangeAtEachConnection(t *testing.T) {
	c := NewCrowd(Question{}, "")
	at := func(ms int) time.Time { return c.began.Add(time.Duration(ms) * time.Millisecond) }
	a := make(Arrivals)
	a.add(Step{10, 12}, 30*time.Millisecond)
	a.add(Step{10, 12}, 40*time.Millisecond)
	a.add(Step{12, 13}, 50*time.Millisecond)
	got := c.Latencies(a, 10, []time.Time{at(0), at(20), at(45)})
	if diff := cmp.Diff(Latencies{31: 1, 41: 1, 11: 1, 21: 1, 6: 1}, got); diff != "" {
		t.Error(diff)
	}
	for share, want := range map[float64]int{0: 6, 0.3: 11, 0.5: 21, 0.99: 41, 1: 41} {
		if ms := got.Quantile(share); ms != want {
			t.Errorf("quantile %g is %d, want %d", share, ms, want)
		}
	}
}
