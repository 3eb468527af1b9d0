package finding

import (
	"fmt"
	"strings"
)

// Limits of the comparison: the length of a word in bytes, and the number of known words. These limits bound the CPU time,
// because users choose the words.
const (
	maxWordLength = 96
	maxKnownWords = 500
)

// NearestWord returns the known word that is most similar to a mistyped word; "" if none is similar. Similar words differ in
// at most a third of the letters of word, and in at most three letters.
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
			continue // k is too long, is equal to word, or has a very different length
		}
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// SpellingHint returns ` (did you mean "x"?)` to append to a message, where x is the result of NearestWord; "" if no known
// word is similar.
func SpellingHint(word string, known []string) string {
	if near := NearestWord(word, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// editDistance returns the minimum number of edits that change a into b. An edit changes, removes or inserts one byte, or
// swaps two adjacent bytes.
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
