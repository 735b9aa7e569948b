package counts

import (
	"encoding/json"
	"strconv"
)

// writer appends JSON to b. It trusts its caller to nest well.
type writer struct {
	b     []byte
	comma bool // before the next key
}

func (w *writer) open() {
	w.b = append(w.b, '{')
	w.comma = false
}

func (w *writer) close() {
	w.b = append(w.b, '}')
	w.comma = true
}

func (w *writer) key(k string) {
	if w.comma {
		w.b = append(w.b, ',')
	}
	w.string(k)
	w.b = append(w.b, ':')
}

func (w *writer) null() { w.b, w.comma = append(w.b, "null"...), true }

func (w *writer) bool(v bool) { w.b, w.comma = strconv.AppendBool(w.b, v), true }

func (w *writer) int(n int64) { w.b, w.comma = strconv.AppendInt(w.b, n, 10), true }

func (w *writer) string(s string) {
	w.comma = true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always marshals
			w.b = append(w.b, quoted...)
			return
		}
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, s...)
	w.b = append(w.b, '"')
}
