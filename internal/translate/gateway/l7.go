package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// applicationListener builds the listener of a port. It returns false if the port gets no listener, for example because no
// route is attached.
func (t *translation) applicationListener(p *port) (model.Listener, bool) {
	if len(p.routes) == 0 && !t.strictConformance {
		return model.Listener{}, false
	}
	l := t.buildListener(p)
	if len(p.routes) == 0 && l.TLS != nil && len(l.TLS.Certificates) == 0 {
		return model.Listener{}, false // AWS does not accept an HTTPS listener without a certificate
	}
	l.Default = []model.Action{model.FixedResponse{Status: "404", ContentType: "text/plain"}}
	if p.TLS && p.entry != nil && p.entry.MutualAuthentication != nil {
		l.TLS.MutualAuth = t.mutualAuth(p)
	}
	for _, u := range t.ruleInputs(p) {
		l.Rules = append(l.Rules, t.buildRule(p, u))
	}
	return l, true
}

// mutualAuth returns the settings for mutual TLS in the configuration of a port.
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

// parsedRoute has the rules of a route. The listeners of all ports of the route share it.
type parsedRoute struct {
	ref   finding.Ref
	rules []routeRule
}

// parseRoute returns the parsed rules of the route with index n in attached.Routes. The first call for a route parses it,
// and reports fields that have no effect.
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
				Message: fmt.Sprintf("application load balancers do not support %s; the rule is served without it", strings.Join(r.ignored[:min(len(r.ignored), 10)], ", ")),
				Fix:     "remove it, or implement it in the backend",
			})
		}
	}
	return out
}

// ruleInputs returns the inputs for the rules of a port, in order of precedence.
func (t *translation) ruleInputs(p *port) []*ruleInput {
	var out []*ruleInput
	for _, pr := range p.routes {
		route := t.parseRoute(pr.Route)
		hosts := slices.DeleteFunc(slices.Clone(pr.Hostnames), func(h string) bool { return slices.Contains(pr.IsolatedHostnames, h) })
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

// fitsRuleLimit reports whether the rules of a route on a port are within MaxRules. The rules are counted before they are
// built. If they exceed the limit, the route is reported and its existing rules are held.
func (t *translation) fitsRuleLimit(route *parsedRoute, hosts int) bool {
	n, namespace := countRules(route.rules)*hosts, route.ref.Namespace
	if t.ruleCounts[namespace]+n <= t.opt.MaxRules {
		t.ruleCounts[namespace] += n
		return true
	}
	t.Found.Add(finding.Finding{
		Object: route.ref, Field: "spec.rules", Reason: finding.GatewayTooLarge, Blocks: finding.BlocksMember,
		Message: fmt.Sprintf("the number of rules of the route, %d, exceeds what remains of the limit of %d rules for routes of namespace %q on one Gateway; the existing rules of the route stay unchanged, and new rules are not created", n, t.opt.MaxRules, namespace),
		Fix:     "use fewer matches and hostnames, or another Gateway",
	})
	held := model.HeldMember{Member: route.ref, All: true}
	if !slices.ContainsFunc(t.Stack.Held.Members, func(m model.HeldMember) bool { return m.Member == route.ref && m.Port == 0 }) {
		t.Stack.Held.Members = append(t.Stack.Held.Members, held)
	}
	return false
}

// isolationRules returns the inputs for rules of listener isolation. Requests for the hostname of a listener must not reach
// routes that are attached only to less specific listeners. So such a rule answers the requests for the hostname that no
// route of the listener matches. No such rule is needed if one of inputs, the inputs for rules of routes, matches
// all requests for the hostname.
func (t *translation) isolationRules(p *port, inputs []*ruleInput) []*ruleInput {
	covered := map[string]bool{}
	for _, r := range p.routes {
		for _, h := range r.CoveredHostnames {
			covered[h] = true
		}
	}
	if len(covered) == 0 {
		return nil
	}
	for _, u := range inputs {
		if covered[u.host] && u.match.matchesEverything() && !u.rule.hasExtension() {
			delete(covered, u.host)
		}
	}
	var out []*ruleInput
	for _, l := range p.listeners {
		if h := l.Hostname(); covered[h] {
			delete(covered, h)
			out = append(out, &ruleInput{host: h, isolation: &isolationOrigin{finding.Origin{Object: l.Parent, Field: fmt.Sprintf("spec.listeners[%d].hostname", l.Index)}}})
		}
	}
	return out
}
