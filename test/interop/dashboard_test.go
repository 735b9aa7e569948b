package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countd/countd/pkg/counts"
)

// event is what the client tells; see client/dashboard.js.
type event struct {
	Event, Text string
	Answer      json.RawMessage
	Counts      map[string]json.RawMessage // of ItemCounts
	Started     []struct{ Type, Namespace string }
	Errors      []string
}

// shown is what a dashboard has seen so far, and what it shows.
type shown struct {
	now event   // the last of the name "state"
	log []event // all others
}

// number is what the dashboard shows of a kind in a namespace, or of all if that is
// empty; -1 if it does not know the kind.
func (s *shown) number(kind, namespace string) int {
	switch {
	case s.now.Counts[kind] == nil:
		return -1
	case namespace == "":
		return s.item(kind).Summary.Count
	default:
		return s.item(kind).Namespaces[namespace].Count
	}
}

func (s *shown) item(kind string) (item counts.ItemCount) {
	_ = json.Unmarshal(s.now.Counts[kind], &item) // what cannot be read is empty, and not as wanted
	return item
}

// texts are those of the events with some names.
func (s *shown) texts(names ...string) (texts []string) {
	for _, e := range s.log {
		if slices.Contains(names, e.Event) {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// told is how many events have a name and contain all of some texts.
func (s *shown) told(name string, texts ...string) (n int) {
events:
	for _, e := range s.log {
		if e.Event != name {
			continue
		}
		for _, text := range texts {
			if !strings.Contains(e.Text, text) {
				continue events
			}
		}
		n++
	}
	return n
}

// dashboard is the Rancher dashboard's store in a process of its own.
type dashboard struct {
	t       testing.TB
	process *os.Process
	in      io.Writer
	answers chan event

	mu      sync.Mutex
	shown   shown
	changed chan struct{} // closed at the next event
}

// The two ways in which the dashboard has its socket.
const (
	inPage   = "page"
	inWorker = "advanced" // in the web worker of the performance setting of that name
)

func startDashboard(t testing.TB, url, mode string) *dashboard {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "--experimental-websocket", "--no-warnings", built.client(t), url, mode)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	if testing.Verbose() {
		cmd.Stderr = t.Output()
	}
	must(t, cmd.Start())
	d := &dashboard{t: t, process: cmd.Process, in: in, answers: make(chan event, 1), changed: make(chan struct{})}
	read := make(chan error, 1)
	go func() { read <- d.read(out) }()
	t.Cleanup(func() {
		_ = in.Close() // on which it ends, if it was not killed with the test's context
		if err := <-read; err != nil {
			t.Errorf("reading what the dashboard tells: %v", err)
		}
		_ = cmd.Wait()
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, e := range d.shown.log {
			if e.Event == "thrown" {
				t.Errorf("thrown in the dashboard: %s", e.Text)
			}
		}
	})
	return d
}

func (d *dashboard) read(out io.Reader) error {
	defer close(d.answers)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the process has ended
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%w in %s", err, line)
		}
		d.mu.Lock()
		switch e.Event {
		case "answer", "failed":
			d.answers <- e
		case "state":
			d.shown.now = e
		default:
			d.shown.log = append(d.shown.log, e)
		}
		close(d.changed)
		d.changed = make(chan struct{})
		d.mu.Unlock()
	}
}

// command is for client/dashboard.js.
type command struct {
	Do        string `json:"do"`
	Type      string `json:"type,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Watch     any    `json:"watch,omitempty"`
}

// do returns the answer to a command, read into it unless that is nil.
func (d *dashboard) do(c command, into any) error {
	if err := json.NewEncoder(d.in).Encode(c); err != nil {
		return err
	}
	select {
	case e, ok := <-d.answers:
		switch {
		case !ok:
			return fmt.Errorf("%s: the dashboard has ended", c.Do)
		case e.Event == "failed":
			return fmt.Errorf("%s: %s", c.Do, e.Text)
		case into == nil:
			return nil
		}
		return json.Unmarshal(e.Answer, into)
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer", c.Do)
	}
}

// open is what the dashboard does when somebody opens a cluster.
func (d *dashboard) open() error {
	if err := d.do(command{Do: "load"}, nil); err != nil {
		return err
	}
	return d.do(command{Do: "subscribe"}, nil)
}

// ask looks at what is shown now.
func (d *dashboard) ask(look func(*shown)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	look(&d.shown)
}

// await waits until what is shown is as wanted.
func (d *dashboard) await(within time.Duration, what string, wanted func(*shown) bool) error {
	timeout := time.After(within)
	for {
		d.mu.Lock()
		ok, changed := wanted(&d.shown), d.changed
		d.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-timeout:
			return fmt.Errorf("waited in vain for %s", what)
		}
	}
}

// awaitNumber says what is shown in place of the number.
func (d *dashboard) awaitNumber(kind, namespace string, want int) error {
	err := d.await(promptness, "", func(s *shown) bool { return s.number(kind, namespace) == want })
	if err == nil {
		return nil
	}
	got := 0
	d.ask(func(s *shown) { got = s.number(kind, namespace) })
	return fmt.Errorf("the dashboard shows %d %s in %q, there are %d", got, kind, namespace, want)
}
