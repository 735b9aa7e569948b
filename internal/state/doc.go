// Package state says what state an object is in, in two readings.
//
// Wrangler's is that of github.com/rancher/wrangler/v3/pkg/summary, to the letter: the
// Rancher dashboard was made for its two flags. countd's own begins with it and corrects
// it where it hides a failure or cries wolf:
//
//	object ─► wrangler ─► Steve
//	             │
//	             └─► being deleted? ─► Pod, Node, Job, …: rules of the kind ─► State
//	                                   others: conditions, one by one
//
// A state may also change without an event, because time passes; [Reading.Next] says
// when, and to what. Time comes in as a parameter: a reading is a function of the object
// and of now, although wrangler reads the clock by itself.
//
// The package owns which fields of an object decide its state ([Fields], [CustomFields]),
// so that readers can leave all others undecoded. A Read of an object that has nothing but
// these gives the same as one of the whole object; TestPartSaysTheSame and
// TestCustomSaysTheSame of internal/decode hold that, with random values,
// TestStatesOfRealObjects on a corpus, and the fuzzers FuzzStateOf… on what can be made of both.
//
// Everything here is a pure function, safe for concurrent use (R1, R2): objects are read,
// never written to, and no scheme is involved (R3).
package state
