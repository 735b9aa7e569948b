// Package apiserver stands in for a Kubernetes API server in benchmarks: it serves
// discovery, LIST in pages and WATCH, streaming lists included, of any number of
// Pods or ConfigMaps in the encoding that a real one uses, JSON, whole or as
// PartialObjectMetadata.
//
// No object is kept. Objects are numbered, and each is generated from its number
// whenever it is sent, so a million of them cost the server nothing. It has one
// history: the objects that there are at first, then a given number of changes.
// A LIST is of the first moment, and a WATCH goes through the changes from where
// it is asked to, as fast as they are read.
//
// It is for measuring. What is right with a real API server is not argued from it.
package apiserver
