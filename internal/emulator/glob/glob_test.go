package glob_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/glob"
)

// FuzzMatch checks that Match agrees with a regular expression that has the same meaning as the pattern.
func FuzzMatch(f *testing.F) {
	f.Add("/img/*", "/img/a", false)
	f.Add("*a*b?c", "xaybzc", false)
	f.Add(`\*?`, "*x", true)
	f.Add("**", "", true)
	f.Add(`a\`, `a\`, true)
	f.Fuzz(func(t *testing.T, pattern, text string, escape bool) {
		if len(pattern) > 200 || len(text) > 200 {
			t.Skip()
		}
		var re strings.Builder
		re.WriteString(`(?s)\A`)
		for i := 0; i < len(pattern); i++ {
			switch c := pattern[i]; {
			case escape && c == '\\' && i+1 < len(pattern) && strings.IndexByte("*?", pattern[i+1]) >= 0:
				i++
				re.WriteString(hexByte(pattern[i]))
			case c == '*':
				re.WriteString(".*")
			case c == '?':
				re.WriteString(".")
			default:
				re.WriteString(hexByte(c))
			}
		}
		re.WriteString(`\z`)
		// latin1 makes each byte one rune. The regular expression then counts bytes, as Match does.
		want := regexp.MustCompile(re.String()).MatchString(latin1(text))
		if got := glob.Match(pattern, text, glob.BackslashRule(escape)); got != want {
			t.Errorf("glob.Match(%q, %q, %v): want %v, got %v", pattern, text, escape, want, got)
		}
	})
}

// hexByte returns a regular expression that matches the rune with the value c.
func hexByte(c byte) string {
	const digits = "0123456789abcdef"
	return `\x{` + string([]byte{digits[c>>4], digits[c&15]}) + `}`
}

// latin1 returns a string with one rune for each byte of s.
func latin1(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}
