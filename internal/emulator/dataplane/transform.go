package dataplane

import (
	"fmt"
	"regexp"
	"strings"
)

// rewrite is a compiled Transform.
type rewrite struct {
	rewritesHost bool // false: it rewrites the path and the query
	re           *regexp.Regexp
	replace      string
}

// captureGroupReference matches a reference to a capture group, such as "$1".
var captureGroupReference = regexp.MustCompile(`\$([0-9]+)`)

func compileTransforms(all []Transform) ([]rewrite, error) {
	var out []rewrite
	for _, t := range all {
		var r rewrite
		var expression string
		switch t := t.(type) {
		case HostRewrite:
			r.rewritesHost, expression, r.replace = true, t.Regex, t.Replace
		case URLRewrite:
			expression, r.replace = t.Regex, t.Replace
		default:
			return nil, fmt.Errorf("transform %T is not supported", t)
		}
		re, err := regexp.Compile(expression)
		if err != nil {
			return nil, fmt.Errorf("transform: %w", err)
		}
		r.re = re
		// Go reads letters after "$1" as part of the name of the group; AWS does not.
		r.replace = captureGroupReference.ReplaceAllString(r.replace, "$${$1}")
		out = append(out, r)
	}
	return out, nil
}

// apply replaces the first match of the regular expression in text. It returns text unchanged if nothing matches.
func (r rewrite) apply(text string) string {
	at := r.re.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	out := r.re.ExpandString([]byte(text[:at[0]]), r.replace, text, at)
	return string(out) + text[at[1]:]
}

// applyRewrites applies rewrites to the host and the request target. It returns false if the result is not a valid request.
func applyRewrites(all []rewrite, host, target string) (newHost, newTarget string, ok bool) {
	for _, r := range all {
		if r.rewritesHost {
			if host = r.apply(host); host == "" || strings.ContainsAny(host, " /?#@\r\n\t") {
				return "", "", false
			}
			continue
		}
		target = r.apply(target)
		if !strings.HasPrefix(target, "/") || strings.ContainsFunc(target, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
			return "", "", false
		}
	}
	return host, target, true
}
