package finding

import (
	"fmt"
	"strings"
)

// Limits of the comparison, in bytes and in words. They bound its cost, because tenants choose the words.
const (
	maxWordLength = 96
	maxKnownWords = 500
)

// NearestWord returns the known word that the author of a mistyped word probably meant; "" if none is similar. A similar
// word differs in at most a third of the letters of word, and in at most three.
func NearestWord(word string, known []string) string {
	if len(word) == 0 || len(word) > maxWordLength {
		return ""
	}
	best, least := "", min(3, len(word)/3)+1
	for i, k := range known {
		if i == maxKnownWords {
			break
		}
		if len(k) > maxWordLength || k == word || len(k) >= len(word)+least || len(word) >= len(k)+least {
			continue // the lengths alone differ by too many letters
		}
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// DidYouMean returns ` (did you mean "x"?)` with the result of NearestWord, as the end of a message; "" if no known word is
// similar.
func DidYouMean(word string, known []string) string {
	if near := NearestWord(word, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// editDistance returns how many letters of a must be changed, removed, inserted, or swapped with their neighbor to get b.
func editDistance(a, b string) int {
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
