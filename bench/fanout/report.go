package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// report is a table and the line for programs.
type report struct {
	rows    [][]string
	results []string
}

// row adds a row of the table.
func (r *report) row(name string, cells ...string) {
	r.rows = append(r.rows, append([]string{name}, cells...))
}

// result adds a name to the line for programs.
func (r *report) result(name, format string, value ...any) {
	r.results = append(r.results, name+"="+fmt.Sprintf(format, value...))
}

func (r *report) print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, cells := range r.rows {
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t")+"\t")
	}
	_ = table.Flush()
	_, _ = fmt.Fprintln(out, "RESULT", strings.Join(r.results, " "))
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
