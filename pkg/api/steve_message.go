package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// The names of the messages of steve's family.
const (
	resourceStart   = "resource.start"
	resourceChange  = "resource.change"
	resourceChanges = "resource.changes" // a mode too
	resourceStop    = "resource.stop"
	resourceError   = "resource.error"
)

// echo is what comes back with every message of a subscription, byte for byte as
// it came: the dashboard keys its watches on it. What was left out stays out.
type echo struct {
	ResourceType json.RawMessage `json:"resourceType,omitempty"`
	Namespace    json.RawMessage `json:"namespace,omitempty"`
	ID           json.RawMessage `json:"id,omitempty"`
	Selector     json.RawMessage `json:"selector,omitempty"`
	Mode         json.RawMessage `json:"mode,omitempty"`
}

// frame returns a message with data, which is always there: the dashboard's
// worker throws without it.
func (e echo) frame(name string, data any) *frame {
	if data == nil {
		data = struct{}{}
	}
	body := mustMarshal(data)
	var b bytes.Buffer
	b.Grow(headroom + len(body) + 256)
	b.Write(newBuffer(0))
	b.WriteString(`{"name":"` + name + `"`)
	e.write(&b)
	b.WriteString(`,"data":`)
	b.Write(body)
	b.WriteByte('}')
	return seal("", b.Bytes())
}

// key is the same for echoes that are, byte for byte.
func (e echo) key() string {
	var b bytes.Buffer
	e.write(&b)
	return b.String()
}

func (e echo) write(b *bytes.Buffer) {
	for _, field := range []struct {
		name  string
		value json.RawMessage
	}{{"resourceType", e.ResourceType}, {"namespace", e.Namespace}, {"id", e.ID}, {"selector", e.Selector}, {"mode", e.Mode}} {
		if field.value != nil {
			b.WriteString(`,"` + field.name + `":`)
			b.Write(field.value)
		}
	}
}

// failure returns the message that something went wrong. The dashboard reads
// the text: "failed to find schema", "watch not allowed", "too old" and "the
// server does not allow this method on the requested resource" each make it do
// something.
func (e echo) failure(text string) *frame {
	return e.frame(resourceError, map[string]string{"error": text})
}

// subscription is what makes two subscriptions the same.
type subscription struct {
	resourceType, namespace, id, selector, mode string
	debounce                                    time.Duration
}

// steveAsk is a message of a client.
type steveAsk struct {
	echo
	subscription
	// Whether mode and debounceMs were given. The dashboard leaves them out
	// when it stops what it had started with them.
	modeGiven, debounceGiven bool
	stop                     bool
}

// parseSteveAsk reads a message. On an error it returns what it could read, so
// that the answer can say what it is about.
func parseSteveAsk(data []byte) (steveAsk, error) {
	var fields struct {
		echo
		DebounceMs *int64 `json:"debounceMs"`
		Stop       bool   `json:"stop"`
	}
	err := json.Unmarshal(data, &fields)
	ask := steveAsk{echo: fields.echo, stop: fields.Stop}
	if err != nil {
		if !json.Valid(data) {
			ask.echo = echo{}
		}
		return ask, fmt.Errorf("malformed message: %w", err)
	}
	for _, field := range []struct {
		raw   json.RawMessage
		value *string
		name  string
	}{
		{ask.ResourceType, &ask.resourceType, "resourceType"},
		{ask.Namespace, &ask.namespace, "namespace"},
		{ask.ID, &ask.id, "id"},
		{ask.Mode, &ask.mode, "mode"},
	} {
		if field.raw == nil {
			continue
		}
		if err := json.Unmarshal(field.raw, field.value); err != nil { // null leaves it empty
			return ask, fmt.Errorf("malformed message: %s is not a string", field.name)
		}
	}
	ask.selector = compact(ask.Selector)
	ask.modeGiven = ask.mode != ""
	if fields.DebounceMs != nil {
		ask.debounceGiven = true
		const most = int64(1<<63-1) / int64(time.Millisecond)
		ask.debounce = time.Duration(max(0, min(*fields.DebounceMs, most))) * time.Millisecond
	}
	return ask, nil
}

// compact returns JSON without its white space, and nothing for a value that
// says nothing.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if raw == nil || json.Compact(&b, raw) != nil {
		return ""
	}
	switch s := b.String(); s {
	case "null", `""`, "{}":
		return ""
	default:
		return s
	}
}

// stops says whether the message stops a subscription: that of which it has all
// that it gives.
func (a steveAsk) stops(s subscription) bool {
	if !a.modeGiven {
		s.mode = ""
	}
	if !a.debounceGiven {
		s.debounce = 0
	}
	return a.subscription == s
}
