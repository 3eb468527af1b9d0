package finding

import (
	"strings"
	"testing"
)

func TestNearestWord(t *testing.T) {
	known := []string{"scheme", "subnets", "security-groups", "healthcheck-path", "healthcheck-port", "tags", "80", "8080", "https"}
	for word, want := range map[string]string{
		"sheme":                           "scheme",
		"shceme":                          "scheme",
		"Scheme":                          "scheme",
		"subnet":                          "subnets",
		"security-group":                  "security-groups",
		"healthcheckpath":                 "healthcheck-path",
		"healtcheck-prot":                 "healthcheck-port",
		"http":                            "https",
		"8008":                            "8080",
		"tag":                             "tags",
		"x":                               "",
		"":                                "",
		"certificate":                     "",
		"team.example":                    "",
		strings.Repeat("scheme", 100_000): "",
	} {
		if got := NearestWord(word, known); got != want {
			t.Errorf("%.20s: %q, want %q", word, got, want)
		}
	}
	if got := SpellingHint("sheme", known); got != ` (did you mean "scheme"?)` {
		t.Error(got)
	}
	if got := NearestWord("scheme", known); got != "" {
		t.Errorf("a known word is not near to another: %s", got)
	}
}
