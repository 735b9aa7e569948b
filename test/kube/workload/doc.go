// Package workload fills a cluster with what a small company would run, and then
// keeps it alive: Deployments with their ReplicaSets, Pods and Services, Jobs,
// ConfigMaps, Secrets, Nodes and a custom resource, in good states and in the
// well-known bad ones.
//
//	plan(seed)  ──►  Fill: create, write statuses  ──►  Live: change, at a rate
//
// No kubelet, scheduler or workload controller takes part: the package writes all
// statuses itself, and those controllers must not run, for they would correct
// them. The namespace controller should run, or the namespaces that Live deletes
// stay behind as terminating.
//
// What is made is decided by the seed alone; when it is made, by the clock.
package workload
