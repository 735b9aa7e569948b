package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/bench/reader"
)

// median returns the one in the middle, or the mean of the two there.
func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// deref is what an object points to, which wire.New takes.
func deref(pointer any) any { return reflect.ValueOf(pointer).Elem().Interface() }

// worst is the kind for which ours takes most by protobuf alone.
func worst(kinds []decodedKind, ours func(decodedKind) float64) (ratio float64) {
	for _, k := range kinds {
		ratio = max(ratio, ours(k)/k.Plain)
	}
	return ratio
}

// report writes tables and the line for programs.
func (o options) report(r results) {
	table := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...string) { _, _ = fmt.Fprintln(table, strings.Join(cells, "\t")+"\t") }
	us := func(f float64) string { return fmt.Sprintf("%.2f µs", f) }
	flush := func() {
		_ = table.Flush()
		_, _ = fmt.Fprintln(o.out)
	}
	row("100 events folded and published", "CPU an event", "without the collector", "allocated", "snapshots a tick")
	for _, f := range []struct {
		name string
		cost cost
	}{
		{fmt.Sprintf("of one kind; %d kinds × %d namespaces", o.kinds, o.folded), r.Fold.One},
		{fmt.Sprintf("of %d kinds; the same", min(tick, o.kinds)), r.Fold.Many},
		{fmt.Sprintf("of %d kinds; %d kinds × %d namespaces", min(tick, o.kinds), min(smallKinds, o.kinds), min(smallNamespaces, o.folded)), r.Fold.Small},
	} {
		row(f.name, us(f.cost.Microseconds), us(f.cost.Uncollected), fmt.Sprintf("%.0f bytes", f.cost.Bytes), fmt.Sprintf("%.2f", f.cost.Snapshots))
	}
	flush()
	row("events decoded", "bytes", "new values", "with state", "protobuf alone", "ratio", "all new", "ratio")
	mean := 0.0
	for _, k := range r.Decoded.Kinds {
		mean += k.Ours / float64(len(r.Decoded.Kinds))
		cells := []string{k.Kind, fmt.Sprint(k.Bytes), fmt.Sprintf("%.1f %%", 100*k.New), us(k.Ours), us(k.Plain), fmt.Sprintf("%.2f", k.Ours/k.Plain), "", ""}
		if k.Fresh > 0 {
			cells[6], cells[7] = us(k.Fresh), fmt.Sprintf("%.2f", k.Fresh/k.Plain)
		}
		row(cells...)
	}
	flush()
	c := r.Decoded.Custom
	row("custom objects decoded, with state", "bytes", "CPU an event", "ours to theirs")
	row("ours, JSON", fmt.Sprint(c.Bytes), us(c.Ours), "")
	row("unstructured and wrangler, JSON", fmt.Sprint(c.Bytes), us(c.JSON), fmt.Sprintf("%.3f", c.Ours/c.JSON))
	row("unstructured and wrangler, CBOR", fmt.Sprint(c.CBORBytes), us(c.CBOR), fmt.Sprintf("%.3f", c.Ours/c.CBOR))
	flush()
	ours := r.Readers[0].Microseconds
	row(fmt.Sprintf("process that follows %d %ss, %d events", o.server.Objects, o.server.Kind, o.sent()), "CPU an event", "ours to theirs")
	for _, f := range r.Readers {
		row(f.Reader, us(f.Microseconds), fmt.Sprintf("%.3f", ours/f.Microseconds))
	}
	flush()
	outsider := o.peer.Report(o.out)
	_, _ = fmt.Fprintf(o.out, "RESULT fold_us=%.2f fold_uncollected_us=%.2f decode_us=%.2f state_ratio_protobuf=%.2f state_ratio_new=%.2f fold_bytes=%.0f fold_bytes_small=%.0f custom_ratio_json=%.3f custom_ratio_cbor=%.3f event_us=%.2f",
		r.Fold.Many.Microseconds, r.Fold.Many.Uncollected, mean, worst(r.Decoded.Kinds, func(k decodedKind) float64 { return k.Ours }), worst(r.Decoded.Kinds, func(k decodedKind) float64 { return k.Fresh }),
		r.Fold.Many.Bytes, r.Fold.Small.Bytes, c.Ours/c.JSON, c.Ours/c.CBOR, ours)
	for _, f := range r.Readers {
		if f.Reader != reader.Countd {
			_, _ = fmt.Fprintf(o.out, " vs_%s=%.3f", f.Reader, ours/f.Microseconds)
		}
	}
	if o.peer != (process.Outsider{}) {
		_, _ = fmt.Fprintf(o.out, " peer_event_us=%.2f", micros(o.peer.CPU(), o.sent()))
	}
	_, _ = fmt.Fprintln(o.out, outsider)
}
