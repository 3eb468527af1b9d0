package output

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestDocumentsHaveNoControlCharacters checks that values with control characters, such as those that reverse the text of a
// terminal, are escaped in JSON and YAML documents, and that the values stay the same.
func TestDocumentsHaveNoControlCharacters(t *testing.T) {
	for _, value := range []string{"plain", "two\nlines", "\u202eesrever", "\U000e0041tag", "a\u0085b", "\x1b[31m", `\u202e`, "é 😀"} {
		for _, form := range []string{"json", "yaml"} {
			var out strings.Builder
			if err := WriteDocument(&out, form, map[string]string{"value": value}); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsFunc(out.String(), func(r rune) bool { return isControlCharacter(r) || r < ' ' && r != '\n' }) {
				t.Errorf("%q as %s: %q", value, form, out.String())
			}
			var back map[string]string
			if form == "yaml" || !strings.Contains(value, "\U000e0041") { // the YAML parser knows no surrogates
				if err := yaml.Unmarshal([]byte(out.String()), &back); err != nil || back["value"] != value {
					t.Errorf("%q as %s: %q, %v", value, form, back["value"], err)
				}
			}
		}
	}
}
