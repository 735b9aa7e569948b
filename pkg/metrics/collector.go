package metrics

import (
	"runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countd/countd/pkg/counts"
)

// Collector is a prometheus.Collector. It is immutable and safe for concurrent
// use.
type Collector struct {
	options Options

	// Of objects, from the snapshot.
	objects, errored, transitioning *prometheus.Desc
	// Of resources, from their status.
	phase, stale, rounds, restarts, errors *prometheus.Desc
	// Of the counting itself.
	events, waiting, snapshots, seq, build *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// New returns a collector for the caller to register.
func New(o Options) (*Collector, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Version == "" {
		o.Version = "unknown"
	}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("countd_"+name, help, labels, nil)
	}
	// The labels of apiserver_resource_objects, so that the two can be joined.
	resource := []string{"group", "resource"}
	place := resource
	if o.Namespaces {
		place = append(slices.Clip(resource), "namespace")
	}
	return &Collector{
		options: o,

		objects:       desc("resource_objects", "Objects of a resource by state, which is empty for those with nothing to say. The sum over states is the number of objects.", append(slices.Clip(place), "state")...),
		errored:       desc("resource_error_objects", "Objects of a resource that are in error.", place...),
		transitioning: desc("resource_transitioning_objects", "Objects of a resource that are on their way to another state.", place...),

		phase:    desc("resource_phase", "How far a resource has come to being counted: 1 for the phase it is in, 0 for the others.", append(slices.Clip(resource), "phase")...),
		stale:    desc("resource_stale_timestamp_seconds", "Since when the objects of a resource that is counted have not followed the cluster. Absent while they do.", resource...),
		rounds:   desc("resource_rounds_total", "Times that a resource was read as a whole.", resource...),
		restarts: desc("resource_restarts_total", "Times that the watch of a resource was taken up again.", resource...),
		errors:   desc("resource_errors_total", "Times that reading or watching a resource failed.", resource...),

		events:    desc("events_total", "Events that were folded into the counts."),
		waiting:   desc("waiting_events", "Events that wait to be folded. Their number is bounded; sources wait beyond it."),
		snapshots: desc("snapshots_total", "Snapshots that were published."),
		seq:       desc("snapshot_seq", "Seq of the newest snapshot."),
		build:     desc("build_info", "Always 1, with what countd was built from.", "version", "goversion"),
	}, nil
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.objects, c.errored, c.transitioning,
		c.phase, c.stale, c.rounds, c.restarts, c.errors,
		c.events, c.waiting, c.snapshots, c.seq, c.build,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	s := sink(out)
	snapshot := c.options.Counter.Snapshot()
	for counted := range snapshot.Resources() {
		c.collectObjects(s, counted)
	}
	for _, status := range c.options.Status() {
		c.collectStatus(s, status)
	}
	stats := c.options.Counter.Stats()
	s.counter(c.events, stats.Events)
	s.gauge(c.waiting, float64(stats.Waiting))
	s.counter(c.snapshots, stats.Snapshots)
	s.gauge(c.seq, float64(snapshot.Seq()))
	s.gauge(c.build, 1, c.options.Version, runtime.Version())
}

// collectObjects has one series at least for each of the three, so that a zero
// is there to be seen.
func (c *Collector) collectObjects(s sink, counted *counts.Counted) {
	resource := counted.Resource()
	labels := []string{resource.Group, resource.Name}
	c.collectPlaces(labels, counted, func(n *counts.Numbers, labels []string) bool {
		rest := n.Count()
		for word, number := range n.States() {
			rest -= number
			s.gauge(c.objects, float64(number), append(slices.Clip(labels), word)...)
		}
		if rest > 0 || n.Count() == 0 {
			s.gauge(c.objects, float64(rest), append(slices.Clip(labels), "")...)
		}
		return true
	})
	for _, part := range []struct {
		desc   *prometheus.Desc
		number func(*counts.Numbers) int
	}{
		{c.errored, (*counts.Numbers).Errors},
		{c.transitioning, (*counts.Numbers).Transitioning},
	} {
		c.collectPlaces(labels, counted, func(n *counts.Numbers, labels []string) bool {
			number := part.number(n)
			if number > 0 || n == counted.Total() {
				s.gauge(part.desc, float64(number), labels...)
			}
			return number > 0
		})
	}
}

// collectPlaces calls collect for the resource as a whole or, where namespaces
// are told apart, for each that holds any; and if that collected nothing, for
// the whole with an empty namespace, which is also that of a resource without.
func (c *Collector) collectPlaces(labels []string, counted *counts.Counted, collect func(*counts.Numbers, []string) bool) {
	if !c.options.Namespaces {
		collect(counted.Total(), labels)
		return
	}
	collected := false
	for namespace, n := range counted.Namespaces() {
		collected = collect(n, append(slices.Clip(labels), namespace)) || collected
	}
	if !collected {
		collect(counted.Total(), append(slices.Clip(labels), ""))
	}
}

func (c *Collector) collectStatus(s sink, status counts.Status) {
	labels := []string{status.Resource.Group, status.Resource.Name}
	for _, phase := range []counts.Phase{counts.Syncing, counts.Ready, counts.Forbidden, counts.Failing, counts.Excluded} {
		value := 0.0
		if status.Phase == phase {
			value = 1
		}
		s.gauge(c.phase, value, append(slices.Clip(labels), string(phase))...)
	}
	if status.Counted && status.Phase != counts.Ready {
		s.gauge(c.stale, float64(status.Since.UnixMilli())/1000, labels...)
	}
	s.counter(c.rounds, status.Rounds, labels...)
	s.counter(c.restarts, status.Restarts, labels...)
	s.counter(c.errors, status.Errors, labels...)
}

// sink is where metrics go.
type sink chan<- prometheus.Metric

func (s sink) gauge(d *prometheus.Desc, value float64, labels ...string) {
	s.send(d, prometheus.GaugeValue, value, labels)
}

func (s sink) counter(d *prometheus.Desc, value uint64, labels ...string) {
	s.send(d, prometheus.CounterValue, float64(value), labels)
}

// send reports a label that is no valid text as an error of the scrape.
func (s sink) send(d *prometheus.Desc, t prometheus.ValueType, value float64, labels []string) {
	m, err := prometheus.NewConstMetric(d, t, value, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	s <- m
}
