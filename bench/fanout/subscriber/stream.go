package subscriber

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// stream reads the frames of one connection, in whatever pieces they come. It is for
// one goroutine.
type stream struct {
	header [10]byte
	have   int  // of the header
	inside bool // of a frame, whose header is known
	left   uint64

	opcode byte
	final  bool

	control []byte // the payload of a control frame so far
	message bool   // one is under way
}

// hearer is told what a stream has in it.
type hearer interface {
	// piece is the next piece of a message.
	piece(b []byte, first, compressed bool)
	// end is the end of a message.
	end() error
	// ping wants an answer.
	ping(payload []byte) error
}

var errClosed = errors.New("the server closes the connection")

// feed takes what came next.
func (s *stream) feed(b []byte, to hearer) error {
	for len(b) > 0 || s.inside && s.left == 0 {
		if !s.inside {
			used, err := s.head(b)
			if err != nil {
				return err
			}
			b = b[used:]
			continue
		}
		n := int(min(uint64(len(b)), s.left))
		if s.opcode >= closeMessage {
			s.control = append(s.control, b[:n]...)
		} else if n > 0 {
			to.piece(b[:n], !s.message, s.header[0]&(1<<6) != 0)
			s.message = true
		}
		s.left -= uint64(n)
		b = b[n:]
		if s.left > 0 {
			continue
		}
		s.inside, s.have = false, 0
		if err := s.done(to); err != nil {
			return err
		}
	}
	return nil
}

// head takes bytes of a header, and reads it when it is whole.
func (s *stream) head(b []byte) (used int, err error) {
	want := 2
	for {
		if s.have >= 2 {
			switch s.header[1] & 0x7f {
			case 126:
				want = 4
			case 127:
				want = 10
			}
		}
		n := copy(s.header[s.have:want], b[used:])
		s.have += n
		used += n
		if s.have < want {
			return used, nil
		}
		if want > 2 || s.header[1]&0x7f < 126 {
			break
		}
	}
	switch want {
	case 2:
		s.left = uint64(s.header[1])
	case 4:
		s.left = uint64(binary.BigEndian.Uint16(s.header[2:]))
	default:
		s.left = binary.BigEndian.Uint64(s.header[2:])
	}
	s.opcode, s.final, s.inside = s.header[0]&0xf, s.header[0]&(1<<7) != 0, true
	switch {
	case s.header[1]&(1<<7) != 0:
		return used, errors.New("a frame of a server is masked")
	case s.opcode >= closeMessage && (s.left > 125 || !s.final), s.opcode == textMessage && s.message, s.opcode == continuation && !s.message:
		return used, fmt.Errorf("a frame out of order: opcode %d, %d bytes", s.opcode, s.left)
	case s.opcode != continuation && s.opcode != textMessage && (s.opcode < closeMessage || s.opcode > pongMessage):
		return used, fmt.Errorf("a frame with opcode %d", s.opcode)
	}
	return used, nil
}

// done is the end of a frame.
func (s *stream) done(to hearer) error {
	control := s.control
	s.control = nil
	switch {
	case s.opcode == pingMessage:
		return to.ping(control)
	case s.opcode == closeMessage:
		if len(control) >= 2 {
			return fmt.Errorf("%w: %d %s", errClosed, binary.BigEndian.Uint16(control), control[2:])
		}
		return errClosed
	case s.opcode == pongMessage || !s.final:
		return nil
	case !s.message:
		return errors.New("an empty message")
	}
	s.message = false
	return to.end()
}
