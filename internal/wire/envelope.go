package wire

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
)

// Prefix is what Kubernetes' protobuf begins with.
const Prefix = "k8s\x00"

// Open takes an object out of the envelope that the API server sends it in, without
// copying it.
func Open(data []byte) (kind string, raw []byte, err error) {
	data, ok := bytes.CutPrefix(data, []byte(Prefix))
	if !ok {
		return "", nil, errMalformed
	}
	var unknown runtime.Unknown
	err = each(data, func(number protowire.Number, v []byte) error {
		switch number {
		case 1:
			return unknown.TypeMeta.Unmarshal(v)
		case 2:
			raw = v
		}
		return nil
	})
	return unknown.Kind, raw, err
}

// List reads the encoding of a list: the version and the token of its metadata, and
// calls item for each object.
func List(raw []byte, item func(raw []byte) error) (resourceVersion, next string, err error) {
	err = each(raw, func(number protowire.Number, v []byte) error {
		switch number {
		case 1:
			return each(v, func(number protowire.Number, v []byte) error {
				switch number {
				case 2:
					resourceVersion = string(v)
				case 3:
					next = string(v)
				}
				return nil
			})
		case 2:
			return item(v)
		}
		return nil
	})
	return resourceVersion, next, err
}

// each calls f for each field that is bytes, and skips the others.
func each(raw []byte, f func(protowire.Number, []byte) error) error {
	for len(raw) > 0 {
		number, wireType, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return errMalformed
		}
		raw = raw[n:]
		if wireType != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, wireType, raw); n < 0 {
				return errMalformed
			}
			raw = raw[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(raw)
		if n < 0 {
			return errMalformed
		}
		raw = raw[n:]
		if err := f(number, v); err != nil {
			return err
		}
	}
	return nil
}
