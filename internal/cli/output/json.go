package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// writeJSON writes a value as indented JSON without control characters.
func writeJSON(w io.Writer, v any) error {
	var doc bytes.Buffer
	out := json.NewEncoder(&doc)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escapeControlCharacters(doc.String()))
	return err
}

// escapeControlCharacters returns a JSON document with \u escapes for the characters that are not printable. encoding/json
// escapes only the control characters below U+0020. The values of the document stay the same.
func escapeControlCharacters(doc string) string {
	var out strings.Builder
	for _, r := range doc {
		switch {
		case r < utf8.RuneSelf && r != 0x7f || strconv.IsPrint(r):
			out.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
		}
	}
	return out.String()
}
