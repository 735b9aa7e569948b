package api

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/gorilla/websocket"

	"github.com/countd/countd/pkg/counts"
)

// frame is one message to clients, in each form in which a transport carries it.
// It is made once and shared by all who are sent it: its bytes are never written
// again (R2).
type frame struct {
	// id is what a client can resume from, as server-sent events carry it;
	// empty where the message is no state.
	id string

	// The header of a websocket's frame, the message and a newline, in one
	// piece, so that no form is a copy of another.
	buffer []byte
	start  int // of the header

	deflating sync.Once
	deflated  []byte // with its header; nil where that is no gain
}

// headroom is what a frame's buffer leaves free for the longest header of a
// websocket's frame: RFC 6455, 5.2, without a mask.
const headroom = 10

// newBuffer returns what a message is to be appended to, for seal.
func newBuffer(size int) []byte { return make([]byte, headroom, headroom+size) }

// seal makes a frame of a buffer to which a message was appended.
func seal(id string, b []byte) *frame {
	start := headroom - headerLen(len(b)-headroom)
	putHeader(b[start:], websocket.TextMessage, len(b)-headroom)
	return &frame{id: id, buffer: append(b, '\n'), start: start}
}

// newFrame returns the frame of a message that is no state.
func newFrame(message []byte) *frame { return seal("", append(newBuffer(len(message)+1), message...)) }

// data is the message.
func (f *frame) data() []byte { return f.buffer[headroom : len(f.buffer)-1] }

// line is the message with a newline.
func (f *frame) line() []byte { return f.buffer[headroom:] }

// text is the message as a websocket's frame.
func (f *frame) text() []byte { return f.buffer[f.start : len(f.buffer)-1] }

// smallestDeflated is the least number of bytes of a message that are compressed:
// of fewer, little is saved.
const smallestDeflated = 256

// compressed is the message as a compressed frame (RFC 7692, 7.2.1, without
// context takeover), or a plain one where that is shorter.
func (f *frame) compressed(pool *deflaters) []byte {
	f.deflating.Do(func() {
		if len(f.data()) < smallestDeflated {
			return
		}
		if b := pool.deflate(f.data()); len(b) < len(f.text()) {
			f.deflated = b
		}
	})
	if f.deflated != nil {
		return f.deflated
	}
	return f.text()
}

// deflaters are compressors that are used again: each has some 600 KiB of tables.
type deflaters struct{ pool sync.Pool }

// deflate returns a compressed frame.
func (d *deflaters) deflate(message []byte) []byte {
	var out bytes.Buffer
	out.Write(make([]byte, headroom))
	z, ok := d.pool.Get().(*flate.Writer)
	if !ok {
		z, _ = flate.NewWriter(nil, flate.BestSpeed) // a level that exists
	}
	defer d.pool.Put(z)
	z.Reset(&out)
	_, _ = z.Write(message) // a buffer takes all
	_ = z.Flush()
	const tail = 4 // 00 00 ff ff, which the receiver appends
	b := out.Bytes()[:out.Len()-tail]
	start := headroom - headerLen(len(b)-headroom)
	const compressed = 1 << 6 // the bit RSV1
	putHeader(b[start:], websocket.TextMessage|compressed, len(b)-headroom)
	return bytes.Clone(b[start:]) // a buffer is larger than what is in it
}

// controlFrame returns a ping, pong or close message with at most 125 bytes.
func controlFrame(kind byte, payload []byte) []byte {
	b := make([]byte, headerLen(len(payload)), headerLen(len(payload))+len(payload))
	putHeader(b, kind, len(payload))
	return append(b, payload...)
}

// headerLen is how long the header of a frame of n bytes is.
func headerLen(n int) int {
	switch {
	case n < 126:
		return 2
	case n < 1<<16:
		return 4
	default:
		return headroom
	}
}

// putHeader writes the header of the only frame of a message.
func putHeader(b []byte, kind byte, n int) {
	const final = 1 << 7
	b[0] = final | kind
	switch headerLen(n) {
	case 2:
		b[1] = byte(n) //nolint:gosec // headerLen has looked
	case 4:
		b[1] = 126
		binary.BigEndian.PutUint16(b[2:], uint16(n)) //nolint:gosec // headerLen has looked
	default:
		b[1] = 127
		binary.BigEndian.PutUint64(b[2:], uint64(n)) //nolint:gosec // a length
	}
}

// stateID is the id of a state in server-sent events.
func stateID(epoch string, seq uint64) string {
	return epoch + ":" + strconv.FormatUint(seq, 10)
}

// snapshotFrame is a whole part of a snapshot.
func snapshotFrame(part *counts.Snapshot) *frame {
	b := appendHead(newBuffer(4096), "snapshot", part.Epoch())
	b = appendSeq(b, "seq", part.Seq())
	b = append(b, `,"resources":`...)
	b = append(part.AppendJSON(b), '}')
	return seal(stateID(part.Epoch(), part.Seq()), b)
}

// deltaFrame is the difference between a part of a snapshot and what a client
// holds, from, which is the same as what there was at since. It reports whether
// there is any.
func deltaFrame(part *counts.Snapshot, from, since uint64) (*frame, bool) {
	b := appendHead(newBuffer(512), "delta", part.Epoch())
	b = appendSeq(b, "from", from)
	b = appendSeq(b, "seq", part.Seq())
	b = append(b, `,"resources":`...)
	b, changed := part.AppendPatch(b, since)
	return seal(stateID(part.Epoch(), part.Seq()), append(b, '}')), changed
}

func appendHead(b []byte, kind, epoch string) []byte {
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","epoch":`...)
	quoted, _ := json.Marshal(epoch) // a string always marshals
	return append(b, quoted...)
}

func appendSeq(b []byte, name string, seq uint64) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return strconv.AppendUint(b, seq, 10)
}
