package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxNear is how many near matches a message lists.
const maxNear = 3

// didYouMean returns a clause with the candidates nearest to a name that is not
// among them, or nothing where none is near.
func didYouMean(name string, candidates []string) string {
	type match struct {
		name     string
		distance int
	}
	if len(name) > maxName {
		return "" // no name, and dear to compare
	}
	var matches []match
	limit := max(1, len(name)/3)
	for _, c := range candidates {
		d := distance(name, c)
		if whole, _, _ := strings.Cut(c, "."); whole == name || whole == name+"s" {
			d = 0 // "deployments" and "deployment" for "deployments.apps"
		}
		if d <= limit {
			matches = append(matches, match{c, d})
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	if len(matches) == 0 {
		return ""
	}
	var names []string
	for _, m := range matches[:min(len(matches), maxNear)] {
		names = append(names, m.name)
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(names, " or "))
}

// distance is Levenshtein's between two strings, case aside.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
