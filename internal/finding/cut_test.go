package finding

import (
	"strings"
	"testing"
)

func TestCutShortensTextsToEightyCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		strings.Repeat("ä", 80): strings.Repeat("ä", 80),
		strings.Repeat("ä", 81): strings.Repeat("ä", 77) + "...",
	} {
		if got := Cut(in); got != want {
			t.Errorf("%d bytes become %q", len(in), got)
		}
	}
}
