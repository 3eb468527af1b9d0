package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// encodeJSON returns a value as indented JSON, which may have control characters.
func encodeJSON(v any) (string, error) {
	var doc bytes.Buffer
	out := json.NewEncoder(&doc)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	err := out.Encode(v)
	return doc.String(), err
}

// isControlCharacter reports whether a character is not printable. encoding/json escapes only those below U+0020.
func isControlCharacter(r rune) bool {
	return (r >= utf8.RuneSelf || r == 0x7f) && !strconv.IsPrint(r)
}

// escapeControlCharacters returns a JSON document with \u escapes for the characters that are not printable. The values of
// the document stay the same. If forYAML is true, a character beyond U+FFFF has a \U escape, because YAML has no surrogates.
func escapeControlCharacters(doc string, forYAML bool) string {
	var out strings.Builder
	for _, r := range doc {
		switch {
		case !isControlCharacter(r):
			out.WriteRune(r)
		case forYAML && r > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
		}
	}
	return out.String()
}

// toYAML returns a JSON document as YAML without control characters. If a value has control characters, the result is the
// JSON text, which is also valid YAML, because YAML supports escapes only in quotes.
func toYAML(doc string) (string, error) {
	escaped := escapeControlCharacters(doc, true)
	text, err := yaml.JSONToYAML([]byte(escaped))
	if strings.ContainsFunc(string(text), isControlCharacter) {
		return escaped, err
	}
	return string(text), err
}
