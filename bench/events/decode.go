package main

import (
	"fmt"
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/bench/workload"
	"github.com/countd/countd/internal/decode"
	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/internal/wire"
	"github.com/countd/countd/pkg/counts"
)

// seed of all streams.
const seed = 1

// decoded is what decoding an event takes.
type decoded struct {
	Kinds  []decodedKind
	Custom custom
}

// decodedKind is in microseconds.
type decodedKind struct {
	Kind  string
	Bytes int     // of an object, in the mean
	New   float64 // share of events with values that none had before
	Ours  float64
	Plain float64 // protobuf alone
	Fresh float64 // ours, where all values are new; 0: they cannot be
}

func (o options) decode() (d decoded, err error) {
	for _, k := range workload.Kinds() {
		one, err := o.decodeKind(k)
		if err != nil {
			return d, fmt.Errorf("%s: %w", k.Kind, err)
		}
		d.Kinds = append(d.Kinds, one)
	}
	d.Custom, err = o.decodeCustom()
	return d, err
}

func (o options) decodeKind(k workload.Kind) (d decodedKind, err error) {
	mix, _, err := k.Stream(seed, o.events, false)
	if err != nil {
		return d, err
	}
	fresh, renewed, err := k.Stream(seed, o.events, true)
	if err != nil {
		return d, err
	}
	d.Kind = k.Kind
	if d.New, err = newShare(k, mix); err != nil {
		return d, err
	}
	for _, raw := range mix.Events {
		d.Bytes += len(raw)
	}
	d.Bytes /= len(mix.Events)
	var ours, plain, all []float64
	for range o.runs {
		took, err := decodeOurs(k, mix)
		if err != nil {
			return d, err
		}
		ours = append(ours, took)
		took, err = timeEach(len(mix.Events), func(i int) error { return k.Empty().Unmarshal(mix.Events[i]) })
		if err != nil {
			return d, err
		}
		plain = append(plain, took)
		if renewed {
			if took, err = decodeOurs(k, fresh); err != nil {
				return d, err
			}
			all = append(all, took)
		}
	}
	d.Ours, d.Plain = median(ours), median(plain)
	if renewed {
		d.Fresh = median(all)
	}
	return d, nil
}

// decodeOurs decodes a list with a new decoder, and then measures the events.
func decodeOurs(k workload.Kind, s workload.Stream) (microseconds float64, err error) {
	d, err := decoderOf(k.GroupVersionKind)
	if err != nil {
		return 0, err
	}
	whole := func(raws [][]byte) (datas [][]byte, err error) {
		for _, raw := range raws {
			data, err := k.Envelope(raw)
			if err != nil {
				return nil, err
			}
			datas = append(datas, data)
		}
		return datas, nil
	}
	initial, err := whole(s.Initial)
	if err != nil {
		return 0, err
	}
	events, err := whole(s.Events)
	if err != nil {
		return 0, err
	}
	for _, data := range initial {
		if err := decodeOne(d, data); err != nil {
			return 0, err
		}
	}
	return timeEach(len(events), func(i int) error { return decodeOne(d, events[i]) })
}

func decoderOf(gvk schema.GroupVersionKind) (*decode.Decoder, error) {
	return decode.New(counts.Resource{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: "things"}, state.Corrected)
}

func decodeOne(d *decode.Decoder, data []byte) error {
	obj, _, err := d.Decode(data, nil, nil)
	if err != nil {
		return err
	}
	if o, ok := obj.(*decode.Object); !ok || o.Err != nil {
		return fmt.Errorf("decoded is %+v", obj)
	}
	return nil
}

// newShare is how many events have values of what decides a state that no object had
// before.
func newShare(k workload.Kind, s workload.Stream) (float64, error) {
	fields, err := wire.New(deref(k.Empty()), state.Fields(k.GroupVersionKind)...)
	if err != nil {
		return 0, err
	}
	known := make(map[string]bool)
	add := func(raws [][]byte) error {
		for _, raw := range raws {
			sparse, err := fields.Read(raw, nil)
			if err != nil {
				return err
			}
			known[string(sparse.Values)] = true
		}
		return nil
	}
	if err := add(s.Initial); err != nil {
		return 0, err
	}
	before := len(known)
	err = add(s.Events)
	return float64(len(known)-before) / float64(len(s.Events)), err
}

// timeEach is the CPU time of one of n calls, in microseconds.
func timeEach(n int, do func(i int) error) (float64, error) {
	runtime.GC()
	began := process.CPUTime()
	for i := range n {
		if err := do(i); err != nil {
			return 0, err
		}
	}
	return micros(process.CPUTime()-began, n), nil
}

func micros(d time.Duration, events int) float64 {
	return float64(d) / float64(time.Microsecond) / float64(events)
}
