// Package wire reads the few fields of an object that matter out of Kubernetes'
// protobuf, or out of JSON, and skips the rest.
//
// Which fields they are is said by JSON paths; where they are in protobuf is taken,
// once, from the struct tags of the object's Go type, so no number is written down
// twice. What is read is a [Sparse]: the identity of the object, and its fields in a
// compact form that is the same bytes for the same values. Whoever derives something
// from the fields can therefore remember it by these bytes; [Schema.Object] and
// [TextObject] give them as the content of an unstructured object that has no other fields.
//
// A Schema and a Text are immutable and safe for concurrent use.
package wire
