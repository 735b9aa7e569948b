package api

import (
	"encoding/json"
	"strconv"

	"github.com/countd/countd/pkg/counts"
)

// frame is one message to a client. It is immutable once it is made.
type frame struct {
	// id is what a client can resume from, as server-sent events carry it;
	// empty where the message is no state.
	id   string
	data []byte
}

// stateID is the id of a state in server-sent events.
func stateID(epoch string, seq uint64) string {
	return epoch + ":" + strconv.FormatUint(seq, 10)
}

// snapshotFrame is a whole part of a snapshot.
func snapshotFrame(part *counts.Snapshot) frame {
	b := appendHead(make([]byte, 0, 4096), "snapshot", part.Epoch())
	b = appendSeq(b, "seq", part.Seq())
	b = append(b, `,"resources":`...)
	b = append(part.AppendJSON(b), '}')
	return frame{stateID(part.Epoch(), part.Seq()), b}
}

// deltaFrame is the difference between a part of a snapshot and what a client
// holds, from, which is the same as what there was at since. It reports whether
// there is any.
func deltaFrame(part *counts.Snapshot, from, since uint64) (frame, bool) {
	b := appendHead(make([]byte, 0, 512), "delta", part.Epoch())
	b = appendSeq(b, "from", from)
	b = appendSeq(b, "seq", part.Seq())
	b = append(b, `,"resources":`...)
	b, changed := part.AppendPatch(b, since)
	return frame{stateID(part.Epoch(), part.Seq()), append(b, '}')}, changed
}

func appendHead(b []byte, kind, epoch string) []byte {
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","epoch":`...)
	quoted, _ := json.Marshal(epoch) // a string always marshals
	return append(b, quoted...)
}

func appendSeq(b []byte, name string, seq uint64) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return strconv.AppendUint(b, seq, 10)
}
