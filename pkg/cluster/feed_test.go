package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/pkg/counts"
)

// channelSink hands what it is told to a test, which may let it wait.
type channelSink struct {
	said chan string
}

func (s channelSink) say(ctx context.Context, what string) error {
	select {
	case s.said <- what:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s channelSink) Begin(ctx context.Context) error { return s.say(ctx, "begin") }
func (s channelSink) End(ctx context.Context) error   { return s.say(ctx, "end") }
func (s channelSink) Put(ctx context.Context, o counts.Object) error {
	return s.say(ctx, "put "+o.Name)
}
func (s channelSink) Remove(ctx context.Context, _, name string) error {
	return s.say(ctx, "remove "+name)
}

// TestListsAreAppliedAsTheyCome (trap 4): an event of a streaming list is handed
// on before the next one is sent, so that nothing of the list piles up; and a list
// whose connection is cut in the middle is begun again and never ended.
func TestListsAreAppliedAsTheyCome(t *testing.T) {
	next := make(chan string) // what the server sends next; "cut" ends the connection
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		flusher := http.NewResponseController(w)
		_ = flusher.Flush()
		for {
			select {
			case name := <-next:
				if name == "cut" {
					panic(http.ErrAbortHandler)
				}
				u := unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
				u.SetName(name)
				u.SetNamespace("n")
				u.SetResourceVersion("7")
				event := map[string]any{"type": "ADDED", "object": u.Object}
				if name == "bookmark" {
					u.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
					event["type"] = "BOOKMARK"
				}
				_ = json.NewEncoder(w).Encode(event)
				_ = flusher.Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer server.Close()
	defer server.CloseClientConnections()

	sink := channelSink{said: make(chan string)}
	r, err := newClients(&rest.Config{Host: server.URL}, server.Client(), CorrectedStates).reader(podsResource)
	must(t, err)
	f := newWatchFeed(r, sink, newBoard(slog.New(slog.DiscardHandler)).report(podsResource), newTurns())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.run(ctx) }()
	defer func() { cancel(); <-done }()

	hears := func(want string) {
		t.Helper()
		select {
		case got := <-sink.said:
			if got != want {
				t.Fatalf("sink was told %q, want %q", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("sink was told nothing, want %q", want)
		}
	}
	hears("begin")
	for i := range 3 {
		next <- fmt.Sprint(i)
		hears("put " + fmt.Sprint(i))
	}
	next <- "cut"
	hears("begin") // after a pause
	next <- "0"
	hears("put 0")
	next <- "bookmark"
	hears("end")
	next <- "1"
	hears("put 1")
}

func TestBackoffIsBoundedAndSpread(t *testing.T) {
	var total time.Duration
	b := newBackoff()
	for i := range 20 {
		d := b.Step()
		if d < 800*time.Millisecond || d > time.Minute {
			t.Errorf("step %d is %v", i, d)
		}
		total += d
	}
	if total < 3*time.Minute {
		t.Errorf("20 failures in %v are a storm", total)
	}
}
