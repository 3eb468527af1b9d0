// Package glob matches texts against the patterns of AWS, in which "*" stands for any text and "?" for any character.
package glob

import "unicode/utf8"

// Escapes determines which characters a backslash makes literal.
type Escapes uint8

const (
	// NoEscapes is for patterns in which a backslash is an ordinary character, such as host and path conditions of rules.
	NoEscapes Escapes = iota
	// WildcardEscapes is for patterns in which a backslash makes a following "*" or "?" literal, such as query string
	// conditions of rules.
	WildcardEscapes
	// AllEscapes is for patterns in which a backslash makes any following character literal, such as filters of the EC2 API.
	AllEscapes
)

// Match reports whether a pattern matches the whole text. Tenants choose patterns, so the time is bounded: it is at most
// proportional to the product of the lengths. After a mismatch, only the last "*" before it matches more text, because more
// text for an earlier "*" cannot help.
func Match(pattern, text string, escapes Escapes) bool {
	p, t := 0, 0
	afterStar, starEnd := -1, 0 // the position after the last "*" in the pattern, and the end of what it matches in the text
	for t < len(text) {
		c, width, literal := next(pattern[p:], escapes)
		switch {
		case width > 0 && c == '*' && !literal:
			p += width
			afterStar, starEnd = p, t
		case width > 0 && c == '?' && !literal:
			_, size := utf8.DecodeRuneInString(text[t:])
			p, t = p+width, t+size
		case width > 0 && c == text[t]:
			p, t = p+width, t+1
		case afterStar >= 0:
			starEnd++
			p, t = afterStar, starEnd
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// next returns the first byte of a pattern, after a backslash that makes it literal. width is the number of bytes in the
// pattern, 0 if it is empty.
func next(pattern string, escapes Escapes) (c byte, width int, literal bool) {
	if pattern == "" {
		return 0, 0, false
	}
	if pattern[0] == '\\' && len(pattern) > 1 && (escapes == AllEscapes || escapes == WildcardEscapes && (pattern[1] == '*' || pattern[1] == '?')) {
		return pattern[1], 2, true
	}
	return pattern[0], 1, false
}
