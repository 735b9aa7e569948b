// Package decode reads what is counted of an object out of what an API server, or an
// informer, has to say of it, and no more than that takes:
//
//	protobuf, whole or metadata ─► wire.Schema ─┐
//	JSON, whole or metadata ─────► wire.Text ───┼─► remembered? ─► Object
//	an informer's typed object ──► encoded ─────┘        │
//	                                                     └─► state.Rules
//
// Most objects of a resource have the same values in the few fields that decide a state.
// So the state is remembered by these, unless it changes as time passes.
//
// Measured on a Pod of 5 KB in protobuf and 6.6 KB in JSON, state included (BenchmarkPod;
// times are in parts of what client-go's typed decoding of the protobuf takes alone, without
// a state, which is some 25 µs):
//
//	protobuf, values seen before                       0.05
//	protobuf, new values                               0.75
//	JSON, values seen before                           0.55
//	JSON, new values                                   1.2
//	JSON into an unstructured object, and wrangler     4.9
//	CBOR into an unstructured object, and wrangler     4.7
//
// So custom kinds are read as JSON also where the API server offers CBOR (BenchmarkWidget):
// CBOR is no faster by much as long as whole objects are made of it.
package decode
