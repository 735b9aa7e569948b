package api

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
)

func TestScraperThatWentAwayIsNoWarning(t *testing.T) {
	var out bytes.Buffer
	l := scrapeLog{slog.New(slog.NewTextHandler(&out, nil))}
	l.Println("error encoding:", fmt.Errorf("write: %w", &net.OpError{Op: "write", Err: errors.New("broken pipe")}))
	if out.Len() > 0 {
		t.Errorf("it is logged: %s", out.String())
	}
	l.Println("error gathering:", errors.New("a label is no UTF-8"))
	if got := out.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "a label is no UTF-8") {
		t.Errorf("another error is logged as %q", got)
	}
}
