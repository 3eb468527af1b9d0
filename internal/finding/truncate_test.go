package finding

import (
	"strings"
	"testing"
)

func TestTruncateValueReturnsAtMostEightyCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		strings.Repeat("ä", 80): strings.Repeat("ä", 80),
		strings.Repeat("ä", 81): strings.Repeat("ä", 77) + "...",
	} {
		if got := TruncateValue(in); got != want {
			t.Errorf("%d bytes become %q", len(in), got)
		}
	}
}
