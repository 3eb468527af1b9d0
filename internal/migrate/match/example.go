package match

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// Example returns a short text that a regular expression matches. For an invalid expression it returns "/unreadable".
func Example(expr string) string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return "/unreadable"
	}
	var out strings.Builder
	writeExample(&out, re.Simplify())
	return out.String()
}

// writeExample writes a text that an expression matches, with the fewest repetitions and the first of each set of
// alternatives.
func writeExample(out *strings.Builder, re *syntax.Regexp) {
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
		writeExample(out, re.Sub[0])
	case syntax.OpRepeat:
		for range min(re.Min, 64) {
			writeExample(out, re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			writeExample(out, sub)
		}
	case syntax.OpAlternate:
		writeExample(out, re.Sub[0])
	}
}

// RewriteSamples returns paths with which a rewrite can be tested: one with an example for the expression, and longer ones.
func RewriteSamples(expr string) []string {
	example := Example(expr)
	path, _, _ := strings.Cut(example, "?")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return []string{path, path + "x", path + "/x", path + "/", "/x" + path}
}

// groupReference matches a reference to a group in the replacement of a rewrite, such as $1.
var groupReference = regexp.MustCompile(`\$(\d)`)

// Rewrite returns a text after a rewrite as AWS does it: only the first match is replaced, and the number of a group has one
// digit.
func Rewrite(expr *regexp.Regexp, replace, text string) string {
	match := expr.FindStringSubmatchIndex(text)
	if match == nil {
		return text
	}
	out := expr.ExpandString([]byte(text[:match[0]]), groupReference.ReplaceAllString(replace, "$${$1}"), text, match)
	return string(out) + text[match[1]:]
}
