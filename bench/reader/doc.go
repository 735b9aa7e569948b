// Package reader holds what is compared: programs that read all objects of an API
// server, each as it is used by those who use it.
//
//   - countd: pkg/cluster and pkg/counts, as cmd/countd runs them.
//   - tally: pkg/counts alone, which is told of the objects directly.
//   - typed, metadata, transform: a SharedIndexInformer of client-go, with an index of
//     namespaces as its factories make it, and no handler. It keeps whole typed
//     objects, PartialObjectMetadata, or typed objects of which a transform leaves
//     namespace, name, resourceVersion and phase; all are read in protobuf.
//   - reflector, reflector-metadata: a Reflector of client-go, whose store throws the
//     objects away; typed ones, or PartialObjectMetadata.
package reader
