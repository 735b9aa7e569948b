package subscriber

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Crowd is many connections that ask the same. It is safe for concurrent use.
type Crowd struct {
	question Question
	kind     string
	began    time.Time
	buffers  sync.Pool
	running  sync.WaitGroup

	mu       sync.Mutex
	messages messages
	members  map[*member]struct{}
	holding  map[*State]int // connections by what they hold; nil is not in it
	arrivals Arrivals
	traffic  Traffic
	lost     int
	why      error // of the first that was lost
	closed   bool
}

// Traffic is what came over all connections, after the handshakes.
type Traffic struct {
	// Messages with or without counts.
	Messages int
	// Bytes of the wire, with the headers of frames.
	Bytes int64
	// Text is the bytes of the messages, inflated.
	Text int64
}

// Since is what has come since an earlier moment.
func (t Traffic) Since(before Traffic) Traffic {
	return Traffic{t.Messages - before.Messages, t.Bytes - before.Bytes, t.Text - before.Text}
}

// NewCrowd returns a crowd of nobody. Arrivals are those of changes of one kind.
func NewCrowd(q Question, kind string) *Crowd {
	return &Crowd{
		question: q, kind: kind, began: time.Now(), members: make(map[*member]struct{}), holding: make(map[*State]int), arrivals: make(Arrivals),
		buffers: sync.Pool{New: func() any { return new([64 << 10]byte) }},
	}
}

// Open opens so many connections, evenly over a time, and returns when all have had
// their handshake. One that fails is lost.
func (c *Crowd) Open(ctx context.Context, connections int, over time.Duration) error {
	began := time.Now()
	var opened sync.WaitGroup
	for i := range connections {
		due := time.NewTimer(time.Until(began.Add(over * time.Duration(i) / time.Duration(connections))))
		select {
		case <-due.C:
		case <-ctx.Done():
			due.Stop()
			opened.Wait()
			return context.Cause(ctx)
		}
		opened.Add(1)
		c.running.Go(func() { c.serve(ctx, sync.OnceFunc(opened.Done)) })
	}
	opened.Wait()
	return nil
}

// serve is one connection, until it ends.
func (c *Crowd) serve(ctx context.Context, opened func()) {
	defer opened()
	conn, rest, err := c.question.dial(ctx)
	if err != nil {
		c.lose(err)
		return
	}
	m := &member{crowd: c, conn: conn}
	if !c.enter(m) {
		_ = conn.Close()
		return
	}
	opened()
	err = m.read(rest)
	c.leave(m, err)
}

func (c *Crowd) lose(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.lost++
		if c.why == nil {
			c.why = err
		}
	}
}

func (c *Crowd) enter(m *member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.members[m] = struct{}{}
	}
	return !c.closed
}

func (c *Crowd) leave(m *member, err error) {
	_ = m.conn.Close()
	c.lose(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, m)
	c.hold(m, nil)
}

// hold has a member hold another state. The mutex is held.
func (c *Crowd) hold(m *member, s *State) {
	if m.state != nil {
		if c.holding[m.state]--; c.holding[m.state] == 0 {
			delete(c.holding, m.state)
		}
	}
	if m.state = s; s != nil {
		c.holding[s]++
	}
}

// Close ends all connections.
func (c *Crowd) Close() {
	c.mu.Lock()
	c.closed = true
	for m := range c.members {
		_ = m.conn.Close()
	}
	c.mu.Unlock()
	c.running.Wait()
}

// Lost is how many connections could not be opened, ended, or broke a rule, and why the
// first did.
func (c *Crowd) Lost() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost, c.why
}

// Holding is how many connections hold a state of which a function says yes.
func (c *Crowd) Holding(is func(*State) bool) (connections int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s, n := range c.holding {
		if is(s) {
			connections += n
		}
	}
	return connections
}

// Traffic is what has come so far.
func (c *Crowd) Traffic() Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.traffic
}

// Arrivals are what has arrived since they were last taken.
func (c *Crowd) Arrivals() Arrivals {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.arrivals
	c.arrivals = make(Arrivals)
	return taken
}

// Frames are the last messages, the oldest first.
func (c *Crowd) Frames() (frames []Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.messages.all {
		if m.complete {
			frames = append(frames, m.frame())
		}
	}
	return frames
}

// member is one connection. It is owned by the goroutine that reads from it; message,
// offset and state are guarded by the crowd's mutex.
type member struct {
	crowd  *Crowd
	conn   *net.TCPConn
	stream stream
	at     time.Time // of what was read last

	message *message // under way
	offset  int
	state   *State
}

// read reads until the connection ends, beginning with what came with the handshake.
func (m *member) read(rest []byte) error {
	m.at = time.Now()
	err := m.take(rest)
	if err != nil {
		return err
	}
	raw, err := m.conn.SyscallConn()
	if err != nil {
		return err
	}
	for {
		var failed error
		err := raw.Read(func(fd uintptr) bool {
			buffer := m.crowd.buffers.Get().(*[64 << 10]byte) //nolint:errcheck // it has nothing else
			defer m.crowd.buffers.Put(buffer)
			n, err := readSome(int(fd), buffer[:])
			switch {
			case errors.Is(err, errNothing):
				return false
			case err != nil:
				failed = err
			case n == 0:
				failed = io.EOF
			default:
				m.at = time.Now()
				failed = m.take(buffer[:n])
			}
			return true
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
}

// take takes what was read.
func (m *member) take(b []byte) error {
	m.crowd.mu.Lock()
	defer m.crowd.mu.Unlock()
	m.crowd.traffic.Bytes += int64(len(b))
	return m.stream.feed(b, m)
}

// piece is a hearer's.
func (m *member) piece(b []byte, first, compressed bool) {
	if first {
		m.message, m.offset = nil, 0
	} else {
		compressed = m.message.compressed
	}
	m.message = m.crowd.messages.piece(m.message, m.offset, b, compressed)
	m.offset += len(b)
}

// end is a hearer's: the message brings the client to another state, which is worked
// out for the first client to whom that happens.
func (m *member) end() (err error) {
	c := m.crowd
	whole := c.messages.end(m.message, m.offset)
	m.message = nil
	if whole.text == nil {
		if whole.text, err = whole.inflate(); err != nil {
			return err
		}
	}
	next, known := whole.after[m.state]
	if !known {
		if next, err = m.state.then(c.question.Family, whole.text); err != nil {
			return fmt.Errorf("%w: %.200s", err, whole.text)
		}
		whole.after[m.state] = next
	}
	c.traffic.Messages++
	c.traffic.Text += int64(len(whole.text))
	if from, to := m.state.Count(c.kind), next.Count(c.kind); m.state != nil && to > from {
		whole.step = true
		c.arrivals.add(Step{from, to}, m.at.Sub(c.began))
	}
	c.hold(m, next)
	return nil
}

// ping is a hearer's.
func (m *member) ping(payload []byte) error {
	_, err := m.conn.Write(masked(pongMessage, payload))
	return err
}
