package glob_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/model/glob"
)

// FuzzMatch checks that Match agrees with a regular expression of the same meaning.
func FuzzMatch(f *testing.F) {
	for _, seed := range []struct{ pattern, text string }{
		{"", ""}, {"", "a"}, {"*", ""}, {"**", ""}, {"a*c", "abbc"}, {"a*c", "abb"}, {"a?c", "abc"}, {"a?c", "ac"}, {"A", "a"}, {"*a*b?c", "xaybzc"},
		{`a\*`, "a*"}, {`a\*`, "ab"}, {`a\`, `a\`}, {`\a`, "a"}, {`\\`, `\`}, {"?", "é"}, {"*?é", "aéé"}, {"???", "é"},
	} {
		for escapes := range uint8(3) {
			f.Add(seed.pattern, seed.text, escapes)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string, escapes uint8) {
		if len(pattern) > 200 || len(text) > 200 || !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			t.Skip()
		}
		want := expression(pattern, glob.Escapes(escapes%3)).MatchString(text)
		if got := glob.Match(pattern, text, glob.Escapes(escapes%3)); got != want {
			t.Errorf("Match(%q, %q, %d) is %v", pattern, text, escapes%3, got)
		}
	})
}

// expression returns the regular expression with the meaning of a pattern.
func expression(pattern string, escapes glob.Escapes) *regexp.Regexp {
	var re strings.Builder
	escaped := false
	for i, c := range pattern {
		switch {
		case escaped:
			re.WriteString(regexp.QuoteMeta(string(c)))
			escaped = false
		case c == '\\' && i+1 < len(pattern) && (escapes == glob.AllEscapes || escapes == glob.WildcardEscapes && strings.ContainsAny(pattern[i+1:i+2], "*?")):
			escaped = true
		case c == '*':
			re.WriteString(".*")
		case c == '?':
			re.WriteString(".")
		default:
			re.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return regexp.MustCompile(`(?s)\A` + re.String() + `\z`)
}

// TestManyStarsTakeLittleTime checks that the time does not grow exponentially with the number of stars. With one more star,
// a matcher that tries each way to divide the text takes about ten times as long; these would take years.
func TestManyStarsTakeLittleTime(t *testing.T) {
	text := strings.Repeat("a", 256)
	for _, pattern := range []string{strings.Repeat("*a", 100) + "Z", strings.Repeat("*?", 100) + "Z", strings.Repeat("*", 200) + "Z"} {
		if glob.Match(pattern, text, glob.AllEscapes) {
			t.Errorf("%q matches", pattern)
		}
	}
}
