package gateway

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// sortedFilters has the filters of a rule, by type.
type sortedFilters struct {
	redirect   *gwv1.HTTPRequestRedirectFilter
	rewrites   []*gwv1.HTTPURLRewriteFilter
	extensions []gwv1.LocalObjectReference
	// unsupported names the first filter that application load balancers do not support, for messages; "" if there is none.
	unsupported string
	// ignored names the filters that have no effect because they follow a redirect, for messages.
	ignored []string
}

func (r routeRule) sortFilters() sortedFilters {
	var out sortedFilters
	for i, f := range r.filters {
		name := fmt.Sprintf("filters[%d] of type %q", i, finding.TruncateValue(string(f.Type)))
		switch {
		case f.Type == gwv1.HTTPRouteFilterExtensionRef && f.ExtensionRef != nil && isRuleConfiguration(*f.ExtensionRef):
			out.extensions = append(out.extensions, *f.ExtensionRef)
		case f.Type == gwv1.HTTPRouteFilterRequestRedirect && f.RequestRedirect != nil && !r.grpc:
			out.redirect = cmp.Or(out.redirect, f.RequestRedirect)
		case f.Type == gwv1.HTTPRouteFilterURLRewrite && f.URLRewrite != nil && !r.grpc:
			out.rewrites = append(out.rewrites, f.URLRewrite)
		case out.redirect != nil:
			out.ignored = append(out.ignored, name)
		case out.unsupported == "":
			out.unsupported = name
			if f.Type == gwv1.HTTPRouteFilterExtensionRef && f.ExtensionRef != nil {
				out.unsupported += fmt.Sprintf(" with kind %q of group %q", finding.TruncateValue(string(f.ExtensionRef.Kind)), finding.TruncateValue(string(f.ExtensionRef.Group)))
			}
		}
	}
	return out
}

// redirectFault is the reason why AWS does not support the redirect of a filter, and the advice for users. port is the port
// on which the redirect is not supported; 0 means all ports.
type redirectFault struct {
	why, fix string
	port     int32
}

// redirectOf returns the redirect action for a filter on a port, and a transform if the redirect needs one. host is the
// hostname of the rule, or "". query is the query in the ListenerRuleConfiguration; nil if it sets none.
func redirectOf(f *gwv1.HTTPRequestRedirectFilter, p *port, host string, m *match, query *string) (to model.Redirect, rewrite []model.Transform, fault *redirectFault) {
	status := 302
	if f.StatusCode != nil {
		status = *f.StatusCode
	}
	if status != 301 && status != 302 {
		return to, nil, &redirectFault{why: fmt.Sprintf("AWS does not support redirect code \"%d\"", status), fix: "use 301 or 302"}
	}
	to.Status = "HTTP_" + strconv.Itoa(status)
	if f.Scheme != nil {
		switch to.Protocol = strings.ToUpper(*f.Scheme); {
		case to.Protocol == "HTTPS":
			to.Port = "443"
		case to.Protocol != "HTTP":
			return to, nil, &redirectFault{why: fmt.Sprintf("AWS does not support redirect scheme %q", finding.TruncateValue(*f.Scheme)), fix: "use http or https"}
		case p.TLS:
			return to, nil, &redirectFault{fmt.Sprintf("port %d is HTTPS, and AWS does not redirect from HTTPS to HTTP", p.Number), "remove scheme, or attach the route to the HTTP listener alone by sectionName", p.Number}
		default:
			to.Port = "80"
		}
	}
	if f.Port != nil {
		to.Port = strconv.Itoa(int(*f.Port))
	}
	if f.Hostname != nil {
		to.Host = string(*f.Hostname)
	}
	if f.Path != nil {
		if rewrite, fault = setRedirectPath(&to, f.Path, m); fault != nil {
			return to, nil, fault
		}
	}
	if query != nil && *query != "#{query}" { // the default of the configuration, which keeps the query of the request
		to.Query, to.DropQuery = *query, *query == ""
	}
	if why := redirectLoop(&to, f.Path, p, host, m); why != "" {
		return to, nil, &redirectFault{why, "change the host, the port, the scheme or the path, or attach the route to another listener alone by sectionName", p.Number}
	}
	return to, rewrite, nil
}

// setRedirectPath sets the path of a redirect. If the filter replaces only the prefix of the path, setRedirectPath returns the
// transform that replaces it.
func setRedirectPath(to *model.Redirect, path *gwv1.HTTPPathModifier, m *match) ([]model.Transform, *redirectFault) {
	full, prefix := path.ReplaceFullPath, path.ReplacePrefixMatch
	for _, v := range []*string{full, prefix} {
		if v != nil && strings.ContainsAny(*v, wildcards) {
			return nil, &redirectFault{why: fmt.Sprintf("redirect path %q has wildcards", finding.TruncateValue(*v)), fix: "remove the wildcards"}
		}
	}
	switch {
	case path.Type == gwv1.FullPathHTTPPathModifier && full != nil:
		to.Path = *full
	case path.Type == gwv1.PrefixMatchHTTPPathModifier && prefix != nil:
		rewrite, why := prefixRewrite(m, *prefix)
		if rewrite == nil {
			return nil, &redirectFault{why: why, fix: "use a match of type PathPrefix, and a replacement without references"}
		}
		return []model.Transform{*rewrite}, nil
	}
	return nil, nil
}

// redirectLoop returns a message if a redirect leads to the URL of the request; "" otherwise. AWS refuses a redirect that
// changes neither protocol, host, port nor path, and does not consider its transforms. A transform replaces the prefix of a
// path. So for a redirect that changes only the prefix, redirectLoop sets the host to the exact hostname of the rule, which
// AWS accepts.
func redirectLoop(to *model.Redirect, path *gwv1.HTTPPathModifier, p *port, host string, m *match) string {
	if to.Protocol != "" && to.Protocol != p.ListenPort().Protocol() || to.Host != "" || to.Port != "" && to.Port != strconv.Itoa(int(p.Number)) {
		return ""
	}
	replaced := path != nil && path.ReplacePrefixMatch != nil && strings.TrimSuffix(*path.ReplacePrefixMatch, "/") != strings.TrimSuffix(m.value, "/")
	switch {
	case to.Path != "" && !(m.path == exactPath && m.value == to.Path):
		return ""
	case to.Path == "" && replaced && host != "" && !strings.Contains(host, "*"):
		to.Host = host
		return ""
	case to.Path == "" && replaced:
		return fmt.Sprintf("on port %d, AWS rejects a redirect that changes only the prefix of the path, unless the route has an exact hostname", p.Number)
	}
	return fmt.Sprintf("on port %d, the redirect leads to the URL of the request", p.Number)
}

// prefixRewrite returns the transform that replaces the prefix of a match, or the reason why AWS does not support it.
func prefixRewrite(m *match, replace string) (_ *model.Transform, why string) {
	prefix := strings.TrimSuffix(m.value, "/")
	rewrite := model.Rewrite{Regex: "(^" + prefixPattern(prefix) + "(/)?)"}
	switch {
	case m.path != prefixPath:
		return nil, "replacePrefixMatch needs a match of type PathPrefix"
	case regexGroupReference.MatchString(replace):
		return nil, fmt.Sprintf("replacement %q has a group reference, which AWS cannot use literally", finding.TruncateValue(replace))
	case prefix == "" && replace != "" && !strings.HasSuffix(replace, "/"):
		// The text after the prefix follows the replacement, so the replacement must end in a slash.
		rewrite = model.Rewrite{Regex: "^/", Replace: replace + "/"}
	case prefix == "" && replace != "":
		rewrite = model.Rewrite{Regex: "(^/(/)?)", Replace: replace}
	case prefix == "":
		rewrite = model.Rewrite{Regex: "(^/(/)?)", Replace: "/"}
	case replace == "":
		rewrite.Replace = "/"
	case strings.HasSuffix(replace, "/"):
		rewrite.Replace = replace
	default:
		rewrite.Replace = replace + "$2"
	}
	return &model.Transform{Kind: model.URLRewrite, Rewrites: []model.Rewrite{rewrite}}, ""
}

// regexGroupReference matches text in a replacement that AWS replaces by a group of the regular expression.
var regexGroupReference = regexp.MustCompile(`\$[0-9{]`)

// prefixPattern returns a regular expression for a prefix. A prefix that matches itself as a regular expression is not
// escaped, so that the rewrite is equal to that of AWS Load Balancer Controller. This is safe, because the condition of
// the rule permits no other path.
func prefixPattern(prefix string) string {
	if re, err := regexp.Compile("^" + prefix); err == nil && re.FindString(prefix) == prefix && re.NumSubexp() == 0 {
		return prefix
	}
	return regexp.QuoteMeta(prefix)
}

// transformsOf returns the transforms for the rewrite filters of a rule, in their order, or the reason why AWS does not
// support one of the filters.
func transformsOf(of []*gwv1.HTTPURLRewriteFilter, m *match) (out []model.Transform, why string) {
	for _, f := range of {
		if p := f.Path; p != nil {
			switch {
			case p.Type == gwv1.FullPathHTTPPathModifier && p.ReplaceFullPath != nil:
				if regexGroupReference.MatchString(*p.ReplaceFullPath) {
					return nil, fmt.Sprintf("replacement %q has a group reference, which AWS cannot use literally", finding.TruncateValue(*p.ReplaceFullPath))
				}
				out = append(out, model.Transform{Kind: model.URLRewrite, Rewrites: []model.Rewrite{{Regex: "^([^?]*)", Replace: *p.ReplaceFullPath}}})
			case p.Type == gwv1.PrefixMatchHTTPPathModifier && p.ReplacePrefixMatch != nil:
				rewrite, fault := prefixRewrite(m, *p.ReplacePrefixMatch)
				if rewrite == nil {
					return nil, fault
				}
				out = append(out, *rewrite)
			}
		}
		if f.Hostname != nil {
			out = append(out, model.Transform{Kind: model.HostRewrite, Rewrites: []model.Rewrite{{Regex: ".*", Replace: string(*f.Hostname)}}})
		}
	}
	return out, ""
}
