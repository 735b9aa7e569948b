package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/bench/reader"
)

// median returns the one in the middle, or the mean of the two there.
func median(all []started, value func(started) float64) float64 {
	values := make([]float64, len(all))
	for i, s := range all {
		values[i] = value(s)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// ready is in seconds.
func ready(all []started) float64 {
	return median(all, func(s started) float64 { return s.Ready.Seconds() })
}

// report writes a table and the line for programs.
func report(out io.Writer, kind string, roles []string, all map[string][]started, peer *process.Outsider) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, value func(role string) string) {
		cells := []string{name}
		for _, role := range roles {
			cells = append(cells, value(role))
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t")+"\t")
	}
	ours := all[reader.Countd]
	row(kind+"s read by", func(role string) string { return role })
	row("objects", func(role string) string { return fmt.Sprint(all[role][0].Objects) })
	row("runs", func(role string) string { return fmt.Sprint(len(all[role])) })
	row("ready after, median", func(role string) string { return fmt.Sprintf("%.2f s", ready(all[role])) })
	row("least", func(role string) string {
		return fmt.Sprintf("%.2f s", slices.MinFunc(all[role], byReady).Ready.Seconds())
	})
	row("most", func(role string) string {
		return fmt.Sprintf("%.2f s", slices.MaxFunc(all[role], byReady).Ready.Seconds())
	})
	row("ours to theirs", func(role string) string { return fmt.Sprintf("%.2f", ready(ours)/ready(all[role])) })
	row("CPU time, median", func(role string) string {
		return fmt.Sprintf("%.2f s", median(all[role], func(s started) float64 { return s.CPU.Seconds() }))
	})
	row("resident memory, median at its most", func(role string) string {
		return fmt.Sprintf("%.1f MiB", median(all[role], func(s started) float64 { return float64(s.Peak) / (1 << 20) }))
	})
	_ = table.Flush()
	outsider := peer.Report(out)
	_, _ = fmt.Fprint(out, "RESULT")
	theirs, compared := all[reader.Reflector]
	if compared {
		_, _ = fmt.Fprintf(out, " start_ratio=%.3f", ready(ours)/ready(theirs))
	}
	_, _ = fmt.Fprintf(out, " objects=%d seconds=%.2f", ours[0].Objects, ready(ours))
	if compared {
		_, _ = fmt.Fprintf(out, " reflector_seconds=%.2f", ready(theirs))
	}
	_, _ = fmt.Fprintln(out, outsider)
}

func byReady(a, b started) int { return cmp.Compare(a.Ready, b.Ready) }
