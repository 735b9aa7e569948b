package decode

import (
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	acceptJSON = "application/json"
	// A server that has no protobuf, as an aggregated one may be, sends JSON.
	acceptProtobuf = "application/vnd.kubernetes.protobuf,application/json"
	// No bare application/json at the end, which client-go's metadata client
	// has for servers older than 1.15: such a server would send whole Secrets.
	acceptMetadata     = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetadataList = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Accept returns the values of the Accept header with which objects are asked for so
// that the decoder can read them: one by one, as in a watch, and in lists.
func (d *Decoder) Accept() (one, list string) {
	switch {
	case d.metadata:
		return acceptMetadata, acceptMetadataList
	case d.proto != nil:
		return acceptProtobuf, acceptProtobuf
	}
	return acceptJSON, acceptJSON
}

// Serializers returns what a REST client needs to decode with d. The events of
// a watch, around the objects, are decoded by the given serializers.
func (d *Decoder) Serializers(events runtime.NegotiatedSerializer) runtime.NegotiatedSerializer {
	s := serializers{NegotiatedSerializer: events, decoder: d}
	for _, t := range events.SupportedMediaTypes() {
		if t.MediaType == runtime.ContentTypeProtobuf || t.MediaType == runtime.ContentTypeJSON {
			t.Serializer, t.StrictSerializer = d, d
			s.types = append(s.types, t)
		}
	}
	return s
}

type serializers struct {
	runtime.NegotiatedSerializer
	types   []runtime.SerializerInfo
	decoder *Decoder
}

func (s serializers) SupportedMediaTypes() []runtime.SerializerInfo { return s.types }

// DecoderToVersion leaves a Decoder as it is.
func (s serializers) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	if d == runtime.Decoder(s.decoder) {
		return d
	}
	return s.NegotiatedSerializer.DecoderToVersion(d, gv)
}
