package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/countd/countd/bench/process"
	"github.com/countd/countd/bench/reader"
)

func (m measured) perObject() float64 { return float64(m.Heap) / float64(m.Objects) }

func (m measured) peakRatio() float64 {
	return float64(max(m.StartPeak, m.RelistPeak)) / float64(m.InUse)
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// report writes a table, ours first, and the line for programs.
func report(out io.Writer, kind string, all []measured, peer *process.Outsider) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, value func(m measured) string) {
		cells := []string{name}
		for _, m := range all {
			cells = append(cells, value(m))
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t")+"\t")
	}
	ours := all[0]
	bytes := func(f func(m measured) int64) func(m measured) string {
		return func(m measured) string { return fmt.Sprintf("%.1f MiB", mib(f(m))) }
	}
	seconds := func(f func(m measured) time.Duration) func(m measured) string {
		return func(m measured) string { return fmt.Sprintf("%.1f s", f(m).Seconds()) }
	}
	row(kind+"s read by", func(m measured) string { return m.Reader })
	row("objects", func(m measured) string { return fmt.Sprint(m.Objects) })
	row("heap bytes an object at rest", func(m measured) string { return fmt.Sprintf("%.1f", m.perObject()) })
	row("ours to theirs", func(m measured) string { return fmt.Sprintf("%.4f", ours.perObject()/m.perObject()) })
	row("live heap at rest", bytes(func(m measured) int64 { return m.Heap }))
	row("after the relist", bytes(func(m measured) int64 { return m.HeapAfter }))
	row("heap in use at rest", bytes(func(m measured) int64 { return m.InUse }))
	row("with garbage", bytes(func(m measured) int64 { return m.Idle }))
	row("at its most while starting", bytes(func(m measured) int64 { return m.StartPeak }))
	row("at its most while listing anew", bytes(func(m measured) int64 { return m.RelistPeak }))
	row("peak to rest", func(m measured) string { return fmt.Sprintf("%.2f", m.peakRatio()) })
	row("resident memory at rest", bytes(func(m measured) int64 { return m.Resident }))
	row("at its most", bytes(func(m measured) int64 { return m.RSSPeak }))
	row("first list read after", seconds(func(m measured) time.Duration { return m.Listed }))
	row("all changes read after", seconds(func(m measured) time.Duration { return m.Read }))
	row("everything read anew in", seconds(func(m measured) time.Duration { return m.Relisted }))
	row("CPU time of starting", seconds(func(m measured) time.Duration { return m.StartCPU }))
	row("of listing anew", seconds(func(m measured) time.Duration { return m.RelistCPU }))
	_ = table.Flush()
	outsider := peer.Report(out)
	_, _ = fmt.Fprintf(out, "RESULT bytes_per_object=%.1f objects=%d rss_mib=%.1f peak_ratio=%.2f", ours.perObject(), ours.Objects, mib(ours.Resident), ours.peakRatio())
	for _, m := range all {
		if name := map[string]string{reader.Metadata: "vs_partial_metadata", reader.Transform: "vs_transform"}[m.Reader]; name != "" {
			_, _ = fmt.Fprintf(out, " %s=%.4f", name, ours.perObject()/m.perObject())
		}
	}
	_, _ = fmt.Fprintln(out, outsider)
}
