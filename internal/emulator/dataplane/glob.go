package dataplane

// backslashRule is the meaning of a backslash in a pattern.
type backslashRule bool

const (
	// literalBackslash treats it as an ordinary character.
	literalBackslash backslashRule = false
	// escapingBackslash removes the special meaning of a following "*" or "?".
	escapingBackslash backslashRule = true
)

// glob reports whether the pattern describes the whole text. "*" matches any number of
// bytes, of whatever kind, and "?" exactly one. It runs in time proportional to the
// product of the lengths: on a mismatch only the latest star needs to be extended.
func glob(pattern, text string, escape backslashRule) bool {
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
