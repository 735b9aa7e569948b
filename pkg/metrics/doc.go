// Package metrics shows counts, and how they come about, to Prometheus.
//
// [Collector] keeps nothing: at each scrape it reads the newest snapshot, which
// is immutable, so a scrape never waits for the counting nor the counting for a
// scrape (R1, R2). What is not counted has no number, so that it cannot be
// mistaken for a zero: countd_resource_phase says why.
package metrics
