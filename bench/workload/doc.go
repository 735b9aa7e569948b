// Package workload makes streams of watch events of the built-in kinds that change
// often, and of a custom one, as a busy cluster has them: Pods start, crash and end,
// Deployments, StatefulSets and DaemonSets are rolled out, nodes tell that they are
// well, and some events change nothing that anybody looks at.
//
// Objects live their lives one step an event, each event that of a random one. Nothing
// is new by decree: how many events have values that no object had before comes from
// the lives, from how many replicas, generations and revisions there are. The streams
// depend on the seed alone.
package workload
