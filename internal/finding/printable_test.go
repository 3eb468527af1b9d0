package finding

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPrintableEscapesControlCharacters(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"plain":                  {"scheme \"outside\"; keep ж and 世界", "scheme \"outside\"; keep ж and 世界"},
		"another line":           {"a\nNormal  SuccessfullyReconciled", `a\nNormal  SuccessfullyReconciled`},
		"carriage return":        {"bad\rgood", `bad\rgood`},
		"terminal colours":       {"\x1b[2J\x1b[32mok", `\x1b[2J\x1b[32mok`},
		"eight-bit escapes":      {"\u009b2J", `\u009b2J`},
		"direction of writing":   {"user\u202egpj.exe", `user\u202egpj.exe`},
		"no width":               {"in\u200bternal", `in\u200bternal`},
		"line separator":         {"a\u2028b", `a\u2028b`},
		"a byte that is no text": {"a\xffb", `a\xffb`},
	}
	for name, c := range cases {
		if got := EscapeNonPrintable(c.in); got != c.want {
			t.Errorf("%s: want %q, got %q", name, c.want, got)
		}
		f := Finding{Message: c.in, Fix: c.in}
		if got := f.Text(); got != EscapeNonPrintable(c.in+"; "+c.in) {
			t.Errorf("%s: the text is %q", name, got)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\nb\x00\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		out := EscapeNonPrintable(s)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, needsEscape) || EscapeNonPrintable(out) != out {
			t.Errorf("%q became %q", s, out)
		}
	})
}
