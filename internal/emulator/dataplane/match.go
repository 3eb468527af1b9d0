package dataplane

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/glob"
)

// RequestFacts contains the parts of a request that rule conditions compare.
type RequestFacts struct {
	// Host is the Host header as the client sent it, with or without a port.
	Host string
	// Path is the path as the client sent it: not decoded, not cleaned, without the query.
	Path string
	// Query is the query as the client sent it, without the question mark.
	Query  string
	Method string
	Header http.Header
	// Source is the address of the client's TCP connection.
	Source netip.Addr
}

// Matcher contains the compiled conditions of a rule.
type Matcher struct{ tests []func(RequestFacts) bool }

// Match reports whether all conditions are true for f. It returns true if there are no conditions.
func (m *Matcher) Match(f RequestFacts) bool {
	for _, holds := range m.tests {
		if !holds(f) {
			return false
		}
	}
	return true
}

// Match reports whether the conditions of a rule are true for f. It returns an error if a condition is invalid, for example
// because a regular expression does not compile.
func Match(rule Rule, f RequestFacts) (bool, error) {
	m, err := Compile(rule.Conditions)
	if err != nil {
		return false, err
	}
	return m.Match(f), nil
}

// Compile compiles conditions, which can then be matched against many requests.
func Compile(conditions []Condition) (*Matcher, error) {
	m := &Matcher{}
	for i, c := range conditions {
		test, err := compileCondition(c)
		if err != nil {
			return nil, fmt.Errorf("condition %d: %w", i+1, err)
		}
		m.tests = append(m.tests, test)
	}
	return m, nil
}

func compileCondition(c Condition) (func(RequestFacts) bool, error) {
	switch c := c.(type) {
	case HostHeader:
		matches, err := compilePatterns(c.Values, c.Regexes, ignoreCase)
		// f.Host includes the port that the client sent. Public reports about AWS contradict each other: some describe
		// conditions that match only without a port, others regular expressions that must contain the port.
		return func(f RequestFacts) bool { return matches(f.Host) }, err
	case PathPattern:
		matches, err := compilePatterns(c.Values, c.Regexes, matchCase)
		return func(f RequestFacts) bool { return matches(f.Path) }, err
	case HTTPHeader:
		matches, err := compilePatterns(c.Values, c.Regexes, ignoreCase)
		name := http.CanonicalHeaderKey(c.Name)
		return func(f RequestFacts) bool { return slices.ContainsFunc(f.Header[name], matches) }, err
	case Method:
		values := slices.Clone(c.Values)
		return func(f RequestFacts) bool { return slices.Contains(values, f.Method) }, nil
	case QueryString:
		values := slices.Clone(c.Values)
		return func(f RequestFacts) bool { return matchQuery(values, f.Query) }, nil
	case SourceIP:
		values := slices.Clone(c.Values)
		return func(f RequestFacts) bool {
			source := f.Source.Unmap()
			return slices.ContainsFunc(values, func(p netip.Prefix) bool { return p.Contains(source) })
		}, nil
	case nil:
		return nil, errors.New("no condition given")
	default:
		return nil, fmt.Errorf("unknown kind %T", c)
	}
}

// caseRule determines whether upper-case and lower-case letters are equal.
type caseRule bool

const (
	matchCase  caseRule = false
	ignoreCase caseRule = true
)

// compilePatterns returns a function that reports whether any glob or regular expression matches a text.
func compilePatterns(globs, expressions []string, fold caseRule) (func(string) bool, error) {
	globs = slices.Clone(globs)
	if fold {
		for i := range globs {
			globs[i] = strings.ToLower(globs[i])
		}
	}
	var res []*regexp.Regexp
	for _, e := range expressions {
		if fold {
			e = "(?i:" + e + ")"
		}
		re, err := regexp.Compile(e)
		if err != nil {
			return nil, err
		}
		res = append(res, re)
	}
	return func(s string) bool {
		text := s
		if fold {
			text = strings.ToLower(s)
		}
		return slices.ContainsFunc(globs, func(g string) bool { return glob.Match(g, text, glob.LiteralBackslash) }) ||
			slices.ContainsFunc(res, func(re *regexp.Regexp) bool { return re.MatchString(s) })
	}, nil
}

// matchQuery reports whether a parameter of the query matches one of the pairs. "&" separates parameters, and the first "="
// separates key and value.
func matchQuery(pairs []QueryPair, query string) bool {
	if query == "" {
		return false
	}
	for param := range strings.SplitSeq(strings.ToLower(query), "&") {
		key, value, _ := strings.Cut(param, "=")
		for _, p := range pairs {
			if p.Key != "" && !glob.Match(strings.ToLower(p.Key), key, glob.EscapingBackslash) {
				continue
			}
			if glob.Match(strings.ToLower(p.Value), value, glob.EscapingBackslash) {
				return true
			}
		}
	}
	return false
}

// hostWithoutPort returns a Host header without the port and without the brackets around an IPv6 address.
func hostWithoutPort(host string) string {
	if strings.HasPrefix(host, "[") {
		if end := strings.IndexByte(host, ']'); end > 0 {
			return host[1:end]
		}
		return host
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.IndexByte(host, ':') == i {
		return host[:i]
	}
	return host
}
