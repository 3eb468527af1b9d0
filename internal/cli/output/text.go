package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// JoinFirst joins texts, the first ten of many.
func JoinFirst(texts []string) string {
	const most = 10
	if more := len(texts) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), more)
	}
	return strings.Join(texts, ", ")
}

// MostMembers of a load balancer are shown.
const MostMembers = 20

// mostFindings are shown of one object.
const mostFindings = 200

// ShowFindings prints findings, so many of each object that others are seen too.
func ShowFindings(w io.Writer, found finding.List) {
	count := map[finding.Ref]int{}
	var last finding.Ref
	more := func() {
		if n := count[last] - mostFindings; n > 0 {
			fmt.Fprintf(w, "# … and %s about %s, which -o json shows\n", Amount(n, "more finding"), last)
		}
	}
	for _, f := range found.Sorted() {
		if f.Object != last {
			more()
			last = f.Object
		}
		if count[last]++; count[last] <= mostFindings {
			fmt.Fprintf(w, "# %s\n", f)
		}
	}
	more()
}

// Amount returns a number of things, in words.
func Amount(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// ShowFirst shows the first of a list, and how many more there are.
func ShowFirst[T any](list []T, most int, show func(T), more func(int)) {
	for _, x := range list[:min(len(list), most)] {
		show(x)
	}
	if n := len(list) - most; n > 0 {
		more(n)
	}
}
