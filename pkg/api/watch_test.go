package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/countd/countd/pkg/counts"
)

const podsOne = `{"kind":"Pod","version":"v1","namespaced":true,"summary":{"count":1},"namespaces":{"a":{"count":1}}}`

func snapshotOf(seq int, resources string) string {
	return fmt.Sprintf(`{"type":"snapshot","epoch":"k3x9","seq":%d,"resources":{%s}}`, seq, resources)
}

func deltaOf(from, seq int, resources string) string {
	return fmt.Sprintf(`{"type":"delta","epoch":"k3x9","from":%d,"seq":%d,"resources":{%s}}`, from, seq, resources)
}

func TestStreamStartsWithASnapshotAndGoesOnWithDeltas(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		p.put("a", "x", counts.State{Word: "failed", Error: true})
		lines, events, socket := f.open("/api/v1/watch"), f.open("/api/v1/watch", "Accept", "text/event-stream"), f.dial("/api/v1/watch?resources=pods")
		for _, want := range []string{
			snapshotOf(2, `"pods":{"kind":"Pod","version":"v1","namespaced":true,"summary":{"count":1,"errors":1,"states":{"failed":1}},"namespaces":{"a":{"count":1,"errors":1,"states":{"failed":1}}}}`),
			deltaOf(2, 3, `"pods":{"summary":{"count":null,"errors":null,"states":null},"namespaces":{"a":null}}`),
			deltaOf(3, 4, `"pods":null`),
		} {
			same(t, "NDJSON", []string{lines.line()}, want)
			same(t, "websocket", []string{socket.hear()}, want)
			var message ownMessage
			must(t, json.Unmarshal([]byte(want), &message))
			same(t, "SSE", []string{events.line(), events.line(), events.line()}, fmt.Sprintf("id: k3x9:%d", message.Seq), "data: "+want, "")
			switch message.Seq {
			case 2:
				p.remove("a", "x") // C6
			case 3:
				p.close()
			}
		}
	})
}

func TestResumeBringsOneDeltaEvenWhenItIsEmpty(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		p.put("a", "x")
		for query, want := range map[string]string{
			"epoch=k3x9&since=1": deltaOf(1, 2, `"pods":{"summary":{"count":1},"namespaces":{"a":{"count":1}}}`),
			"epoch=k3x9&since=2": deltaOf(2, 2, ``),
			"epoch=k3x9&since=0": deltaOf(0, 2, `"pods":`+podsOne),
			// Another process' epoch, and a seq that is still to come.
			"epoch=other&since=2":                   snapshotOf(2, `"pods":`+podsOne),
			"epoch=&since=2":                        snapshotOf(2, `"pods":`+podsOne),
			"epoch=k3x9&since=3":                    snapshotOf(2, `"pods":`+podsOne),
			"epoch=k3x9&since=18446744073709551615": snapshotOf(2, `"pods":`+podsOne),
		} {
			same(t, "NDJSON "+query, []string{f.open("/api/v1/watch?" + query).line()}, want)
			same(t, "websocket "+query, []string{f.dial("/api/v1/watch?" + query).hear()}, want)
		}
		socket := f.dial("/api/v1/watch")
		socket.say(`{"epoch":"k3x9","since":1,"resources":["pods"],"namespaces":["a"],"debounceMs":100}`)
		same(t, "first message", []string{socket.hear()}, deltaOf(1, 2, `"pods":{"summary":{"count":1},"namespaces":{"a":{"count":1}}}`))
	})
}

func TestLastEventIDResumes(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		p.put("a", "x")
		for id, want := range map[string]string{
			"k3x9:1":  deltaOf(1, 2, `"pods":{"summary":{"count":1},"namespaces":{"a":{"count":1}}}`),
			"k3x9:2":  deltaOf(2, 2, ``),
			"k3x9:9":  snapshotOf(2, `"pods":`+podsOne),
			"other:2": snapshotOf(2, `"pods":`+podsOne),
			"k3x9":    snapshotOf(2, `"pods":`+podsOne),
			"k3x9:-1": snapshotOf(2, `"pods":`+podsOne),
			"a:b:c":   snapshotOf(2, `"pods":`+podsOne),
		} {
			// The query is that of the browser's first request.
			events := f.open("/api/v1/watch?epoch=k3x9&since=0", "Accept", "text/event-stream", "Last-Event-ID", id)
			same(t, id, []string{events.line(), events.line()}, "id: k3x9:2", "data: "+want)
		}
	})
}

// TestResumeBeyondWhatIsRememberedBringsASnapshot, but only for who missed it: a
// stream for which nothing has changed goes on, however much did for others.
func TestResumeBeyondWhatIsRememberedBringsASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newUnsettled(t, counts.Options{Epoch: "k3x9", Remember: 1})
		f.settle()
		p := f.source(pods)
		p.put("a", "x")
		open := f.open("/api/v1/watch?namespaces=a&debounceMs=50")
		same(t, "first", []string{open.line()}, snapshotOf(2, `"pods":`+podsOne))
		for i := range 10 {
			p.put(fmt.Sprint("b", i), "x")
			pass(time.Second)
			p.remove(fmt.Sprint("b", i), "x")
			pass(time.Second)
		}
		same(t, "resume", []string{f.open("/api/v1/watch?epoch=k3x9&since=2").line()}, snapshotOf(22, `"pods":`+podsOne))
		p.put("a", "y")
		same(t, "open", []string{open.line()}, deltaOf(2, 23, `"pods":{"summary":{"count":2},"namespaces":{"a":{"count":2}}}`))
	})
}

// TestC30NamespaceOnly: a client that named a namespace gets only its numbers,
// and nothing is sent for what happens elsewhere.
func TestC30NamespaceOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		n := f.source(nodes)
		p.put("a", "x")
		p.put("b", "x")
		socket := f.dial("/api/v1/watch?namespaces=a")
		heard := socket.listen()
		same(t, "first", heard.take(), snapshotOf(4, `"pods":`+podsOne))
		p.put("b", "y")
		n.put("", "n")
		pass(10 * time.Second)
		same(t, "others", heard.take())
		p.remove("a", "x")
		pass(time.Second)
		same(t, "a", heard.take(), deltaOf(4, 7, `"pods":{"summary":{"count":null},"namespaces":{"a":null}}`))
	})
}

// TestC9ResourceThatComesAndGoes, named by the client before it is installed.
func TestC9ResourceThatComesAndGoes(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		lines := f.open("/api/v1/watch?resources=widgets.example.com")
		same(t, "before", []string{lines.line()}, snapshotOf(1, ""))
		w := f.source(widgets)
		same(t, "installed", []string{lines.line()}, deltaOf(1, 2, `"widgets.example.com":{"kind":"Widget","version":"v1","namespaced":true,"summary":{},"namespaces":{}}`))
		for i := range 3 {
			w.put("a", fmt.Sprint(i))
		}
		pass(time.Second)
		got := lines.line()
		if !strings.HasSuffix(got, `"summary":{"count":3},"namespaces":{"a":{"count":3}}}}}`) {
			t.Errorf("with objects: %s", got)
		}
		w.close()
		same(t, "gone", []string{lines.line()}, deltaOf(5, 6, `"widgets.example.com":null`))
	})
}

func TestWebsocketThatAsksNothingGetsEverything(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		socket := f.dial("/api/v1/watch")
		heard := socket.listen()
		pass(time.Second - 1)
		same(t, "within a second", heard.take())
		pass(1)
		if got := heard.take(); len(got) != 1 || !strings.HasPrefix(got[0], `{"type":"snapshot"`) {
			t.Errorf("got %q", got)
		}
	})
}

func TestWebsocketHasOneQuestion(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		for path, messages := range map[string][]string{
			"/api/v1/watch":                {`{}`, `{}`},
			"/api/v1/watch?debounceMs=100": {`{}`},
		} {
			socket := f.dial(path)
			for _, m := range messages {
				socket.say(m)
			}
			closed := socket.closed()
			if closed.Code != websocket.ClosePolicyViolation || closed.Text != "BadRequest" {
				t.Errorf("%s was closed with %v", path, closed)
			}
		}
	})
}

func TestQuestionThatIsWrongIsAnsweredAndClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		for question, want := range map[string]string{
			`{`:                                   `reading the question: unexpected EOF`,
			`{} {}`:                               `reading the question: there is more than one JSON value`,
			`{"resource":["pods"]}`:               `reading the question: json: unknown field \"resource\"`,
			`{"resources":"pods"}`:                `reading the question: json: cannot unmarshal string into Go struct field message.resources of type []string`,
			`{"resources":[]}`:                    `resources names none: leave it out to get all`,
			`{"resources":["pod"]}`:               `resource \"pod\" is not served by this cluster; did you mean pods?`,
			`{"namespaces":["a\nb"]}`:             `namespaces has \"a\\nb\", which is not a name: want lower-case letters, digits, '-' and '.', at most 253`,
			`{"debounceMs":5}`:                    `debounceMs is 5, want 50 to 60000`,
			`{"debounceMs":-9223372036854775808}`: `debounceMs is -9223372036854775808, want 50 to 60000`,
			`{"epoch":"k3x9"}`:                    `epoch and since belong together: they say which state is held`,
		} {
			socket := f.dial("/api/v1/watch")
			socket.say(question)
			same(t, question, []string{socket.hear()}, `{"type":"error","code":400,"reason":"BadRequest","message":"`+want+`"}`)
			if closed := socket.closed(); closed.Code != websocket.ClosePolicyViolation {
				t.Errorf("%s was closed with %v", question, closed)
			}
		}
	})
}

func TestQueryThatIsWrongIsRefusedBeforeTheUpgrade(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		dialer := websocket.Dialer{NetDialContext: f.listener.dial}
		_, response, err := dialer.Dial("ws://localhost/api/v1/watch?resource=pods", nil)
		if err == nil || response.StatusCode != http.StatusBadRequest {
			t.Errorf("got %v, %v", response, err)
		}
	})
}

func TestSubprotocolIsOurs(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		dialer := websocket.Dialer{NetDialContext: f.listener.dial, Subprotocols: []string{"v9.countd", "v1.countd"}}
		conn, _, err := dialer.Dial("ws://localhost/api/v1/watch?namespaces=a", nil)
		must(t, err)
		defer func() { _ = conn.Close() }()
		if got := conn.Subprotocol(); got != "v1.countd" {
			t.Errorf("subprotocol is %q", got)
		}
	})
}

// TestIdleStreamsBeat, so that either side finds out when the other is dead.
func TestIdleStreamsBeat(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		socket := f.dial("/api/v1/watch?namespaces=a")
		pings := 0
		socket.SetPingHandler(func(string) error { pings++; return nil })
		heard := socket.listen()
		events := f.open("/api/v1/watch", "Accept", "text/event-stream")
		events.line()
		events.line()
		events.line()
		pass(25 * time.Second)
		heard.take()
		if pings != 1 {
			t.Errorf("%d pings in 25 s", pings)
		}
		same(t, "SSE", []string{events.line(), events.line()}, ": ping", "")
	})
}
