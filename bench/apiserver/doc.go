// Package apiserver stands in for a Kubernetes API server in benchmarks: it serves
// discovery, LIST in pages and WATCH, streaming lists included, of any number of
// Pods or ConfigMaps, in JSON and in protobuf, whole or as PartialObjectMetadata.
//
//	Pod ─► template (placeholders, encoded once) ─► patched with an object's values ─► list
//	       one for each state and size                                              └► watch
//
// No object is kept, and none is encoded when it is sent. Objects are numbered; what
// differs between two of one template has the same width in both, so that an object
// is a copy of its template with a few bytes overwritten, and the lengths that
// protobuf nests stay right. A million objects cost the server some megabytes, and
// about a microsecond each time one is sent. It never compresses; a real one does,
// for clients that are not on its own machine.
//
// It has one history: the objects that there are at first, then a given number of
// changes, then as many breaks as are asked for. A LIST is of the first moment, and a
// WATCH goes through the changes from where it is asked to, as fast as they are read;
// so each client gets all changes, however late it comes. With [Options].Held, they
// wait for a POST to /bench/release. A break, made by
//
//	POST /bench/expire?gone=1000
//
// deletes so many objects behind everybody's back, ends all watches with 410 Gone and
// refuses older versions from then on: everybody has to list anew, and that list is of
// the moment after the break. The answer, and that of GET /bench/moment, is a [Moment].
//
// With [Options].Live it has no history of its own: objects are created by POST, as with
// a real API server, and are sent at once to who watches. A LIST is of the first moment
// still, so that who lists later gets them as changes.
//
// It is for measuring. What is right with a real API server is not argued from it.
package apiserver
