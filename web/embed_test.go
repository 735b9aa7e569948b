package web

import (
	"io/fs"
	"regexp"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestNothingIsInline: the page is served with default-src 'self', under which a
// browser ignores inline scripts, styles and handlers, and other hosts.
func TestNothingIsInline(t *testing.T) {
	page, err := fs.ReadFile(Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	for what, pattern := range map[string]string{
		"an inline script":  `<script[^>]*>[^<]`,
		"an inline style":   `<style|\sstyle=`,
		"an inline handler": `\son\w+=`,
		"another host":      `(src|href)="(\w+:)?//`,
	} {
		if found := regexp.MustCompile(pattern).Find(page); found != nil {
			t.Errorf("index.html has %s: %s", what, found)
		}
	}
	for _, file := range regexp.MustCompile(`(?:src|href)="([\w.]+\.\w+)"`).FindAllSubmatch(page, -1) {
		if _, err := fs.Stat(Files(), string(file[1])); err != nil {
			t.Errorf("index.html refers to %s: %v", file[1], err)
		}
	}
}
