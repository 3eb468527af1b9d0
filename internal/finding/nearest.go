package finding

import (
	"fmt"
	"strings"
)

// The bounds of what is compared, because tenants choose the names.
const (
	mostNearestWord  = 96
	mostNearestKnown = 500
)

// Nearest returns the valid word that a word was probably meant to be, "" if none is near. A near word
// differs in at most a third of its letters, and in three at most.
func Nearest(word string, known []string) string {
	if len(word) == 0 || len(word) > mostNearestWord {
		return ""
	}
	best, least := "", min(3, len(word)/3)+1
	for i, k := range known {
		if i == mostNearestKnown {
			break
		}
		if len(k) > mostNearestWord || k == word || len(k) >= len(word)+least || len(word) >= len(k)+least {
			continue // each letter more is one that differs
		}
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// DidYouMean is Nearest as a question in brackets, with a space before it; "" if no valid word is near.
func DidYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// distance returns how many letters have to be changed, removed, inserted, or swapped with their
// neighbour.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
