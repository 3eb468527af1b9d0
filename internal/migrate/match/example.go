package match

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// Example returns a text that an expression fits: the shortest choice at each place. An expression that cannot be read
// has none.
func Example(expr string) string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return "/unreadable"
	}
	var out strings.Builder
	write(&out, re.Simplify())
	return out.String()
}

func write(out *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		out.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			out.WriteRune(max(re.Rune[0], min(re.Rune[1], 'a')))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteByte('x')
	case syntax.OpStar, syntax.OpQuest:
	case syntax.OpPlus, syntax.OpCapture:
		write(out, re.Sub[0])
	case syntax.OpRepeat:
		for range min(re.Min, 64) {
			write(out, re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			write(out, sub)
		}
	case syntax.OpAlternate:
		write(out, re.Sub[0])
	}
}

// Rewritable returns paths that an expression may rewrite, with more behind what it matches.
func Rewritable(expr string) []string {
	e := Example(expr)
	path, _, _ := strings.Cut(e, "?")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return []string{path, path + "x", path + "/x", path + "/", "/x" + path}
}

var groupReference = regexp.MustCompile(`\$(\d)`)

// Rewrite returns what AWS makes of a text by a transform: it replaces the first match, and takes one digit for a group.
func Rewrite(expr *regexp.Regexp, replace, text string) string {
	at := expr.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	out := expr.ExpandString([]byte(text[:at[0]]), groupReference.ReplaceAllString(replace, "$${$1}"), text, at)
	return string(out) + text[at[1]:]
}
