package model

import (
	"net/netip"
	"regexp"
	"strings"
)

// Request is what rules look at.
type Request struct {
	Host   string // without port
	Path   string // as sent, without query
	Method string
	Header []HeaderField // repeated names are repeated fields
	Query  string        // as sent, without the question mark
	Client string        // address of the peer
}

// HeaderField is one header line.
type HeaderField struct{ Name, Value string }

// Evaluate returns the place of the first rule that a request meets; false if it meets none, so
// that the listener's default action applies.
func Evaluate(rules []Rule, r Request) (int, bool) {
	for i, rule := range rules {
		if rule.matches(r) {
			return i, true
		}
	}
	return 0, false
}

// Matching returns the places of all rules that a request meets. The first of them answers it.
func Matching(rules []Rule, r Request) []int {
	var out []int
	for i, rule := range rules {
		if rule.matches(r) {
			out = append(out, i)
		}
	}
	return out
}

// matches reports whether all conditions hold.
func (r Rule) matches(req Request) bool {
	for _, c := range r.Conditions {
		if !holds(c, req) {
			return false
		}
	}
	return true
}

// holds reports whether one of the condition's values fits the request.
func holds(c Condition, r Request) bool {
	switch c := c.(type) {
	case HostHeader:
		return anyGlob(c.Values, r.Host, foldCase) || anyRegex(c.Regex, r.Host, foldCase)
	case PathPattern:
		return anyGlob(c.Values, r.Path, exactCase) || anyRegex(c.Regex, r.Path, exactCase)
	case HTTPHeader:
		for _, h := range r.Header {
			if strings.EqualFold(h.Name, c.Name) &&
				(anyGlob(c.Values, h.Value, foldCase) || anyRegex(c.Regex, h.Value, foldCase)) {
				return true
			}
		}
	case RequestMethod:
		for _, m := range c.Values {
			if m == r.Method {
				return true
			}
		}
	case QueryString:
		return queryHolds(c, r.Query)
	case SourceIP:
		addr, err := netip.ParseAddr(r.Client)
		if err != nil {
			return false
		}
		for _, cidr := range c.CIDRs {
			if p, err := netip.ParsePrefix(cidr); err == nil && p.Contains(addr) {
				return true
			}
		}
	}
	return false
}

func queryHolds(c QueryString, query string) bool {
	for _, part := range strings.Split(query, "&") {
		key, value, _ := strings.Cut(part, "=")
		for _, pair := range c.Pairs {
			if (pair.Key == "" || wildcard(queryPattern(pair.Key), strings.ToLower(key))) &&
				wildcard(queryPattern(pair.Value), strings.ToLower(value)) {
				return true
			}
		}
	}
	return false
}

// letterCase reports whether letters of different case are the same.
type letterCase bool

const (
	exactCase letterCase = false
	foldCase  letterCase = true
)

func anyGlob(patterns []string, text string, c letterCase) bool {
	for _, p := range patterns {
		if c == foldCase {
			p, text = strings.ToLower(p), strings.ToLower(text)
		}
		if wildcard(pattern(p), text) {
			return true
		}
	}
	return false
}

// anyRegex searches the text; a pattern that cannot be read fits nothing.
func anyRegex(patterns []string, text string, c letterCase) bool {
	for _, p := range patterns {
		if c == foldCase {
			p = "(?i)" + p
		}
		if re, err := regexp.Compile(p); err == nil && re.MatchString(text) {
			return true
		}
	}
	return false
}

// token is one element of a wildcard pattern: any run of bytes, any one byte, or a given byte.
type token struct {
	many, one bool
	byte      byte
}

// pattern reads a text in which * stands for any run of bytes and ? for one.
func pattern(s string) []token {
	out := make([]token, 0, len(s))
	for i := range len(s) {
		out = append(out, token{many: s[i] == '*', one: s[i] == '?', byte: s[i]})
	}
	return out
}

// queryPattern reads a pattern of a query string, in lower case, in which a backslash takes away
// the meaning of * and ?.
func queryPattern(s string) []token {
	s = strings.ToLower(s)
	var out []token
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == '*' || s[i+1] == '?') {
			i++
			out = append(out, token{byte: s[i]})
			continue
		}
		out = append(out, token{many: s[i] == '*', one: s[i] == '?', byte: s[i]})
	}
	return out
}

// wildcard reports whether the pattern describes the whole text. Only the run that was begun last is made longer, as an
// earlier one can leave a later one nothing that it needs, so that no pattern takes more than the product of the lengths.
func wildcard(p []token, text string) bool {
	next, run, end := 0, -1, 0 // the next token, the last one that is a run, and where that run ends
	for at := 0; at < len(text); {
		switch {
		case next < len(p) && p[next].many:
			run, end = next, at
			next++
		case next < len(p) && (p[next].one || p[next].byte == text[at]):
			next++
			at++
		case run >= 0:
			end++
			next, at = run+1, end
		default:
			return false
		}
	}
	for next < len(p) && p[next].many {
		next++
	}
	return next == len(p)
}
