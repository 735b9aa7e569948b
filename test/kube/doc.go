// Package kube runs real Kubernetes control planes for tests, demos and
// benchmarks: etcd and kube-apiserver, with kube-controller-manager on request,
// in one child process for each Cluster, on loopback, any number side by side.
//
//	test binary                       child process (test/kube/server)
//	  Cluster ── stdin, signals ────►  etcd ◄─ kube-apiserver ◄─ controllers
//	     ▲  ◄── one line: ready ─────                  ▲
//	  Config(user, groups) ── HTTPS, client certificate┘
//
// The child is built from source once for each version of it, which takes some
// five minutes on two cores, and then kept in the user's cache directory. A start
// takes three seconds, a stop one.
//
// No child outlives its parent: it stops when its standard input ends, and on
// Linux the kernel kills it with the parent.
//
// Without the controller manager nobody reconciles: namespaces do not finish
// deleting, Deployments make no Pods, aggregated ClusterRoles stay empty.
//
// A test package shares one cluster like this:
//
//	var shared = kube.NewShared(kube.Options{})
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		cluster := shared.Cluster(t)
//		namespace := cluster.Namespace(t)
//		...
//
// A test that stops or kills its cluster starts its own with StartT.
//
// The package runs on Unix only.
package kube
