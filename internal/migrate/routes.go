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

// unit is a match of a listener, for a route.
type unit struct {
	match.Rule
	// does is the rule of the listener that answers.
	does *model.Rule
	text string // identifies match and answer
}

// place is where units of one object and host are attached.
type place struct {
	owner finding.Ref
	host  string
}

// routeBuilder makes the routes of a load balancer.
type routeBuilder struct{ *grouping }

// routes makes the HTTPRoutes of all members.
func (g routeBuilder) routes() {
	at := map[place]map[int32][]unit{}
	for _, l := range g.lb.Listeners {
		if to, ok := sslRedirect(l); ok {
			g.redirectRoute(l, to)
			continue
		}
		for _, u := range g.units(l) {
			p := place{u.does.Member, u.Host}
			if at[p] == nil {
				at[p] = map[int32][]unit{}
			}
			at[p][l.Port] = append(at[p][l.Port], u)
		}
	}
	for _, m := range g.Members {
		g.routesOf(m, at)
	}
}

// sslRedirect returns what a listener does by ssl-redirect, which is the default action of no Ingress.
func sslRedirect(l model.Listener) (model.Redirect, bool) {
	if len(l.Rules) > 0 || len(l.Default) != 1 || !l.DefaultOf.Object.IsZero() {
		return model.Redirect{}, false
	}
	to, ok := l.Default[0].(model.Redirect)
	return to, ok
}

// units returns the matches of a listener as routes need them.
func (g routeBuilder) units(l model.Listener) []unit {
	all := slices.Clone(l.Rules)
	defaults := model.Rule{Origin: l.DefaultOf, Member: l.DefaultOf.Object, Actions: l.Default, Held: l.DefaultHeld}
	byDefault := l.DefaultOf.Object.IsZero()
	all = append(all, defaults)
	var rules []match.Rule
	for i := range all {
		r := &all[i]
		if r.Held != 0 { // a note says so; its requests must not reach rules that are not meant for them
			r.Actions, r.Transforms = []model.Action{plan.HeldResponse}, nil
			if len(r.Instead) > 0 {
				r.Conditions = r.Instead
			}
		}
		of := match.Of(r.Conditions)
		if i == len(all)-1 {
			of = match.Matches{List: []match.Match{match.All}, Not: [][]match.Match{nil}}
		}
		for _, fault := range of.Faults {
			g.note(Lost, r.Member, r.Origin.Field, fault, "change the condition, or keep this Ingress")
		}
		if len(of.Faults) > 0 {
			continue
		}
		r.Actions = withoutEmpty(explicitPort(r.Actions, l))
		answer := answerOf(r) + g.protocols(r, l)
		for j, m := range of.List {
			rules = append(rules, match.Rule{Match: m, Not: of.Not[j], Answer: answer, Of: i, Owner: r.Member.String(), Default: byDefault && i == len(all)-1})
		}
	}
	arranged := match.Arrange(rules)
	for _, c := range arranged.Conflicts {
		r := all[c.First.Of]
		g.note(Lost, cmp.Or(r.Member, all[c.Then.Of].Member), cmp.Or(r.Origin, all[c.Then.Of].Origin).Field,
			fmt.Sprintf("on port %d %s were answered by this rule, and a Gateway gives them to that of %s", l.Port, c, all[c.Then.Of].Origin),
			"make the paths disjoint, or keep this Ingress")
	}
	if len(arranged.Conflicts) == match.MostConflicts {
		g.note(Lost, finding.Ref{}, "", fmt.Sprintf("port %d may have more rules than those of the other notes whose order cannot be kept", l.Port), "make the paths disjoint, or keep these Ingresses")
	}
	for _, n := range arranged.Never {
		if r := all[n]; n < len(l.Rules) {
			g.note(Info, r.Member, r.Origin.Field, fmt.Sprintf("rules that come before answer all of its requests on port %d, so no rule of a route is made of it", l.Port), "")
		}
	}
	var out []unit
	for _, r := range arranged.Rules {
		if r.Default {
			continue // answers by itself
		}
		does := all[r.Of]
		if does.Member.IsZero() {
			does.Member, does.Origin = all[r.Before].Member, all[r.Before].Origin
		}
		out = append(out, unit{r, &does, r.Text() + "\n" + r.Answer})
	}
	return out
}

// protocols notes a rule on HTTP whose targets speak another version of HTTP, which a Gateway and AWS have on HTTPS alone.
// What it returns keeps such a rule out of the route for HTTPS, which has a target group of its own.
func (g routeBuilder) protocols(r *model.Rule, l model.Listener) string {
	if l.TLS != nil {
		return ""
	}
	for _, a := range r.Actions {
		f, _ := a.(model.Forward)
		for _, to := range f.Groups {
			if t := g.From.TargetGroup(to.Group.ID); t != nil && t.ProtocolVersion != "HTTP1" {
				g.note(Lost, r.Member, r.Origin.Field, fmt.Sprintf("targets that speak %s are reached from HTTPS alone, and on port %d a Gateway speaks HTTP1 with them", t.ProtocolVersion, l.Port),
					"redirect from HTTP to HTTPS, or remove the route from port "+fmt.Sprint(l.Port))
				return "\non HTTP"
			}
		}
	}
	return ""
}

// withoutEmpty puts AWS's answer in place of a forward whose weights are all 0: a Gateway answers 500 there.
func withoutEmpty(actions []model.Action) []model.Action {
	for i, a := range actions {
		f, ok := a.(model.Forward)
		if ok && !slices.ContainsFunc(f.Groups, func(g model.WeightedGroup) bool { return g.Weight == nil || *g.Weight > 0 }) {
			actions[i] = model.FixedResponse{Status: "503", ContentType: "text/plain"}
		}
	}
	return actions
}

// explicitPort gives a redirect to another protocol the port that it keeps: a filter has a default of its own.
func explicitPort(actions []model.Action, l model.Listener) []model.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		if to, ok := a.(model.Redirect); ok && to.Protocol != "" && to.Protocol != "#{protocol}" && (to.Port == "" || to.Port == "#{port}") {
			to.Port = fmt.Sprint(l.Port)
			out[i] = to
		}
	}
	return out
}

// answerOf identifies what a rule does.
func answerOf(r *model.Rule) string {
	var out strings.Builder
	for _, a := range r.Actions {
		text, _ := json.Marshal(a)
		fmt.Fprintf(&out, "%T %s\n", a, text)
	}
	text, _ := json.Marshal([]any{r.Transforms, r.Tags})
	out.Write(text)
	return out.String()
}

// attached is a route in the making: the units of one member for some hosts and ports.
type attached struct {
	ports []int32
	hosts []string
	units []unit
}

// routesOf makes the routes of a member. Hosts with the same rules share one, and so do ports: a route has target groups of
// its own.
func (g routeBuilder) routesOf(m finding.Ref, at map[place]map[int32][]unit) {
	var list []attached
	for _, host := range g.hostsOf(m, at) {
		byPort := at[place{m, host}]
		var own []attached
		for _, port := range slices.Sorted(maps.Keys(byPort)) {
			units := byPort[port]
			same := slices.IndexFunc(own, func(a attached) bool {
				return slices.EqualFunc(a.units, units, func(x, y unit) bool { return x.text == y.text })
			})
			if same < 0 {
				own = append(own, attached{hosts: []string{host}, units: units})
				same = len(own) - 1
			}
			own[same].ports = append(own[same].ports, port)
		}
		for _, a := range own {
			same := slices.IndexFunc(list, func(b attached) bool { return b.mayTakeHost(a) })
			if same < 0 {
				list = append(list, a)
				continue
			}
			list[same].hosts = append(list[same].hosts, host)
		}
	}
	for i, a := range list {
		g.route(m, a, i == 0)
	}
}

// mayTakeHost reports whether a route can have the host of another one.
func (a attached) mayTakeHost(o attached) bool {
	const mostHosts = 16
	if len(a.hosts) == mostHosts || a.hosts[0] == "" || o.hosts[0] == "" || !slices.Equal(a.ports, o.ports) {
		return false
	}
	return slices.EqualFunc(a.units, o.units, func(x, y unit) bool {
		x.Host, y.Host = "", ""
		return x.Text() == y.Text() && x.Answer == y.Answer
	})
}

// hostsOf returns the hosts for which a member has units, in the order of the Ingress.
func (g routeBuilder) hostsOf(m finding.Ref, at map[place]map[int32][]unit) []string {
	var hosts []string
	for p := range at {
		if p.owner == m {
			hosts = append(hosts, p.host)
		}
	}
	rank := map[string]int{}
	for i, r := range slices.Backward(g.of[m].Spec.Rules) {
		rank[strings.ToLower(r.Host)] = i - len(g.of[m].Spec.Rules)
	}
	slices.SortFunc(hosts, func(a, b string) int { return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b)) })
	return hosts
}

// parents returns the listeners of a Gateway.
func (g routeBuilder) parents(namespace string, ports []int32) []gwv1.ParentReference {
	var out []gwv1.ParentReference
	for _, l := range g.lb.Listeners {
		if !slices.Contains(ports, l.Port) {
			continue
		}
		ref := gwv1.ParentReference{Name: gwv1.ObjectName(g.Gateway.Name), SectionName: new(section(l))}
		if g.Gateway.Namespace != namespace {
			ref.Namespace = new(gwv1.Namespace(g.Gateway.Namespace))
		}
		out = append(out, ref)
	}
	return out
}

func newRoute(namespace, name string) *gwv1.HTTPRoute {
	return &gwv1.HTTPRoute{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwv1.GroupVersion.String(), Kind: "HTTPRoute"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
}

// route makes one HTTPRoute, and more of them where it has too many rules for one. Their names ascend: of routes of the same
// age the one comes first whose name does.
func (g routeBuilder) route(m finding.Ref, a attached, first bool) {
	all := splitByRoute(g.rulesOf(m, a))
	suffix := routeSuffix
	if onlyDefault(a.units) && len(hostsIn(g.of[m])) > 0 {
		suffix = defaultRouteSuffix
	}
	var names []string
	for part := range all {
		other := fmt.Sprintf("%s %v %d", strings.Join(a.hosts, " "), a.ports, part)
		candidates := []string{nameOf(m.Namespace, m.Name, suffix, other)}
		if first && part == 0 || suffix == defaultRouteSuffix {
			candidates = append([]string{name(m.Namespace, m.Name, suffix)}, candidates...)
		}
		names = append(names, g.unique("HTTPRoute", m.Namespace, candidates...))
	}
	slices.Sort(names)
	for part, rules := range all {
		r := newRoute(m.Namespace, names[part])
		r.Spec.ParentRefs = g.parents(m.Namespace, a.ports)
		for _, h := range a.hosts {
			if h != "" {
				r.Spec.Hostnames = append(r.Spec.Hostnames, gwv1.Hostname(h))
			}
		}
		from := map[string]string{}
		for i, x := range rules {
			for _, m := range x.matches {
				x.rule.Matches = append(x.rule.Matches, matchOf(m))
			}
			r.Spec.Rules = append(r.Spec.Rules, x.rule)
			from[fmt.Sprintf("spec.rules[%d]", i)] = x.from
			for _, t := range x.targets {
				t.route = r.Name
				g.uses[t.service] = append(g.uses[t.service], t)
			}
		}
		g.Objects = append(g.Objects, Object{Object: r, From: "Ingress " + m.Namespace + "/" + m.Name, Parts: from})
	}
}

// onlyDefault reports whether units are the default backend and nothing else.
func onlyDefault(units []unit) bool {
	return !slices.ContainsFunc(units, func(u unit) bool { return u.does.Origin.Field != defaultBackendField })
}

const defaultBackendField = "spec.defaultBackend"

func hostsIn(ing *networkingv1.Ingress) []string {
	var out []string
	for _, r := range ing.Spec.Rules {
		if r.Host != "" {
			out = append(out, r.Host)
		}
	}
	return out
}

// redirectRoute redirects all requests of a listener as ssl-redirect does: to HTTPS and a port, so that one filter says it.
func (g routeBuilder) redirectRoute(l model.Listener, to model.Redirect) {
	_, base := g.base()
	namespace := g.Gateway.Namespace
	plain := name(namespace, base, redirectSuffix)
	r := newRoute(namespace, g.unique("HTTPRoute", namespace, plain, nameOf(namespace, base, redirectSuffix, string(section(l)))))
	r.Spec.ParentRefs = g.parents(namespace, []int32{l.Port})
	filter, _, _ := redirectFilter(to)
	r.Spec.Rules = []gwv1.HTTPRouteRule{{Filters: []gwv1.HTTPRouteFilter{{Type: gwv1.HTTPRouteFilterRequestRedirect, RequestRedirect: filter}}}}
	g.Objects = append(g.Objects, Object{Object: r, From: g.describe(), Parts: map[string]string{"spec.rules[0]": "annotation alb.ingress.kubernetes.io/ssl-redirect"}})
}
