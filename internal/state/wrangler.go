package state

import (
	"maps"
	"strings"
	"time"

	"github.com/rancher/wrangler/v3/pkg/data"
	"github.com/rancher/wrangler/v3/pkg/data/convert"
	"github.com/rancher/wrangler/v3/pkg/summary"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/countd/countd/pkg/counts"
)

// summarize is what wrangler says of an object. Its word for nothing to say is no word.
func summarize(content map[string]any) counts.State {
	s := summary.Summarize(&unstructured.Unstructured{Object: content})
	if s.State == "active" {
		s.State = ""
	}
	return counts.State{Word: s.State, Error: s.Error, Transitioning: s.Transitioning}
}

// The two rules of wrangler's that look at the clock, in checkInitializing and
// checkRemoving. Both are about fields that Rancher's own APIs have and Kubernetes'
// metadata has not. kstatus, on which wrangler falls back, has a third: a Pod is not
// unschedulable in its first 15 s. It is never asked, because a Pod with a phase has its
// phase for a state before kstatus' turn.
const (
	initializingFor = 5 * time.Second
	removingFor     = 5 * time.Minute
)

// Moments that are, for wrangler's clock, surely past and surely to come. They are in
// the form that it parses, and within the years that it can compute with.
const (
	longAgo = "1970-01-01T00:00:00Z"
	farAway = "2200-01-01T00:00:00Z"
)

// clock are the moments at which what wrangler says of an object changes; a zero time
// is none.
type clock struct {
	initialized time.Time // from then on, no longer initializing
	stuck       time.Time // from then on, removing has failed
}

func newClock(content data.Object) (c clock) {
	if strings.Contains(content.String("apiVersion"), "cattle.io") {
		if t, ok := timestamp(content, "created"); ok {
			c.initialized = t.Add(initializingFor)
		}
	}
	if t, ok := timestamp(content, "removed"); ok {
		c.stuck = t.Add(removingFor + 1) // wrangler wants it past, not reached
	}
	return c
}

// timestamp reads a field of metadata as wrangler does, which cuts off fractions of a second.
func timestamp(content data.Object, field string) (time.Time, bool) {
	millis, err := convert.ToTimestamp(content.String("metadata", field))
	return time.Unix(millis/1000, 0), err == nil
}

func (c clock) moments() (moments []time.Time) {
	for _, t := range []time.Time{c.initialized, c.stuck} {
		if !t.IsZero() {
			moments = append(moments, t)
		}
	}
	return moments
}

// content returns an object's content as wrangler will find it at a given moment. As
// wrangler reads the clock by itself, it is the object's timestamps that are moved, in
// a copy.
func (c clock) content(content map[string]any, now time.Time) map[string]any {
	if c == (clock{}) {
		return content
	}
	metadata, _ := content["metadata"].(map[string]any)
	content, metadata = maps.Clone(content), maps.Clone(metadata)
	content["metadata"] = metadata
	for field, at := range map[string]time.Time{"created": c.initialized, "removed": c.stuck} {
		switch {
		case at.IsZero():
		case at.After(now):
			metadata[field] = farAway
		default:
			metadata[field] = longAgo
		}
	}
	return content
}
