// Package glob matches texts against the patterns of AWS. In a pattern, "*" matches any number of bytes and "?" matches one
// byte.
package glob

// BackslashRule determines the meaning of a backslash in a pattern.
type BackslashRule bool

const (
	// LiteralBackslash treats a backslash as an ordinary character.
	LiteralBackslash BackslashRule = false
	// EscapingBackslash makes "*" and "?" literal characters after a backslash.
	EscapingBackslash BackslashRule = true
)

// Match reports whether the pattern matches the whole text. "*" matches any number of bytes, and "?" matches one byte. The
// time is at most proportional to the product of the lengths, because after a mismatch only the last "*" is matched again.
func Match(pattern, text string, escape BackslashRule) bool {
	p, t := 0, 0
	starP, starT := -1, 0
	for t < len(text) {
		if p < len(pattern) {
			c, width, special := pattern[p], 1, true
			if escape && c == '\\' && p+1 < len(pattern) && (pattern[p+1] == '*' || pattern[p+1] == '?') {
				c, width, special = pattern[p+1], 2, false
			}
			if special && c == '*' {
				starP, starT = p+1, t
				p++
				continue
			}
			if special && c == '?' || c == text[t] {
				p += width
				t++
				continue
			}
		}
		if starP < 0 {
			return false
		}
		starT++
		p, t = starP, starT
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
