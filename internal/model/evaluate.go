package model

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Request is the part of an HTTP request that conditions of listener rules can match.
type Request struct {
	Host   string // without port
	Path   string // as sent, without query
	Method string
	Header []HeaderField // a repeated header has several entries
	Query  string        // as sent, without the question mark
	Client string        // IP address of the client
}

// HeaderField is one header line.
type HeaderField struct{ Name, Value string }

// Location returns the URL to which a redirect sends a request that arrived at a listener with a protocol and port. Empty
// fields of the redirect keep the value of the request. See RedirectActionConfig of the Elastic Load Balancing API.
func (d Redirect) Location(r Request, protocol string, port int32) string {
	placeholders := strings.NewReplacer("#{protocol}", protocol, "#{host}", r.Host, "#{port}", strconv.Itoa(int(port)),
		"#{path}", strings.TrimPrefix(r.Path, "/"), "#{query}", r.Query)
	fill := func(part, unset string) string { return placeholders.Replace(cmp.Or(part, unset)) }
	out := strings.ToLower(fill(d.Protocol, "#{protocol}")) + "://" + fill(d.Host, "#{host}") + ":" + fill(d.Port, "#{port}") + fill(d.Path, "/#{path}")
	if query := fill(d.Query, "#{query}"); query != "" && !d.DropQuery {
		out += "?" + query
	}
	return out
}

// Evaluate returns the index of the first rule that matches a request; false if none does, so that the default action
// of the listener answers it.
func Evaluate(rules []Rule, r Request) (int, bool) {
	for i, rule := range rules {
		if rule.matches(r) {
			return i, true
		}
	}
	return 0, false
}

// Matching returns the indexes of all rules that match a request. The first of them answers it.
func Matching(rules []Rule, r Request) []int {
	var out []int
	for i, rule := range rules {
		if rule.matches(r) {
			out = append(out, i)
		}
	}
	return out
}

// matches reports whether all conditions of a rule match a request.
func (r Rule) matches(req Request) bool {
	return !slices.ContainsFunc(r.Conditions, func(c Condition) bool { return !conditionMatches(c, req) })
}

// conditionMatches reports whether one of the values of a condition matches a request.
func conditionMatches(c Condition, r Request) bool {
	switch c := c.(type) {
	case HostHeader:
		return matchesAnyGlob(c.Values, r.Host, foldCase) || matchesAnyRegex(c.Regex, r.Host, foldCase)
	case PathPattern:
		return matchesAnyGlob(c.Values, r.Path, exactCase) || matchesAnyRegex(c.Regex, r.Path, exactCase)
	case HTTPHeader:
		for _, h := range r.Header {
			if strings.EqualFold(h.Name, c.Name) &&
				(matchesAnyGlob(c.Values, h.Value, foldCase) || matchesAnyRegex(c.Regex, h.Value, foldCase)) {
				return true
			}
		}
	case RequestMethod:
		return slices.Contains(c.Values, r.Method)
	case QueryString:
		return queryMatches(c, r.Query)
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

func queryMatches(c QueryString, query string) bool {
	for _, part := range strings.Split(query, "&") {
		key, value, _ := strings.Cut(part, "=")
		for _, pair := range c.Pairs {
			if (pair.Key == "" || matchesPattern(parseQueryPattern(pair.Key), strings.ToLower(key))) &&
				matchesPattern(parseQueryPattern(pair.Value), strings.ToLower(value)) {
				return true
			}
		}
	}
	return false
}

// letterCase reports whether a comparison ignores the case of letters.
type letterCase bool

const (
	exactCase letterCase = false
	foldCase  letterCase = true
)

func matchesAnyGlob(patterns []string, text string, c letterCase) bool {
	for _, p := range patterns {
		if c == foldCase {
			p, text = strings.ToLower(p), strings.ToLower(text)
		}
		if matchesPattern(parsePattern(p), text) {
			return true
		}
	}
	return false
}

// matchesAnyRegex reports whether one of the regular expressions matches a part of the text. An invalid expression matches
// nothing.
func matchesAnyRegex(patterns []string, text string, c letterCase) bool {
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

// token is one element of a wildcard pattern: any number of bytes (*), any one byte (?), or a certain byte.
type token struct {
	anyBytes, anyByte bool
	byte              byte
}

// parsePattern parses a pattern in which * matches any number of bytes and ? matches one byte.
func parsePattern(s string) []token {
	out := make([]token, 0, len(s))
	for i := range len(s) {
		out = append(out, token{anyBytes: s[i] == '*', anyByte: s[i] == '?', byte: s[i]})
	}
	return out
}

// parseQueryPattern parses a pattern of a query string, in lower case. A backslash makes * and ? literal.
func parseQueryPattern(s string) []token {
	s = strings.ToLower(s)
	var out []token
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == '*' || s[i+1] == '?') {
			i++
			out = append(out, token{byte: s[i]})
			continue
		}
		out = append(out, token{anyBytes: s[i] == '*', anyByte: s[i] == '?', byte: s[i]})
	}
	return out
}

// matchesPattern reports whether a pattern matches the whole text. After a mismatch only the last * is extended, because
// extending an earlier * cannot help. So the number of steps is at most the product of the lengths of pattern and text.
func matchesPattern(p []token, text string) bool {
	next, run, end := 0, -1, 0 // the next token; the last * token, and the end of the text that it matches
	for at := 0; at < len(text); {
		switch {
		case next < len(p) && p[next].anyBytes:
			run, end = next, at
			next++
		case next < len(p) && (p[next].anyByte || p[next].byte == text[at]):
			next++
			at++
		case run >= 0:
			end++
			next, at = run+1, end
		default:
			return false
		}
	}
	for next < len(p) && p[next].anyBytes {
		next++
	}
	return next == len(p)
}
