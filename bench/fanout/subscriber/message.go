package subscriber

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// maxMessages is how many messages are remembered, to be compared with what comes:
// clients that lag so far behind the others have messages of their own.
const maxMessages = 64

// message is what the server has sent, once for all that were sent the same bytes. It is
// guarded by its crowd's mutex.
type message struct {
	compressed bool
	bytes      []byte // as they came
	complete   bool
	received   int  // by so many connections
	step       bool // it tells of creations

	text  []byte // inflated; nil before anybody had it all
	after map[*State]*State
}

// fits says whether a message can have a piece at an offset.
func (m *message) fits(b []byte, offset int) bool {
	known := m.bytes[offset:]
	if len(known) >= len(b) {
		return bytes.Equal(known[:len(b)], b)
	}
	return !m.complete && bytes.Equal(known, b[:len(known)])
}

// add is another piece, which fits.
func (m *message) add(b []byte, offset int) {
	if more := offset + len(b) - len(m.bytes); more > 0 {
		m.bytes = append(m.bytes, b[len(b)-more:]...)
	}
}

// inflate returns the text.
func (m *message) inflate() ([]byte, error) {
	if !m.compressed {
		return m.bytes, nil
	}
	// What RFC 7692, 7.2.2, has appended, and an empty last block, for a reader that
	// knows of no messages.
	const tail = "\x00\x00\xff\xff\x01\x00\x00\xff\xff"
	r := flate.NewReader(io.MultiReader(bytes.NewReader(m.bytes), bytes.NewReader([]byte(tail))))
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("inflating a message: %w", err)
	}
	return text, nil
}

// messages are those of a crowd that were sent of late. They are guarded by its mutex.
type messages struct {
	all []*message // the newest last
}

// piece takes the next piece of a message that is under way, nil at its beginning, and
// returns the message that it is of.
func (ms *messages) piece(m *message, offset int, b []byte, compressed bool) *message {
	if m != nil && m.fits(b, offset) {
		m.add(b, offset)
		return m
	}
	var before []byte
	if m != nil {
		before = m.bytes[:offset]
	}
	for _, other := range slices.Backward(ms.all) {
		if other.compressed == compressed && len(other.bytes) >= offset && bytes.Equal(other.bytes[:offset], before) && other.fits(b, offset) {
			other.add(b, offset)
			return other
		}
	}
	return ms.begin(append(bytes.Clone(before), b...), compressed)
}

func (ms *messages) begin(b []byte, compressed bool) *message {
	m := &message{bytes: b, compressed: compressed, after: make(map[*State]*State)}
	if len(ms.all) == maxMessages {
		copy(ms.all, ms.all[1:])
		ms.all = ms.all[:maxMessages-1]
	}
	ms.all = append(ms.all, m)
	return m
}

// end says that a message ends here, and returns it.
func (ms *messages) end(m *message, length int) *message {
	if len(m.bytes) != length { // others were sent one that begins like it
		var same *message
		for _, other := range ms.all {
			if other.complete && other.compressed == m.compressed && bytes.Equal(other.bytes, m.bytes[:length]) {
				same = other
			}
		}
		if same == nil {
			same = ms.begin(bytes.Clone(m.bytes[:length]), m.compressed)
		}
		m = same
	}
	m.complete = true
	m.received++
	return m
}

// Frame is a message as it came over the wire, with the header of one frame.
type Frame struct {
	// Bytes of the frame.
	Bytes []byte
	// Text is how many bytes the message has, inflated.
	Text int
	// Received is by how many connections.
	Received int
	// Step says that it tells of creations.
	Step bool
}

// frame makes a frame of the message again.
func (m *message) frame() Frame {
	const final, deflated = 1 << 7, 1 << 6
	first := byte(final | textMessage)
	if m.compressed {
		first |= deflated
	}
	n := len(m.bytes)
	var head []byte
	switch {
	case n < 126:
		head = []byte{first, byte(n)}
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16([]byte{first, 126}, uint16(n))
	default:
		head = binary.BigEndian.AppendUint64([]byte{first, 127}, uint64(n))
	}
	return Frame{Bytes: append(head, m.bytes...), Text: len(m.text), Received: m.received, Step: m.step}
}
