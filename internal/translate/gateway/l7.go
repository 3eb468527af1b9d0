package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// applicationListener builds one port; false where no route is attached.
func (t *translation) applicationListener(p *port) (model.Listener, bool) {
	if len(p.routes) == 0 && !t.strict {
		return model.Listener{}, false
	}
	l := t.listener(p)
	if len(p.routes) == 0 && l.TLS != nil && len(l.TLS.Certificates) == 0 {
		return model.Listener{}, false // nothing to serve it with
	}
	l.Default = []model.Action{model.FixedResponse{Status: "404", ContentType: "text/plain"}}
	if p.TLS && p.entry != nil && p.entry.MutualAuthentication != nil {
		l.TLS.MutualAuth = t.mutualAuth(p)
	}
	for _, u := range t.units(p) {
		if r, ok := t.rule(p, u); ok {
			l.Rules = append(l.Rules, r)
		}
	}
	return l, true
}

// mutualAuth returns what the configuration says of client certificates.
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

// parsed is a route as rules, which the listeners of all its ports share.
type parsed struct {
	ref   finding.Ref
	rules []routeRule
}

// parse reads a route once.
func (t *translation) parse(n int) *parsed {
	if out, known := t.parsed[n]; known {
		return out
	}
	out := &parsed{ref: t.routeRef(n), rules: rulesOf(t.attached.Routes[n].Object)}
	t.parsed[n] = out
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

// units returns the rules of a port in the order in which they are tried.
func (t *translation) units(p *port) []*unit {
	var out []*unit
	for _, pr := range p.routes {
		route := t.parse(pr.Route)
		hosts := slices.DeleteFunc(slices.Clone(pr.Hostnames), func(h string) bool { return slices.Contains(pr.Isolated, h) })
		if !t.fitsRuleLimit(route, len(hosts)) {
			continue
		}
		created := t.attached.Routes[pr.Route].Object.GetCreationTimestamp().Time
		for i := range route.rules {
			r := &route.rules[i]
			for j := range r.matches {
				for _, h := range hosts {
					out = append(out, &unit{host: h, route: route.ref, number: pr.Route, created: created, rule: r, match: &r.matches[j]})
				}
			}
		}
	}
	out = append(out, t.isolations(p, out)...)
	slices.SortFunc(out, (*unit).compare)
	return out
}

// fitsRuleLimit counts the rules of a route on a port, before they are made. Those of one more than the operator allows
// stay as they are.
func (t *translation) fitsRuleLimit(route *parsed, hosts int) bool {
	n, namespace := countRules(route.rules)*hosts, route.ref.Namespace
	if t.rules[namespace]+n <= t.opt.MaxRules {
		t.rules[namespace] += n
		return true
	}
	t.Found.Add(finding.Finding{
		Object: route.ref, Field: "spec.rules", Reason: finding.GatewayTooLarge, Blocks: finding.BlocksMember,
		Message: fmt.Sprintf("%d rules are more than what is left of the %d that routes of namespace %q may have on one Gateway; its live rules stay as they are", n, t.opt.MaxRules, namespace),
		Fix:     "use fewer matches and hostnames, or another Gateway",
	})
	held := model.HeldMember{Member: route.ref, All: true}
	if !slices.ContainsFunc(t.Stack.Held.Members, func(m model.HeldMember) bool { return m.Member == route.ref }) {
		t.Stack.Held.Members = append(t.Stack.Held.Members, held)
	}
	return false
}

// isolations returns rules that keep requests for the hostname of a listener from routes that are attached to less
// specific ones alone. There is none where a rule of the listener's own answers everything.
func (t *translation) isolations(p *port, units []*unit) []*unit {
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
		if covered[u.host] && u.match.everything() && !u.rule.withExtension() {
			delete(covered, u.host)
		}
	}
	var out []*unit
	for _, l := range p.listeners {
		if h := l.Hostname(); covered[h] {
			delete(covered, h)
			out = append(out, &unit{host: h, isolation: &isolation{finding.Origin{Object: l.Parent, Field: fmt.Sprintf("spec.listeners[%d].hostname", l.Index)}}})
		}
	}
	return out
}
