package state

import (
	"github.com/countd/countd/pkg/counts"
)

// nodeProblems are conditions of a Node that, when True, are trouble, in the order in
// which they are told. A Node may have conditions of others (RKE2's EtcdIsVoter), so
// that one is True means nothing by itself.
var nodeProblems = []struct{ condition, word string }{
	{"NetworkUnavailable", "network-unavailable"},
	{"MemoryPressure", "memory-pressure"},
	{"DiskPressure", "disk-pressure"},
	{"PIDPressure", "pid-pressure"}, // wrangler knows all the others
	{"OutOfDisk", "out-of-disk"},
}

// node reads a Node. One that does not report is not in progress; one that is cordoned
// is as somebody wants it.
func (o object) node(steve counts.State) counts.State {
	switch o.condition("Ready").status {
	case "False":
		return counts.State{Word: "not-ready", Error: true}
	case "Unknown":
		return counts.State{Word: "unknown", Error: true}
	}
	for _, p := range nodeProblems {
		if o.condition(p.condition).status == "True" {
			return counts.State{Word: p.word, Error: true}
		}
	}
	return steve
}
