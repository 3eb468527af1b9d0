package facts

import "testing"

func TestGlobMatchesWildcards(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"a*c", "abbc", true}, {"a*c", "abb", false}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{`a\*`, "a*", true}, {`a\*`, "ab", false}, {"A", "a", false},
	} {
		if got := matchesGlob(c.pattern, c.text); got != c.want {
			t.Errorf("matchesGlob(%q, %q) is %v", c.pattern, c.text, got)
		}
	}
}
