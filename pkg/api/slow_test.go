package api

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/countd/countd/pkg/counts"
)

// value returns a metric of the server by its name and some of its labels, as
// name{label="value"} has them.
func (f *fixture) value(name string, labels ...string) float64 {
	f.t.Helper()
	families, err := f.server.options.Registry.Gather()
	must(f.t, err)
	sum := 0.0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && has(m, labels) {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func has(m *dto.Metric, values []string) bool {
	have := prometheus.Labels{}
	for _, l := range m.GetLabel() {
		have[l.GetValue()] = l.GetName()
	}
	for _, v := range values {
		if _, ok := have[v]; !ok {
			return false
		}
	}
	return true
}

// raw opens a stream over HTTP, on a connection of which nothing is read that the
// test does not read.
func (f *fixture) raw(accept string) *bufio.Reader {
	f.t.Helper()
	conn, err := f.listener.dial(f.t.Context(), "", "")
	must(f.t, err)
	f.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /api/v1/watch HTTP/1.1\r\nHost: localhost\r\nAccept: %s\r\n\r\n", accept)
	must(f.t, err)
	return bufio.NewReaderSize(conn, 16)
}

// TestC10ReaderThatStopsForAMinuteGetsTheNewest: over the same connection, what
// was on its way when it stopped and then one message, on each transport.
func TestC10ReaderThatStopsForAMinuteGetsTheNewest(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		socket := f.dial("/api/v1/watch?namespaces=a")
		socket.hear()
		steve := f.dial("/v1/subscribe")
		steve.say(askCount)
		steve.hear()
		steve.hear()
		lines := f.raw("*/*")
		events := f.raw("text/event-stream")

		for i := range 600 {
			p.put("a", fmt.Sprint(i))
			pass(100 * time.Millisecond)
		}

		newest := `"namespaces":{"a":{"count":600}}`
		heard, heardSteve := socket.listen(), steve.listen()
		if got := heard.take(); len(got) != 2 || !strings.Contains(got[1], newest) {
			t.Errorf("websocket: %q", got)
		}
		var changes []string
		for _, m := range heardSteve.take() {
			if strings.Contains(m, resourceChange) {
				changes = append(changes, m)
			}
		}
		if len(changes) != 2 || !strings.Contains(changes[1], newest) {
			t.Errorf("steve: %q", changes)
		}
		for name, reader := range map[string]*bufio.Reader{"NDJSON": lines, "SSE": events} {
			states := 0
			for {
				line, err := reader.ReadString('\n')
				must(t, err)
				if strings.Contains(line, `{"type":`) {
					states++
				}
				if strings.Contains(line, newest) {
					break
				}
			}
			if states > 2 {
				t.Errorf("%s: %d messages until the newest", name, states)
			}
		}
		p.put("a", "after")
		pass(time.Second)
		if got := heard.take(); len(got) != 1 {
			t.Errorf("afterwards: %q", got)
		}
		if cut := f.value("countd_api_slow_readers_total"); cut != 0 {
			t.Errorf("%v were cut", cut)
		}
	})
}

// TestC14ReaderThatNeverReadsIsCutAndNobodyWaits, on each transport.
func TestC14ReaderThatNeverReadsIsCutAndNobodyWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		good := f.dial("/api/v1/watch?namespaces=a").listen()
		good.take()

		f.dial("/api/v1/watch?namespaces=a")
		f.dial("/v1/subscribe").say(askCount)
		f.raw("*/*")
		f.raw("text/event-stream")
		synctest.Wait()
		start := time.Now()
		if open := f.value("countd_api_open_connections"); open != 5 {
			t.Errorf("%v connections are open", open)
		}
		for i := 0; time.Since(start) < defaultWriteTimeout-time.Second; i++ {
			p.put("a", fmt.Sprint(i))
			pass(500 * time.Millisecond)
			if got := good.take(); len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf(`{"count":%d}`, i+1)) {
				t.Fatalf("after %s the other reader has %q", time.Since(start), got)
			}
		}
		if cut := f.value("countd_api_slow_readers_total"); cut != 0 {
			t.Errorf("%v were cut before the write timeout", cut)
		}
		pass(2 * time.Second)
		for _, transport := range []string{"ndjson", "sse"} {
			if cut := f.value("countd_api_slow_readers_total", transport); cut != 1 {
				t.Errorf("%v of %s were cut", cut, transport)
			}
		}
		if cut := f.value("countd_api_slow_readers_total", "websocket"); cut != 2 {
			t.Errorf("%v websockets were cut", cut)
		}
		if open := f.value("countd_api_open_connections"); open != 1 {
			t.Errorf("%v connections are open", open)
		}
		if subscriptions := f.value("countd_api_open_subscriptions"); subscriptions != 1 {
			t.Errorf("%v subscriptions are open", subscriptions)
		}
	})
}

// TestStreamsOutliveTheWriteTimeout, which is one for each message, and end when
// their client stops later on.
func TestStreamsOutliveTheWriteTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		type message = func() (string, error)
		var streams []message
		for _, transport := range []string{"ndjson", "sse", "websocket"} {
			next, _ := f.messages("/api/v1/watch?namespaces=a", transport)
			streams = append(streams, next)
		}
		hear := func() {
			t.Helper()
			for _, next := range streams {
				_, err := next()
				must(t, err)
			}
		}
		hear()
		for i := range 20 {
			pass(30 * time.Second)
			p.put("a", fmt.Sprint(i))
			hear()
		}
		for i := range 200 { // more than the client's own buffer holds
			p.put("a", fmt.Sprint(strings.Repeat("x", i)))
			pass(time.Second)
		}
		if cut := f.value("countd_api_slow_readers_total"); cut != 3 {
			t.Errorf("%v were cut", cut)
		}
	})
}

// TestC14PingWhileAFrameIsWritten: the answer to a client's ping and the frame
// come from two goroutines; the race detector watches.
func TestC14PingWhileAFrameIsWritten(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		socket := f.dial("/api/v1/watch?namespaces=a")
		pongs := make(chan struct{})
		socket.SetPongHandler(func(string) error { pongs <- struct{}{}; return nil })
		heard := socket.listen()
		const pings = 200
		for i := range pings {
			must(t, p.Put(t.Context(), counts.Object{Namespace: "a", Name: fmt.Sprint(i)}))
			must(t, socket.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Minute)))
			<-pongs
			pass(time.Millisecond) // the debounce is over
		}
		got := heard.take()
		if last := got[len(got)-1]; !strings.Contains(last, fmt.Sprintf(`"a":{"count":%d}`, pings)) {
			t.Errorf("after %d messages the last is %s", len(got), last)
		}
	}, func(o *Options) { o.Debounce = time.Millisecond })
}

// TestSilentPeerIsFoundDead: it takes what is sent and never answers a ping.
func TestSilentPeerIsFoundDead(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		socket := f.dial("/api/v1/watch?namespaces=a")
		socket.SetPingHandler(func(string) error { return nil })
		answering := f.dial("/api/v1/watch?namespaces=a").listen()
		heard := socket.listen()
		pass(defaultPeerTimeout - 1)
		if err := heard.ended(); err != nil {
			t.Errorf("ended early: %v", err)
		}
		pass(2 * time.Second)
		if heard.ended() == nil {
			t.Error("still open")
		}
		pass(10 * defaultPeerTimeout)
		if err := answering.ended(); err != nil {
			t.Errorf("one that answers was cut: %v", err)
		}
	})
}

func TestClientsMessagesHaveTheirLimits(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		for _, path := range []string{"/v1/subscribe", "/api/v1/watch?namespaces=a"} {
			for _, test := range []struct {
				kind int
				data string
				code int
			}{
				{websocket.TextMessage, strings.Repeat(" ", defaultMessageLimit+1), websocket.CloseMessageTooBig},
				{websocket.BinaryMessage, "{}", websocket.CloseUnsupportedData},
				{websocket.TextMessage, "\"\xff\"", websocket.CloseInvalidFramePayloadData},
			} {
				socket := f.dial(path)
				heard := socket.listen()
				go func() { _ = socket.WriteMessage(test.kind, []byte(test.data)) }()
				pass(2 * time.Second)
				var closed *websocket.CloseError
				if err := heard.ended(); !errors.As(err, &closed) || closed.Code != test.code {
					t.Errorf("%s: %.10q was closed with %v, want %d", path, test.data, err, test.code)
				}
			}
		}
	})
}

func TestClientThatLeavesFreesItsStream(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		socket, steve := f.dial("/api/v1/watch?namespaces=a"), f.dial("/v1/subscribe")
		heard := socket.listen()
		lines, events := f.open("/api/v1/watch"), f.open("/api/v1/watch", "Accept", "text/event-stream")
		heard.take()
		if open := f.value("countd_api_open_connections"); open != 4 {
			t.Errorf("%v are open", open)
		}
		must(t, socket.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second)))
		must(t, steve.Close()) // without a word
		lines.close()
		events.close()
		pass(time.Second)
		var closed *websocket.CloseError
		if err := heard.ended(); !errors.As(err, &closed) || closed.Code != websocket.CloseNormalClosure {
			t.Errorf("the close was answered with %v", err)
		}
		if open := f.value("countd_api_open_connections"); open != 0 {
			t.Errorf("%v are open", open)
		}
	})
}
