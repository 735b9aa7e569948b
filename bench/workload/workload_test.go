package workload

import (
	"bytes"
	"slices"
	"testing"
)

// TestStreamsDependOnTheSeed: the same seed gives the same events, so that runs can be
// compared, and another gives others.
func TestStreamsDependOnTheSeed(t *testing.T) {
	for _, k := range Kinds() {
		stream := func(seed uint64) Stream {
			s, _, err := k.Stream(seed, 500, false)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		one, again, other := stream(1), stream(1), stream(2)
		if !slices.EqualFunc(one.Events, again.Events, bytes.Equal) || slices.EqualFunc(one.Events, other.Events, bytes.Equal) {
			t.Errorf("events of %s do not depend on the seed alone", k.Kind)
		}
		if len(one.Initial) != population || len(one.Events) != 500 {
			t.Errorf("%s: %d objects, %d events", k.Kind, len(one.Initial), len(one.Events))
		}
		for _, raw := range one.Events {
			if err := k.Empty().Unmarshal(raw); err != nil {
				t.Fatalf("%s: %v", k.Kind, err)
			}
		}
	}
}
