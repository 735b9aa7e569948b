package main

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/countd/countd/bench/workload"
	"github.com/countd/countd/internal/state"
)

// custom is what decoding a custom object takes, with its state, in microseconds.
type custom struct {
	Bytes, CBORBytes int // of an object, in the mean
	Ours             float64
	JSON             float64 // into an unstructured object, of which wrangler reads the state
	CBOR             float64 // the same
}

// customEvents are fewer: they take long, and are large in memory.
const customEvents = 5000

func (o options) decodeCustom() (c custom, err error) {
	var texts, binaries [][]byte
	for _, object := range workload.Widgets(seed, min(o.events, customEvents)) {
		text, err := json.Marshal(object)
		if err != nil {
			return c, err
		}
		binary, err := direct.Marshal(object)
		if err != nil {
			return c, err
		}
		texts, binaries = append(texts, text), append(binaries, binary)
		c.Bytes += len(text)
		c.CBORBytes += len(binary)
	}
	c.Bytes /= len(texts)
	c.CBORBytes /= len(binaries)
	var ours, fromJSON, fromCBOR []float64
	for range o.runs {
		d, err := decoderOf(workload.Widget())
		if err != nil {
			return c, err
		}
		took, err := timeEach(len(texts), func(i int) error { return decodeOne(d, texts[i]) })
		if err != nil {
			return c, err
		}
		ours = append(ours, took)
		took, err = timeEach(len(texts), func(i int) error {
			u := new(unstructured.Unstructured)
			if err := u.UnmarshalJSON(texts[i]); err != nil {
				return err
			}
			_, err := state.Wrangler.Read(u.Object, time.Now())
			return err
		})
		if err != nil {
			return c, err
		}
		fromJSON = append(fromJSON, took)
		took, err = timeEach(len(binaries), func(i int) error {
			var object map[string]any
			if err := direct.Unmarshal(binaries[i], &object); err != nil {
				return err
			}
			_, err := state.Wrangler.Read(object, time.Now())
			return err
		})
		if err != nil {
			return c, err
		}
		fromCBOR = append(fromCBOR, took)
	}
	c.Ours, c.JSON, c.CBOR = median(ours), median(fromJSON), median(fromCBOR)
	return c, nil
}
