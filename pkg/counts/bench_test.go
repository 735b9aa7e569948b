package counts

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkFold is what an event costs the tally: 100 changes of one resource a
// snapshot, in a cluster of 500 resources and 1,000 namespaces each.
func BenchmarkFold(b *testing.B) {
	for _, changed := range []int{1, 100} {
		b.Run(fmt.Sprintf("100-changes-in-%d-resources", changed), func(b *testing.B) {
			t, hash := filled(500, 1000)
			b.ReportAllocs()
			n := uint64(0)
			for b.Loop() {
				source, k := uint32(n)%uint32(changed)+1, n/uint64(changed)
				namespace := fmt.Sprintf("namespace-%03d", k%1000)
				state := State{Word: "running"}
				if k/1000%2 == 0 {
					state = State{Word: "failed", Error: true}
				}
				t.apply(event{op: opPut, source: source, key: hash.key(namespace, "x"), namespace: namespace, word: state.Word, flags: flagsOf(Object{State: state})})
				if n++; n%100 == 0 {
					t.publish()
				}
			}
		})
	}
}

// filled is a tally with one object in each namespace of each resource.
func filled(resources, namespaces int) (*tally, hasher) {
	t, hash := newTally("bench", defaultRemember), newHasher()
	for r := range resources {
		resource := Resource{Group: "example.com", Version: "v1", Name: fmt.Sprintf("kind%03ds", r), Kind: "Kind", Namespaced: true}
		id := uint32(r + 1)
		t.apply(event{op: opOpen, source: id, resource: &resource})
		for n := range namespaces {
			namespace := fmt.Sprintf("namespace-%03d", n)
			t.apply(event{op: opPut, source: id, key: hash.key(namespace, "x"), namespace: namespace})
		}
		t.apply(event{op: opEnd, source: id})
	}
	t.publish()
	return t, hash
}

// BenchmarkBytesPerObject reports what an object costs at rest, its share of
// namespaces and of the snapshot included.
func BenchmarkBytesPerObject(b *testing.B) {
	const objects, namespaces = 200_000, 500
	words := []string{"running", "running", "running", "pending", "failed", "succeeded"}
	for b.Loop() {
		b.StopTimer()
		before := heap()
		b.StartTimer()
		t, hash := newTally("bench", defaultRemember), newHasher()
		t.apply(event{op: opOpen, source: 1, resource: &podResource})
		for i := range objects {
			namespace := fmt.Sprintf("namespace-%03d", i%namespaces)
			t.apply(event{op: opPut, source: 1, key: hash.key(namespace, fmt.Sprint(i)), namespace: namespace, word: State{Word: words[i%len(words)]}.Word, flags: flagsOf(Object{State: State{Word: words[i%len(words)]}})})
		}
		t.apply(event{op: opEnd, source: 1})
		snapshot := t.publish()
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/objects, "heap-B/object")
		runtime.KeepAlive(t)
		runtime.KeepAlive(snapshot)
		b.StartTimer()
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
