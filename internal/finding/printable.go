package finding

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// EscapeNonPrintable escapes the characters in a text that are not visible: line breaks, terminal control characters,
// characters that change the direction of writing, and bytes that are not UTF-8. Messages quote values of users. A quoted
// value must not look like a separate message.
func EscapeNonPrintable(s string) string {
	if strings.IndexFunc(s, needsEscape) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if needsEscape(r) {
			quoted := strconv.Quote(s[:size]) // a byte that is not UTF-8 becomes \x..
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

func needsEscape(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }
