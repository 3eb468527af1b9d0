package model

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model/glob"
)

// Request has the parts of an HTTP request that conditions of listener rules can match.
type Request struct {
	Host   string // without port
	Path   string // as sent, without query
	Method string
	Header []HeaderField // a repeated header has several entries
	Query  string        // as sent, without the question mark
	Client string        // IP address of the client
}

// HeaderField is one header line of a request.
type HeaderField struct{ Name, Value string }

// Location returns the URL to which a redirect sends request r. The request arrived at a listener with the given protocol
// and port. Empty fields of the redirect keep the value of the request. See RedirectActionConfig of the Elastic Load
// Balancing API.
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

// FirstMatchingRule returns the index of the first rule that matches a request. It returns false if no rule matches. In this
// case, the default action of the listener answers the request.
func FirstMatchingRule(rules []Rule, r Request) (int, bool) {
	for i, rule := range rules {
		if rule.matches(r) {
			return i, true
		}
	}
	return 0, false
}

// MatchingRules returns the indexes of all rules that match a request, ascending. The first of them answers the request.
func MatchingRules(rules []Rule, r Request) []int {
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
			if (pair.Key == "" || glob.Match(strings.ToLower(pair.Key), strings.ToLower(key), glob.WildcardEscapes)) &&
				glob.Match(strings.ToLower(pair.Value), strings.ToLower(value), glob.WildcardEscapes) {
				return true
			}
		}
	}
	return false
}

// letterCase selects whether a comparison ignores the case of letters.
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
		if glob.Match(p, text, glob.NoEscapes) {
			return true
		}
	}
	return false
}

// matchesAnyRegex reports whether one of the regular expressions matches a part of the text. An invalid expression matches
// no text.
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
