package apiserver

import (
	"encoding/binary"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// encoding is what a client accepts.
type encoding struct{ protobuf, metadata bool }

// negotiate returns the first encoding that a client accepts and the server has. as is
// how metadata alone is called in the request.
func negotiate(accept, as string) (e encoding, ok bool) {
	if accept == "" {
		return e, true
	}
	for clause := range strings.SplitSeq(accept, ",") {
		mediaType, params, err := mime.ParseMediaType(clause)
		if err != nil {
			continue
		}
		switch mediaType {
		case runtime.ContentTypeProtobuf:
			e.protobuf = true
		case runtime.ContentTypeJSON, "application/*", "*/*":
			e.protobuf = false
		default:
			continue
		}
		switch params["as"] {
		case "":
			return e, true
		case as:
			if params["g"] == metav1.GroupName && params["v"] == "v1" {
				e.metadata = true
				return e, true
			}
		}
	}
	return e, false
}

func (e encoding) contentType() string {
	if e.protobuf {
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}

// streamType is the content type of a watch.
func (e encoding) streamType() string {
	if e.protobuf {
		return runtime.ContentTypeProtobuf + ";stream=watch"
	}
	return runtime.ContentTypeJSON
}

// protobufPrefix is what an object in protobuf begins with.
const protobufPrefix = "k8s\x00"

// envelope encodes an object in protobuf.
func envelope(obj interface {
	runtime.Object
	Marshal() ([]byte, error)
},
) ([]byte, error) {
	raw, err := obj.Marshal()
	if err != nil {
		return nil, err
	}
	apiVersion, kind := obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	body, err := u.Marshal()
	return append([]byte(protobufPrefix), body...), err
}

// appendHead appends what is before the first item of a list whose items have so many
// bytes in all; appendTail, what is after the last.
func (e encoding) appendHead(b []byte, kind, apiVersion string, list metav1.ListMeta, items int) ([]byte, error) {
	if !e.protobuf {
		text, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		head, err := json.Marshal(map[string]string{"kind": kind, "apiVersion": apiVersion})
		if err != nil {
			return nil, err
		}
		b = append(append(b, head[:len(head)-1]...), `,"metadata":`...)
		return append(append(b, text...), `,"items":[`...), nil
	}
	meta, err := list.Marshal()
	if err != nil {
		return nil, err
	}
	types := runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}
	head, err := types.Marshal()
	if err != nil {
		return nil, err
	}
	meta = appendField(nil, 1, meta)
	b = appendField(append(b, protobufPrefix...), 1, head)
	b = append(b, 2<<3|bytesType)
	b = binary.AppendUvarint(b, uint64(len(meta)+items))
	return append(b, meta...), nil
}

func (e encoding) appendTail(b []byte) []byte {
	if e.protobuf {
		return appendField(appendField(b, 3, nil), 4, nil) // runtime.Unknown has them, empty
	}
	return append(b, "]}\n"...)
}

// bytesType is protobuf's wire type of what begins with its length.
const bytesType = 2

func appendField(b []byte, number byte, value []byte) []byte {
	b = append(b, number<<3|bytesType)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

// refuse answers with a Status.
func (e encoding) refuse(w http.ResponseWriter, s metav1.Status) {
	s.Kind, s.APIVersion = "Status", "v1"
	body, err := json.Marshal(s)
	if e.protobuf {
		body, err = envelope(&s)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", e.contentType())
	w.WriteHeader(int(s.Code))
	_, _ = w.Write(body) // the client is gone
}
