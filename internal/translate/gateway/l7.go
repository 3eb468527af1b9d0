package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// applicationListener builds the listener of a port; false if no route is attached.
func (t *translation) applicationListener(p *port) (model.Listener, bool) {
	if len(p.routes) == 0 && !t.strict {
		return model.Listener{}, false
	}
	l := t.listener(p)
	if len(p.routes) == 0 && l.TLS != nil && len(l.TLS.Certificates) == 0 {
		return model.Listener{}, false // AWS has no HTTPS listener without a certificate
	}
	l.Default = []model.Action{model.FixedResponse{Status: "404", ContentType: "text/plain"}}
	if p.TLS && p.entry != nil && p.entry.MutualAuthentication != nil {
		l.TLS.MutualAuth = t.mutualAuth(p)
	}
	for _, u := range t.ruleInputs(p) {
		if r, ok := t.rule(p, u); ok {
			l.Rules = append(l.Rules, r)
		}
	}
	return l, true
}

// mutualAuth returns the settings of the configuration about client certificates.
func (t *translation) mutualAuth(p *port) *model.MutualAuth {
	c := p.entry.MutualAuthentication
	out := &model.MutualAuth{Mode: string(c.Mode), TrustStore: valueOr(c.TrustStore, ""), Of: p.at, Members: []finding.Ref{t.ref}}
	if c.Mode == "verify" {
		out.IgnoreExpiry = new(valueOr(c.IgnoreClientCertificateExpiry, false))
	}
	if c.AdvertiseTrustStoreCANames != nil {
		out.AdvertiseCA = string(*c.AdvertiseTrustStoreCANames)
	}
	return out
}

// parsedRoute has the rules of a route, which the listeners of all its ports share.
type parsedRoute struct {
	ref   finding.Ref
	rules []routeRule
}

// parseRoute returns the rules of a route by its index. A route is parsed once.
func (t *translation) parseRoute(n int) *parsedRoute {
	if out, known := t.parsedRoutes[n]; known {
		return out
	}
	out := &parsedRoute{ref: t.routeRef(n), rules: rulesOf(t.attached.Routes[n].Object)}
	t.parsedRoutes[n] = out
	for i := range out.rules {
		r := &out.rules[i]
		if len(r.ignored) > 0 {
			t.Found.Add(finding.Finding{
				Object: out.ref, Field: r.field(), Reason: finding.RouteFieldIgnored, Severity: finding.Warning,
				Message: fmt.Sprintf("application load balancers have nothing like %s; the rule is served without it", strings.Join(r.ignored[:min(len(r.ignored), 10)], ", ")),
				Fix:     "remove it, or do it in the backend",
			})
		}
	}
	return out
}

// ruleInputs returns the input of each rule of a port, in the order of precedence of the rules.
func (t *translation) ruleInputs(p *port) []*ruleInput {
	var out []*ruleInput
	for _, pr := range p.routes {
		route := t.parseRoute(pr.Route)
		hosts := slices.DeleteFunc(slices.Clone(pr.Hostnames), func(h string) bool { return slices.Contains(pr.Isolated, h) })
		if !t.fitsRuleLimit(route, len(hosts)) {
			continue
		}
		created := t.attached.Routes[pr.Route].Object.GetCreationTimestamp().Time
		for i := range route.rules {
			r := &route.rules[i]
			for j := range r.matches {
				for _, h := range hosts {
					out = append(out, &ruleInput{host: h, route: route.ref, routeIndex: pr.Route, created: created, rule: r, match: &r.matches[j]})
				}
			}
		}
	}
	out = append(out, t.isolationRules(p, out)...)
	slices.SortFunc(out, (*ruleInput).compare)
	return out
}

// fitsRuleLimit reports whether the rules of a route on a port, which are counted before they are made, are within the limit
// of the operator. Otherwise it reports the route and holds its live rules.
func (t *translation) fitsRuleLimit(route *parsedRoute, hosts int) bool {
	n, namespace := countRules(route.rules)*hosts, route.ref.Namespace
	if t.ruleCounts[namespace]+n <= t.opt.MaxRules {
		t.ruleCounts[namespace] += n
		return true
	}
	t.Found.Add(finding.Finding{
		Object: route.ref, Field: "spec.rules", Reason: finding.GatewayTooLarge, Blocks: finding.BlocksMember,
		Message: fmt.Sprintf("%d rules exceed the remainder of the %d that routes of namespace %q may have on one Gateway; its live rules stay unchanged", n, t.opt.MaxRules, namespace),
		Fix:     "use fewer matches and hostnames, or another Gateway",
	})
	held := model.HeldMember{Member: route.ref, All: true}
	if !slices.ContainsFunc(t.Stack.Held.Members, func(m model.HeldMember) bool { return m.Member == route.ref }) {
		t.Stack.Held.Members = append(t.Stack.Held.Members, held)
	}
	return false
}

// isolationRules returns the input of rules for listener isolation: requests for the hostname of a listener must not reach
// routes that are attached to less specific listeners only. There is none for a hostname if a rule of the listener itself
// matches all requests.
func (t *translation) isolationRules(p *port, units []*ruleInput) []*ruleInput {
	covered := map[string]bool{}
	for _, r := range p.routes {
		for _, h := range r.Covered {
			covered[h] = true
		}
	}
	if len(covered) == 0 {
		return nil
	}
	for _, u := range units {
		if covered[u.host] && u.match.matchesEverything() && !u.rule.hasExtension() {
			delete(covered, u.host)
		}
	}
	var out []*ruleInput
	for _, l := range p.listeners {
		if h := l.Hostname(); covered[h] {
			delete(covered, h)
			out = append(out, &ruleInput{host: h, isolation: &isolation{finding.Origin{Object: l.Parent, Field: fmt.Sprintf("spec.listeners[%d].hostname", l.Index)}}})
		}
	}
	return out
}
