package migrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/match"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// routeMatch is one match of an HTTPRoute, with the listener rule that it comes from.
type routeMatch struct {
	match.Rule
	// listenerRule is the listener rule that answers the requests.
	listenerRule *model.Rule
	key          string // identifies the match and the answer
}

// routeKey identifies the matches of one member and host, which can be in one route.
type routeKey struct {
	owner finding.Ref
	host  string
}

// routeBuilder makes the HTTPRoutes of a load balancer.
type routeBuilder struct{ *generator }

// addRoutes adds the HTTPRoutes of all members, and those for the annotation ssl-redirect.
func (g routeBuilder) addRoutes() {
	matches := map[routeKey]map[int32][]routeMatch{}
	for _, l := range g.lb.Listeners {
		if to, ok := sslRedirect(l); ok {
			g.addRedirectRoute(l, to)
			continue
		}
		for _, u := range g.routeMatches(l) {
			key := routeKey{u.listenerRule.Member, u.Host}
			if matches[key] == nil {
				matches[key] = map[int32][]routeMatch{}
			}
			matches[key][l.Port] = append(matches[key][l.Port], u)
		}
	}
	for _, m := range g.Members {
		g.addMemberRoutes(m, matches)
	}
}

// sslRedirect returns the redirect of a listener whose default action comes from the annotation ssl-redirect; false if there
// is none. Such a default action has no Ingress as its origin.
func sslRedirect(l model.Listener) (model.Redirect, bool) {
	if len(l.Rules) > 0 || len(l.Default) != 1 || !l.DefaultOf.Object.IsZero() {
		return model.Redirect{}, false
	}
	to, ok := l.Default[0].(model.Redirect)
	return to, ok
}

// routeMatches returns the matches of a listener, arranged for the precedence of routes. It adds notes about rules that
// cannot be translated or whose order cannot be kept.
func (g routeBuilder) routeMatches(l model.Listener) []routeMatch {
	listenerRules := slices.Clone(l.Rules)
	defaultRule := model.Rule{Origin: l.DefaultOf, Member: l.DefaultOf.Object, Actions: l.Default, Held: l.DefaultHeld, Tags: l.DefaultRuleTags}
	noDefaultBackend := l.DefaultOf.Object.IsZero()
	listenerRules = append(listenerRules, defaultRule)
	var rules []match.Rule
	for i := range listenerRules {
		r := &listenerRules[i]
		if r.Held != 0 { // a note reports that the rule is held, and other rules must not answer its requests
			r.Actions, r.Transforms = []model.Action{plan.HeldResponse}, nil
			if len(r.PlaceholderConditions) > 0 {
				r.Conditions = r.PlaceholderConditions
			}
		}
		converted := match.FromConditions(r.Conditions)
		if i == len(listenerRules)-1 {
			converted = match.Matches{List: []match.Match{match.AnyRequest}, Excluded: [][]match.Match{nil}}
		}
		for _, fault := range converted.Faults {
			g.addNote(Lost, r.Member, r.Origin.Field, fault, "change the condition, or keep this Ingress")
		}
		if len(converted.Faults) > 0 {
			continue
		}
		r.Actions = replaceEmptyForwards(withExplicitPort(r.Actions, l))
		answer := answerKey(r) + g.checkProtocolVersion(r, l)
		for j, m := range converted.List {
			rules = append(rules, match.Rule{Match: m, Excluded: converted.Excluded[j], Answer: answer, RuleIndex: i, Owner: r.Member.String(), IsDefault: noDefaultBackend && i == len(listenerRules)-1})
		}
	}
	arranged := match.Arrange(rules)
	for _, c := range arranged.Conflicts {
		r := listenerRules[c.InListener.RuleIndex]
		g.addNote(Lost, cmp.Or(r.Member, listenerRules[c.InGateway.RuleIndex].Member), cmp.Or(r.Origin, listenerRules[c.InGateway.RuleIndex].Origin).Field,
			fmt.Sprintf("on port %d, this rule answers %s, but in a Gateway the rule of %s answers them", l.Port, c, listenerRules[c.InGateway.RuleIndex].Origin),
			"change the paths so that no request matches both rules, or keep this Ingress")
	}
	if len(arranged.Conflicts) == match.MaxConflicts {
		g.addNote(Lost, finding.Ref{}, "", fmt.Sprintf("port %d has at least %d conflicts of rule order; any further conflicts are not listed", l.Port, match.MaxConflicts), "change the paths so that no request matches two rules, or keep these Ingresses")
	}
	for _, n := range arranged.Unreachable {
		if r := listenerRules[n]; n < len(l.Rules) {
			g.addNote(Info, r.Member, r.Origin.Field, fmt.Sprintf("earlier rules answer all requests of this rule on port %d, so it is not translated", l.Port), "")
		}
	}
	var out []routeMatch
	for _, r := range arranged.Rules {
		if r.IsDefault {
			continue // the default action of a Gateway gives the same answer
		}
		listenerRule := listenerRules[r.RuleIndex]
		if listenerRule.Member.IsZero() {
			next := listenerRules[r.AddedBefore]
			listenerRule.Member, listenerRule.Origin, listenerRule.Tags = next.Member, next.Origin, next.Tags
		}
		out = append(out, routeMatch{r, &listenerRule, r.Text() + "\n" + r.Answer})
	}
	return out
}

// checkProtocolVersion adds a note about a rule of an HTTP listener whose targets use another protocol version than HTTP1,
// because Gateways and AWS support other versions only on HTTPS listeners. It returns a suffix for the answer key of such a
// rule; "" for other rules. With the suffix, the rule is not joined with the rule of an HTTPS listener, which has a
// different target group.
func (g routeBuilder) checkProtocolVersion(r *model.Rule, l model.Listener) string {
	if l.TLS != nil {
		return ""
	}
	for _, to := range model.ForwardedTargetGroups(r.Actions) {
		if t := g.IngressStack.TargetGroup(to.Group.ID); t != nil && t.ProtocolVersion != "HTTP1" {
			g.addNote(Lost, r.Member, r.Origin.Field, fmt.Sprintf("protocol version %s needs an HTTPS listener, so on port %d a Gateway uses HTTP1 to these targets", t.ProtocolVersion, l.Port),
				"redirect from HTTP to HTTPS, or remove the route from port "+fmt.Sprint(l.Port))
			return "\non HTTP"
		}
	}
	return ""
}

// replaceEmptyForwards replaces forwards whose weights are all 0 by a fixed response with status 503, as AWS answers. A
// Gateway would answer 500. It changes and returns its argument.
func replaceEmptyForwards(actions []model.Action) []model.Action {
	for i, a := range actions {
		f, ok := a.(model.Forward)
		if ok && f.AreWeightsZero() {
			actions[i] = model.FixedResponse{Status: "503", ContentType: "text/plain"}
		}
	}
	return actions
}

// withExplicitPort returns a copy of the actions. In it, a redirect that sets the protocol but keeps the port of the request
// names that port. Without a port, the redirect filter of a route would use the default port of the protocol.
func withExplicitPort(actions []model.Action, l model.Listener) []model.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		if to, ok := a.(model.Redirect); ok && to.Protocol != "" && to.Protocol != "#{protocol}" && (to.Port == "" || to.Port == "#{port}") {
			to.Port = fmt.Sprint(l.Port)
			out[i] = to
		}
	}
	return out
}

// answerKey returns a text that identifies the actions, transforms and tags of a rule.
func answerKey(r *model.Rule) string {
	var out strings.Builder
	for _, a := range r.Actions {
		text, _ := json.Marshal(a)
		fmt.Fprintf(&out, "%T %s\n", a, text)
	}
	text, _ := json.Marshal([]any{r.Transforms, r.Tags})
	out.Write(text)
	return out.String()
}

// routeDraft has the content of an HTTPRoute that is not made yet: the matches of one member for some hosts and ports.
type routeDraft struct {
	ports   []int32
	hosts   []string
	matches []routeMatch
}

// addMemberRoutes adds the routes of a member. Hosts and ports with the same rules share a route, because each route has its
// own target groups.
func (g routeBuilder) addMemberRoutes(m finding.Ref, matches map[routeKey]map[int32][]routeMatch) {
	var drafts []routeDraft
	for _, host := range g.memberHosts(m, matches) {
		byPort := matches[routeKey{m, host}]
		var hostDrafts []routeDraft
		for _, port := range slices.Sorted(maps.Keys(byPort)) {
			portMatches := byPort[port]
			same := slices.IndexFunc(hostDrafts, func(draft routeDraft) bool {
				return slices.EqualFunc(draft.matches, portMatches, func(x, y routeMatch) bool { return x.key == y.key })
			})
			if same < 0 {
				hostDrafts = append(hostDrafts, routeDraft{hosts: []string{host}, matches: portMatches})
				same = len(hostDrafts) - 1
			}
			hostDrafts[same].ports = append(hostDrafts[same].ports, port)
		}
		for _, draft := range hostDrafts {
			same := slices.IndexFunc(drafts, func(o routeDraft) bool { return o.canAddHostOf(draft) })
			if same < 0 {
				drafts = append(drafts, draft)
				continue
			}
			drafts[same].hosts = append(drafts[same].hosts, host)
		}
	}
	for i, draft := range drafts {
		g.addRoute(m, draft, i == 0)
	}
}

// canAddHostOf reports whether the host of the route o can be added to the route d: their ports and matches are equal, and d
// does not have the maximum number of hosts.
func (d routeDraft) canAddHostOf(o routeDraft) bool {
	const maxHosts = 16
	if len(d.hosts) == maxHosts || d.hosts[0] == "" || o.hosts[0] == "" || !slices.Equal(d.ports, o.ports) {
		return false
	}
	return slices.EqualFunc(d.matches, o.matches, func(x, y routeMatch) bool {
		x.Host, y.Host = "", ""
		return x.Text() == y.Text() && x.Answer == y.Answer
	})
}

// memberHosts returns the hosts for which a member has matches, in the order of the Ingress rules.
func (g routeBuilder) memberHosts(m finding.Ref, matches map[routeKey]map[int32][]routeMatch) []string {
	var hosts []string
	for p := range matches {
		if p.owner == m {
			hosts = append(hosts, p.host)
		}
	}
	rank := map[string]int{}
	for i, r := range slices.Backward(g.ingresses[m].Spec.Rules) {
		rank[strings.ToLower(r.Host)] = i - len(g.ingresses[m].Spec.Rules)
	}
	slices.SortFunc(hosts, func(a, b string) int { return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b)) })
	return hosts
}

// parentRefs returns the references of a route in namespace to the listeners of the Gateway with the given ports.
func (g routeBuilder) parentRefs(namespace string, ports []int32) []gwv1.ParentReference {
	var out []gwv1.ParentReference
	for _, l := range g.lb.Listeners {
		if !slices.Contains(ports, l.Port) {
			continue
		}
		ref := gwv1.ParentReference{Name: gwv1.ObjectName(g.Gateway.Name), SectionName: new(sectionName(l))}
		if g.Gateway.Namespace != namespace {
			ref.Namespace = new(gwv1.Namespace(g.Gateway.Namespace))
		}
		out = append(out, ref)
	}
	return out
}

// newRoute returns an HTTPRoute without rules.
func newRoute(namespace, name string) *gwv1.HTTPRoute {
	return &gwv1.HTTPRoute{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwv1.GroupVersion.String(), Kind: "HTTPRoute"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
}

// addRoute adds an HTTPRoute, or several if one cannot have all rules. first is true for the first draft of a member. The
// names of several routes sort in the order of the rules, because among routes of the same age, the first by name has
// precedence.
func (g routeBuilder) addRoute(m finding.Ref, draft routeDraft, first bool) {
	parts := splitByRoute(g.buildRules(m, draft))
	suffix := routeSuffix
	if isOnlyDefaultBackend(draft.matches) && len(ruleHosts(g.ingresses[m])) > 0 {
		suffix = defaultRouteSuffix
	}
	var names []string
	for part := range parts {
		other := fmt.Sprintf("%s %v %d", strings.Join(draft.hosts, " "), draft.ports, part)
		candidates := []string{distinctObjectName(m.Namespace, m.Name, suffix, other)}
		if first && part == 0 || suffix == defaultRouteSuffix {
			candidates = append([]string{objectName(m.Namespace, m.Name, suffix)}, candidates...)
		}
		names = append(names, g.reserveName("HTTPRoute", m.Namespace, candidates...))
	}
	slices.Sort(names)
	for part, rules := range parts {
		r := newRoute(m.Namespace, names[part])
		r.Spec.ParentRefs = g.parentRefs(m.Namespace, draft.ports)
		for _, h := range draft.hosts {
			if h != "" {
				r.Spec.Hostnames = append(r.Spec.Hostnames, gwv1.Hostname(h))
			}
		}
		from := map[string]string{}
		for i, rule := range rules {
			for _, m := range rule.matches {
				rule.rule.Matches = append(rule.rule.Matches, httpRouteMatch(m))
			}
			r.Spec.Rules = append(r.Spec.Rules, rule.rule)
			from[fmt.Sprintf("spec.rules[%d]", i)] = rule.origin
			for _, t := range rule.targets {
				t.route = r.Name
				g.targetUses[t.service] = append(g.targetUses[t.service], t)
			}
		}
		g.Objects = append(g.Objects, Object{Object: r, Origin: "Ingress " + m.Namespace + "/" + m.Name, PartOrigins: from})
	}
}

// isOnlyDefaultBackend reports whether all matches are those of the default backend.
func isOnlyDefaultBackend(matches []routeMatch) bool {
	return !slices.ContainsFunc(matches, func(u routeMatch) bool { return u.listenerRule.Origin.Field != defaultBackendField })
}

// defaultBackendField is the field of an Ingress with the default backend.
const defaultBackendField = "spec.defaultBackend"

// ruleHosts returns the hosts of the rules of an Ingress.
func ruleHosts(ing *networkingv1.Ingress) []string {
	var out []string
	for _, r := range ing.Spec.Rules {
		if r.Host != "" {
			out = append(out, r.Host)
		}
	}
	return out
}

// addRedirectRoute adds a route that redirects all requests of a listener to HTTPS, as the annotation ssl-redirect does. One
// filter expresses such a redirect completely.
func (g routeBuilder) addRedirectRoute(l model.Listener, to model.Redirect) {
	namespace, base := g.Gateway.Namespace, g.ID.Name
	plain := objectName(namespace, base, redirectSuffix)
	r := newRoute(namespace, g.reserveName("HTTPRoute", namespace, plain, distinctObjectName(namespace, base, redirectSuffix, string(sectionName(l)))))
	r.Spec.ParentRefs = g.parentRefs(namespace, []int32{l.Port})
	filter, _, _ := redirectFilter(to)
	r.Spec.Rules = []gwv1.HTTPRouteRule{{Filters: []gwv1.HTTPRouteFilter{{Type: gwv1.HTTPRouteFilterRequestRedirect, RequestRedirect: filter}}}}
	g.Objects = append(g.Objects, Object{Object: r, Origin: g.originText(), PartOrigins: map[string]string{"spec.rules[0]": "annotation alb.ingress.kubernetes.io/ssl-redirect"}})
}
