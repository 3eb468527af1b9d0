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

// escapeControlCharacters returns a JSON document with escapes for what does not show as what it is, such as the
// control characters above ASCII, which the encoder leaves as they are. Its values stay the same.
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
