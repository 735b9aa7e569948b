package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countd/countd/pkg/counts"
)

// mirror is a client of countd's own family: it needs a merge-patch function,
// which is not ours here, and nothing else.
type mirror struct {
	epoch     string
	seq       uint64
	resources []byte
	messages  int
}

// ownMessage is a message of countd's own family.
type ownMessage struct {
	Type      string
	Epoch     string
	From, Seq uint64
	Resources json.RawMessage
}

func (m *mirror) apply(text string) error {
	var message ownMessage
	if err := json.Unmarshal([]byte(text), &message); err != nil {
		return fmt.Errorf("reading %q: %w", text, err)
	}
	m.messages++
	switch message.Type {
	case "snapshot":
		m.resources = message.Resources
	case "delta":
		if message.Epoch != m.epoch || message.From != m.seq {
			return fmt.Errorf("holding %s:%d, a delta from %s:%d came", m.epoch, m.seq, message.Epoch, message.From)
		}
		merged, err := jsonpatch.MergePatch(m.resources, message.Resources)
		if err != nil {
			return fmt.Errorf("merging %s: %w", text, err)
		}
		m.resources = merged
	default:
		return fmt.Errorf("unexpected message %s", text)
	}
	if message.Epoch == m.epoch && message.Seq < m.seq {
		return fmt.Errorf("seq went back from %d to %d", m.seq, message.Seq)
	}
	m.epoch, m.seq = message.Epoch, message.Seq
	return nil
}

// differs compares what the client holds with the answer to a GET.
func (m *mirror) differs(t testing.TB, answer string) string {
	t.Helper()
	var got ownMessage
	must(t, json.Unmarshal([]byte(answer), &got))
	return cmp.Diff(decode(t, string(got.Resources)), decode(t, string(m.resources)))
}

// TestStreamRebuiltEqualsGET: whatever happens, however each of some clients of one
// view lags, is cut off and resumes, over each transport and with any filter, what it
// holds at rest is what a GET answers.
func TestStreamRebuiltEqualsGET(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		filter := rapid.SampledFrom([]string{"", "namespaces=a", "namespaces=a,c&resources=pods", "resources=pods,widgets.example.com"}).Draw(rt, "filter")
		transports := rapid.SliceOfN(rapid.SampledFrom([]string{"websocket", "deflate", "ndjson", "sse"}), 1, 3).Draw(rt, "transports")
		remember := rapid.SampledFrom([]int{1, 3, 1000}).Draw(rt, "remember")
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"put", "put", "put", "remove", "remove", "close", "read", "read", "wait", "cut"}), 1, 60).Draw(rt, "steps")
		choices := rapid.SliceOfN(rapid.IntRange(0, 1<<20), len(steps), len(steps)).Draw(rt, "choices")
		// rapid stays outside: within a bubble it would ask for t.Deadline.
		synctest.Test(t, func(t *testing.T) {
			f := newUnsettled(t, counts.Options{Epoch: "k3x9", Remember: remember})
			sources := map[string]*source{}
			var clients []*rebuilder
			for _, transport := range transports {
				clients = append(clients, &rebuilder{fixture: f, filter: filter, transport: transport, sources: sources})
			}
			for i, step := range steps {
				clients[choices[i]%len(clients)].step(step, choices[i])
			}
			pass(time.Second)
			for _, c := range clients {
				c.read()
			}
			pass(time.Second)
			if views := f.value("countd_api_open_views"); views != 1 {
				t.Errorf("%d clients have %v views", len(clients), views)
			}
			_, answer := f.get("/api/v1/counts?" + filter)
			for _, c := range clients {
				if diff := c.held.differs(t, answer); diff != "" {
					t.Errorf("%s after %v (-GET +held):\n%s", c.transport, steps, diff)
				}
				c.cut()
			}
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// rebuilder is a client beside what it watches.
type rebuilder struct {
	*fixture
	filter, transport string
	sources           map[string]*source
	held              mirror
	next              func() (message string, ok bool) // nil while cut off
	hangUp            func()
}

func (c *rebuilder) step(step string, choice int) {
	resource := []counts.Resource{pods, nodes, widgets}[choice%3]
	namespace, name := string(rune('a'+choice/3%3)), fmt.Sprint(choice/9%3)
	s := c.sources[resource.Key()]
	if s == nil && (step == "put" || step == "remove" || step == "close") {
		c.sources[resource.Key()] = c.source(resource)
		return
	}
	switch step {
	case "put":
		s.put(namespace, name, counts.State{Word: []string{"", "running", "failed"}[choice/27%3], Error: choice/81%2 == 0})
	case "remove":
		s.remove(namespace, name)
	case "close":
		s.close()
		delete(c.sources, resource.Key())
	case "read":
		c.read()
	case "wait":
		pass(time.Second)
	case "cut":
		c.cut()
	}
}

func (c *rebuilder) cut() {
	if c.next != nil {
		c.hangUp()
		c.next = nil
	}
}

// read connects where it is cut off, and then takes all that comes in a second.
func (c *rebuilder) read() {
	c.t.Helper()
	if c.next == nil {
		c.connect()
	}
	for {
		message, ok := c.next()
		if !ok {
			return
		}
		must(c.t, c.held.apply(message))
	}
}

func (c *rebuilder) connect() {
	resume := ""
	if c.held.messages > 0 {
		resume = fmt.Sprintf("&epoch=%s&since=%d", c.held.epoch, c.held.seq)
	}
	path := "/api/v1/watch?debounceMs=100&" + c.filter + resume
	lines := make(chan string)
	stopped := make(chan struct{})
	next, hangUp := c.messages(path, c.transport)
	c.hangUp = func() { close(stopped); hangUp() }
	go func() {
		for {
			line, err := next()
			if err != nil {
				return
			}
			select {
			case lines <- line:
			case <-stopped:
				return
			}
		}
	}()
	c.next = func() (string, bool) {
		select {
		case line := <-lines:
			return line, true
		case <-time.After(time.Second):
			return "", false
		}
	}
}

// TestEachResumePointLeadsToNow resumes from every state that ever was.
func TestEachResumePointLeadsToNow(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		type point struct {
			held mirror
			seq  uint64
		}
		for _, filter := range []string{"", "&namespaces=b"} {
			var points []point
			note := func() {
				_, answer := f.get("/api/v1/counts?" + strings.TrimPrefix(filter, "&"))
				var held mirror
				must(t, held.apply(answer))
				points = append(points, point{held, held.seq})
			}
			note()
			w := f.source(widgets)
			note()
			for i := range 12 {
				namespace := string(rune('a' + i%3))
				p.put(namespace, fmt.Sprint(i), counts.State{Word: fmt.Sprint("word", i%2), Error: i%2 == 0})
				note()
				w.put(namespace, fmt.Sprint(i))
				note()
				if i > 3 {
					p.remove(string(rune('a'+(i-3)%3)), fmt.Sprint(i-3))
					note()
				}
			}
			w.close()
			note()
			_, now := f.get("/api/v1/counts?" + strings.TrimPrefix(filter, "&"))
			for _, p := range points {
				lines := f.open(fmt.Sprintf("/api/v1/watch?epoch=k3x9&since=%d%s", p.seq, filter))
				must(t, p.held.apply(lines.line()))
				if diff := p.held.differs(t, now); diff != "" {
					t.Errorf("from %d%s (-GET +held):\n%s", p.seq, filter, diff)
				}
				lines.close()
			}
		}
	})
}

// TestOtherProcessesStatesAreNeverPatched: a client that moves between two
// servers gets a snapshot each time.
func TestOtherProcessesStatesAreNeverPatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newUnsettled(t, counts.Options{}), newUnsettled(t, counts.Options{})
		one.source(pods).put("a", "x")
		two.source(pods)
		var held mirror
		for i := range 4 {
			f := []*fixture{one, two}[i%2]
			lines := f.open(fmt.Sprintf("/api/v1/watch?epoch=%s&since=%d", held.epoch, held.seq))
			got := lines.line()
			if !strings.HasPrefix(got, `{"type":"snapshot"`) {
				t.Errorf("%d: got %s", i, got)
			}
			must(t, held.apply(got))
			lines.close()
		}
	})
}
