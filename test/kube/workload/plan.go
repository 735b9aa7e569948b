package workload

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// state of a Pod as kubectl would show it.
type state int

const (
	running state = iota
	creating
	unschedulable
	crashLoop
	imagePull
	succeeded
	failed
	terminating // with a finalizer, so that it stays
)

// plan is what one namespace holds. Fill reads it; then it belongs to Live, which
// keeps it true.
type plan struct {
	namespace  string
	apps       []app
	jobs       []job
	configMaps []string
	secrets    []string
	backups    []backup
}

// app is a Deployment with its ReplicaSets, Pods and Service.
type app struct {
	name string
	pods []pod
}

type pod struct {
	name  string
	node  string // empty where it is unschedulable
	state state
}

type job struct {
	name  string
	state state // running, succeeded or failed
}

// backup is the custom resource.
type backup struct {
	name  string
	state state // running, succeeded or failed
}

// source of names and chances for one namespace or for Live. It is owned by one
// goroutine.
type source struct{ *rand.Rand }

func newSource(seed, stream uint64) source { return source{rand.New(rand.NewPCG(seed, stream))} }

func (s source) pick(words ...string) string { return words[s.IntN(len(words))] }

// suffix is one as Kubernetes makes for names: no vowels, so no words.
func (s source) suffix(length int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, length)
	for i := range b {
		b[i] = letters[s.IntN(len(letters))]
	}
	return string(b)
}

// podState is good for some nine Pods of ten.
func (s source) podState() state {
	switch n := s.IntN(100); {
	case n < 88:
		return running
	case n < 90:
		return creating
	case n < 93:
		return unschedulable
	case n < 96:
		return crashLoop
	case n < 98:
		return imagePull
	case n < 99:
		return failed
	default:
		return terminating
	}
}

// endState is that of a Job or backup.
func (s source) endState() state {
	switch n := s.IntN(10); {
	case n < 7:
		return succeeded
	case n < 9:
		return running
	default:
		return failed
	}
}

func (s source) pod(replicaSet string, state state) pod {
	p := pod{name: replicaSet + "-" + s.suffix(5), state: state}
	if state != unschedulable {
		p.node = nodeName(s.IntN(nodes))
	}
	return p
}

// plans are the namespaces of a seed. The first holds one Pod in each state, so
// that no seed lacks one.
func plans(seed uint64, count int) []plan {
	all := make([]plan, count)
	for i := range all {
		all[i] = newSource(seed, uint64(i)).plan(namespaceName(i))
	}
	if count > 0 {
		app := &all[0].apps[0]
		app.pods = nil
		s := newSource(seed, uint64(count))
		for state := running; state <= terminating; state++ {
			app.pods = append(app.pods, s.pod(app.replicaSet(), state))
		}
	}
	return all
}

func namespaceName(i int) string {
	teams := [...]string{"shop", "billing", "search", "mail", "maps", "media", "login", "stock", "fraud",
		"ads", "chat", "docs", "wiki", "build", "metrics", "gateway", "reports"}
	stages := [...]string{"prod", "staging", "dev"}
	name := teams[i/len(stages)%len(teams)] + "-" + stages[i%len(stages)]
	if round := i / (len(teams) * len(stages)); round > 0 {
		name += "-" + strconv.Itoa(round+1)
	}
	return name
}

func (s source) plan(namespace string) plan {
	p := plan{namespace: namespace}
	for i := range 1 + s.IntN(3) {
		a := app{name: s.pick("api", "worker", "web", "cache", "cron", "proxy") + "-" + strconv.Itoa(i)}
		for range 1 + s.IntN(5) {
			a.pods = append(a.pods, s.pod(a.replicaSet(), s.podState()))
		}
		p.apps = append(p.apps, a)
	}
	for i := range s.IntN(4) {
		p.jobs = append(p.jobs, job{name: fmt.Sprintf("import-%d", i), state: s.endState()})
	}
	for i := range 2 + s.IntN(4) {
		p.configMaps = append(p.configMaps, fmt.Sprintf("settings-%d", i))
	}
	for i := range 1 + s.IntN(3) {
		p.secrets = append(p.secrets, fmt.Sprintf("credentials-%d", i))
	}
	for i := range s.IntN(3) {
		p.backups = append(p.backups, backup{name: fmt.Sprintf("nightly-%d", i), state: s.endState()})
	}
	return p
}

// allPods are those of apps and Jobs.
func (p plan) allPods() []pod {
	var all []pod
	for _, a := range p.apps {
		all = append(all, a.pods...)
	}
	for _, j := range p.jobs {
		all = append(all, j.pod())
	}
	return all
}

func (a app) replicaSet() string { return a.name + "-6d4b75c5f" }

// ready counts the Pods that serve.
func (a app) ready() int32 {
	var n int32
	for _, p := range a.pods {
		if p.state == running {
			n++
		}
	}
	return n
}
