package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// JoinFirst joins the first ten texts by commas, and appends the number of further texts, as in "a, b and 3 more".
func JoinFirst(texts []string) string {
	const limit = 10
	if more := len(texts) - limit; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:limit], ", "), more)
	}
	return strings.Join(texts, ", ")
}

// MaxShownMembers is the maximum number of members of a load balancer that are shown.
const MaxShownMembers = 20

// maxShownFindings is the maximum number of findings of one object that are shown.
const maxShownFindings = 200

// ShowFindings prints findings sorted by object, at most maxShownFindings for each object.
func ShowFindings(w io.Writer, found finding.List) {
	count := map[finding.Ref]int{}
	var last finding.Ref
	showMore := func() {
		if n := count[last] - maxShownFindings; n > 0 {
			fmt.Fprintf(w, "# … and %s about %s, which -o json shows\n", CountWithNoun(n, "more finding"), last)
		}
	}
	for _, f := range found.Sorted() {
		if f.Object != last {
			showMore()
			last = f.Object
		}
		if count[last]++; count[last] <= maxShownFindings {
			fmt.Fprintf(w, "# %s\n", f)
		}
	}
	showMore()
}

// CountWithNoun returns a number with its noun, in the plural unless n is 1: "1 error", "2 errors".
func CountWithNoun(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// ShellQuote returns a word quoted for a shell: in single quotes, unless it has only safe characters.
func ShellQuote(word string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+"
	if strings.Trim(word, safe) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ShowFirst calls show for the first items of a list, at most limit. If there are more items, it then calls showMore with
// their number.
func ShowFirst[T any](list []T, limit int, show func(T), showMore func(int)) {
	for _, x := range list[:min(len(list), limit)] {
		show(x)
	}
	if n := len(list) - limit; n > 0 {
		showMore(n)
	}
}

// ShowMore returns a function for ShowFirst that prints a line with the number of further items. format has a verb for the
// number, as in "… and %d more rules".
func ShowMore(w io.Writer, format string) func(n int) {
	return func(n int) { fmt.Fprintf(w, format+"\n", n) }
}
