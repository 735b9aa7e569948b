package subscriber

import "time"

// Step is the numbers of objects before and after a message.
type Step struct{ From, To int }

// Arrivals are how many messages with a step arrived in each millisecond since the
// crowd's beginning.
type Arrivals map[Step]map[int]int

func (a Arrivals) add(s Step, at time.Duration) {
	in, ok := a[s]
	if !ok {
		in = make(map[int]int)
		a[s] = in
	}
	in[int(at.Milliseconds())]++
}

// Latencies are how many changes reached a connection after so many milliseconds,
// rounded up.
type Latencies map[int]int

// Latencies returns the time from each change to its arrival at each connection. Changes
// are creations, of which the first makes the number of objects first+1; written says
// when each was about to be written.
func (c *Crowd) Latencies(a Arrivals, first int, written []time.Time) Latencies {
	all := make(Latencies)
	for step, arrived := range a {
		for i := max(step.From-first, 0); i < min(step.To-first, len(written)); i++ {
			at := written[i].Sub(c.began)
			for ms, n := range arrived {
				all[max(0, int((time.Duration(ms+1)*time.Millisecond-at).Milliseconds()))] += n
			}
		}
	}
	return all
}

// Quantile is the least number of milliseconds within which a share of all arrived.
func (l Latencies) Quantile(share float64) (ms int) {
	total := 0
	for at, n := range l {
		total += n
		ms = max(ms, at)
	}
	left := int(share * float64(total))
	for at := range ms {
		if left -= l[at]; left < 0 {
			return at
		}
	}
	return ms
}
