// Package wire reads the few fields of an object that matter out of Kubernetes'
// protobuf encoding and skips the rest.
//
// Which fields they are is said by JSON paths; where they are on the wire is taken,
// once, from the struct tags of the object's Go type, so no number is written down
// twice. What is read is a [Sparse]: the identity of the object, and its fields in a
// compact form that is the same bytes for the same values. Whoever derives something
// from the fields can therefore remember it by these bytes; [Schema.Object] gives
// them as the content of an unstructured object that has no other fields.
//
// A Schema is immutable and safe for concurrent use.
package wire
