package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/migrate/match"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// redirectFilter returns a redirect of an ALB as a filter of a route. If the redirect changes the query, it also returns the
// new query, which only a ListenerRuleConfiguration can set; otherwise query is nil. fault is the reason why a route cannot
// express the redirect; "" if it can.
func redirectFilter(to model.Redirect) (f *gwv1.HTTPRequestRedirectFilter, query *string, fault string) {
	f = &gwv1.HTTPRequestRedirectFilter{}
	part := func(name, value, unchanged string) string {
		if value == unchanged {
			return ""
		}
		if strings.Contains(value, "#{") {
			fault = fmt.Sprintf("%s %q of the redirect contains parts of the request, which a route cannot express", name, value)
		}
		return value
	}
	if host := part("host", to.Host, "#{host}"); host != "" {
		if fault == "" && !match.IsPreciseHostname(host) {
			fault = fmt.Sprintf("host %q of the redirect is not valid in a route, which needs a hostname in lower case", host)
		}
		f.Hostname = new(gwv1.PreciseHostname(host))
	}
	if path := part("path", to.Path, "/#{path}"); path != "" {
		f.Path = &gwv1.HTTPPathModifier{Type: gwv1.FullPathHTTPPathModifier, ReplaceFullPath: &path}
	}
	if scheme := part("protocol", to.Protocol, "#{protocol}"); scheme != "" {
		f.Scheme = new(strings.ToLower(scheme))
		if fault == "" && *f.Scheme != "http" && *f.Scheme != "https" {
			fault = fmt.Sprintf("protocol %q of the redirect is neither HTTP nor HTTPS", scheme)
		}
	}
	if port := part("port", to.Port, "#{port}"); port != "" && fault == "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return nil, nil, fmt.Sprintf("port %q of the redirect is not a number from 1 to 65535", port)
		}
		f.Port = new(gwv1.PortNumber(n))
	}
	if status := strings.TrimPrefix(to.Status, "HTTP_"); status == "301" || status == "302" {
		n, _ := strconv.Atoi(status)
		f.StatusCode = &n
	}
	switch {
	case to.DropQuery:
		query = new("")
	case to.Query != "" && to.Query != "#{query}":
		query = new(to.Query)
	}
	return f, query, fault
}

// requestRewrite is the URLRewrite filter of a route that replaces the transforms of an Ingress rule. filter is nil if there
// are no transforms.
type requestRewrite struct {
	filter *gwv1.HTTPURLRewriteFilter
	// exceptedPaths has the paths that match the rule but that the transforms do not rewrite.
	exceptedPaths []string
}

// wholeTextPatterns are regular expressions that match a whole text.
var wholeTextPatterns = []string{".*", "(.*)", "^.*", "^.*$", "^(.*)$", "^(.*)"}

// wholePathPatterns are regular expressions that match a whole path, without the query.
var wholePathPatterns = []string{"^[^?]*", "^([^?]*)", "[^?]*", "([^?]*)", "^/[^?]*", "^/([^?]*)", "^(/[^?]*)"}

// rewriteFilter returns a filter of a route that rewrites the requests of match m as the transforms do. fault is the reason
// why there is no such filter; "" if there is one.
func rewriteFilter(transforms []model.Transform, m match.Match) (out requestRewrite, fault string) {
	if len(transforms) == 0 {
		return out, ""
	}
	out.filter = &gwv1.HTTPURLRewriteFilter{}
	for _, t := range transforms {
		if len(t.Rewrites) != 1 {
			return out, fmt.Sprintf("%s has %d rewrites, but AWS accepts only one", t.Kind, len(t.Rewrites))
		}
		r := t.Rewrites[0]
		fault = fmt.Sprintf("%s of %q to %q cannot be expressed in a route: a route can only replace the prefix of its match, the whole path or the whole host", t.Kind, r.Regex, r.Replace)
		switch {
		case t.Kind == model.HostRewrite:
			if !slices.Contains(wholeTextPatterns, r.Regex) || !match.IsPreciseHostname(r.Replace) {
				return out, fault
			}
			out.filter.Hostname = new(gwv1.PreciseHostname(r.Replace))
		case !strings.Contains(r.Replace, "$") && (slices.Contains(wholePathPatterns, r.Regex) || m.Path.Kind == match.Exact && r.Regex == "^"+m.Path.Value):
			out.filter.Path = &gwv1.HTTPPathModifier{Type: gwv1.FullPathHTTPPathModifier, ReplaceFullPath: &r.Replace}
		default:
			prefix, except, ok := replacementPrefix(r, m)
			if !ok {
				return out, fault
			}
			out.filter.Path = &gwv1.HTTPPathModifier{Type: gwv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: &prefix}
			out.exceptedPaths = except
		}
	}
	return out, ""
}

// replacementPrefix returns a prefix for a URLRewrite filter. If the filter replaces the prefix of match m by this prefix,
// it has the same effect as the rewrite r, except for the paths in except, which r does not change. ok is false if there is
// no such prefix. replacementPrefix compares the filter and the rewrite for sample paths of each form that the match admits.
func replacementPrefix(r model.Rewrite, m match.Match) (prefix string, except []string, ok bool) {
	re, err := regexp.Compile(r.Regex)
	literal, _, _ := strings.Cut(r.Replace, "$")
	prefix = "/" + strings.Trim(literal, "/")
	if m.Path.Kind != match.Prefix || err != nil || strings.ContainsAny(prefix, "*?") {
		return "", nil, false
	}
	matched := strings.TrimSuffix(m.Path.Value, "/")
	compareRewrites := func(rest string) (alike, unchanged bool) {
		got, want := withPrefix(prefix, rest), match.Rewrite(re, r.Replace, matched+rest)
		return got == want, want == matched+rest
	}
	rests := []string{"/x", "/x/", "/x/y?q=1", "/x" + matched + "/y"}
	for _, path := range match.RewriteSamples(r.Regex) {
		if rest, isBelow := strings.CutPrefix(path, matched); isBelow && len(rest) > 1 && rest[0] == '/' {
			rests = append(rests, rest)
		}
		rests = append(rests, path)
	}
	for _, rest := range rests {
		if alike, _ := compareRewrites(rest); !alike {
			return "", nil, false
		}
	}
	for _, rest := range []string{"", "/"} {
		if matched == "" && rest == "" {
			continue
		}
		alike, unchanged := compareRewrites(rest)
		alikeWithQuery, unchangedWithQuery := compareRewrites(rest + "?q=/x")
		switch {
		case alike && alikeWithQuery:
		case unchanged && unchangedWithQuery:
			except = append(except, matched+rest)
		default:
			return "", nil, false
		}
	}
	return prefix, except, true
}

// withPrefix returns the path that an ALB makes for a URLRewrite filter with the given prefix. rest is the path after the
// matched prefix.
func withPrefix(prefix, rest string) string {
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix == "" && !strings.HasPrefix(rest, "/") {
		return "/" + rest
	}
	return prefix + rest
}
