package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
)

// scrapeLog logs what went wrong in scrapes. That one who scraped went away in the middle,
// of which promhttp tells once for each metric that was still to be sent, is for debugging.
type scrapeLog struct{ log *slog.Logger }

// Println makes it a promhttp.Logger.
func (l scrapeLog) Println(said ...any) {
	log := l.log.Warn
	for _, s := range said {
		var gone *net.OpError
		if err, ok := s.(error); ok && errors.As(err, &gone) {
			log = l.log.Debug
		}
	}
	log("metrics", "error", strings.TrimSpace(fmt.Sprintln(said...)))
}
