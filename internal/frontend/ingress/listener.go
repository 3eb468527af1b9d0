package ingress

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

const defaultBackendField = "spec.defaultBackend"

// listener builds one port with its default action and rules.
func (t *translation) listener(p *port) model.Listener {
	l := model.Listener{Port: p.number, Tags: t.listenerTags(p)}
	l.Attributes, l.AttributesOf = t.listenerAttributes(p)
	for _, m := range p.members {
		l.Members = append(l.Members, m.ref)
	}
	if p.tls {
		t.secure(p, &l)
	}
	if t.redirects(l) {
		l.Default = []model.Action{model.Redirect{Protocol: "HTTPS", Port: fmt.Sprint(t.redirect.Value), Status: "HTTP_301"}}
		return l
	}
	t.defaultAction(p, &l)
	var rules []model.Rule
	for _, m := range p.all(t.members) {
		held := model.Held(0)
		if m.blocked || p.held || slices.Contains(p.outvoted, m) {
			held = model.HeldInvalid
		}
		for _, path := range pathsOf(m.ing) {
			if r, ok := t.rule(m, p, path, held); ok {
				rules = append(rules, r)
			}
		}
	}
	l.Rules = rules
	shadowing := model.RegexHostsCoverAll
	if t.opt.ExactRegexHosts {
		shadowing = model.RegexHostsCoverThemselves
	}
	l.Rules = model.Optimize(l, shadowing)
	if len(l.Rules) < len(rules) {
		l.Covered, l.Covering = rules, shadowing
	}
	t.tellDropped(rules, l.Rules)
	return l
}

// tellDropped reports rules that are not made because redirects of other members answer their requests. Of
// rules that are made, the plan reports which get no requests.
func (t *translation) tellDropped(all, made []model.Rule) {
	if len(all) == len(made) {
		return
	}
	kept := map[finding.Origin]bool{}
	for _, r := range made {
		kept[r.Origin] = true
	}
	for _, c := range model.Unreachable(all) {
		if !kept[all[c.Rule].Origin] {
			t.found.Add(plan.UnreachableRule(all[c.Rule], all[c.By]))
		}
	}
}

func (t *translation) listenerAttributes(p *port) (map[string]string, []finding.Origin) {
	key := p.listens().Key()
	of := func(c settings.Class) map[string]string { return c.ListenerAttributes[key] }
	get := func(m *member) settings.Opt[map[string]string] { return m.set.ListenerAttributes[key] }
	out := agreeKeys(t, p.members, "listener-attributes."+key, get, of, func() map[string]string { return t.liveListenerAttributes(p.number) }, plan.SameAttribute)
	t.unheard(p.members, "spec.listeners", of, out, func() map[string]string { return t.liveListenerAttributes(p.number) })
	return out, askers(p.members, get, of)
}

// secure settles what a listener with TLS has besides.
func (t *translation) secure(p *port, l *model.Listener) {
	policy := agreeOn(t, p, "ssl-policy", func(m *member) settings.Opt[string] { return written(m.set.SSLPolicy) }, equal[string], func() incumbent[string] {
		if live := listenerOf(t.liveALB(), p.number); live != nil && live.Protocol == "HTTPS" {
			return serving(live.Policy, true, equal[string])
		}
		return incumbent[string]{}
	})
	out := &model.TLS{Policy: policy.Or(t.opt.DefaultSSLPolicy)}
	auth := func(m *member) settings.Opt[mutualAuth] {
		o := m.set.MutualAuth
		if a, ok := o.Value[p.number]; ok {
			return settings.Of(mutualAuth(a), o.Origin)
		}
		return settings.Opt[mutualAuth]{Fault: o.Fault, Origin: o.Origin}
	}
	mutual := agreeOn(t, p, "mutual-authentication", auth, func(a, b mutualAuth) bool { return reflect.DeepEqual(a, b) }, func() incumbent[mutualAuth] { return t.liveMutualAuth(p.number) })
	if mutual.Set {
		out.MutualAuth = new(model.MutualAuth(mutual.Value))
		out.MutualAuth.Of = mutual.Origin
		for _, m := range p.members {
			if auth(m).Present() {
				out.MutualAuth.Members = append(out.MutualAuth.Members, m.ref)
			}
		}
	}
	members := p.members
	if t.isolated() {
		// The first certificate is the default one, which a newcomer must not take by its order.
		members = slices.SortedFunc(slices.Values(members), func(a, b *member) int {
			if older(a, b) {
				return -1
			}
			return 1
		})
	}
	for _, m := range members {
		if c := certificates(m); c != nil {
			out.Certificates = append(out.Certificates, c)
		}
	}
	l.TLS = out
}

// mutualAuth is the setting with a text for conflicts.
type mutualAuth model.MutualAuth

// String shows the mode and the trust store.
func (m mutualAuth) String() string { return strings.TrimSpace(m.Mode + " " + m.TrustStore) }

// hostsOf are the hosts that an Ingress wants certificates for.
func hostsOf(ing *networkingv1.Ingress) []string {
	var out []string
	for _, r := range ing.Spec.Rules {
		if r.Host != "" {
			out = append(out, r.Host)
		}
	}
	for _, s := range ing.Spec.TLS {
		out = append(out, s.Hosts...)
	}
	return sorted(out)
}

// defaultAction is the default backend of the first member that has one, and otherwise a 404.
func (t *translation) defaultAction(p *port, l *model.Listener) {
	l.Default = []model.Action{model.FixedResponse{Status: "404", ContentType: "text/plain"}}
	var winner *member
	for _, m := range p.members {
		if m.ing.Spec.DefaultBackend == nil || !t.mayUse(m, defaultBackendField, []string{anyHost}) {
			continue
		}
		if winner != nil {
			t.notTaken(m, finding.Origin{Object: m.ref, Field: defaultBackendField}, finding.ListenerConflict, fmt.Sprintf("the default backend of port %d,", p.number),
				backendName(*m.ing.Spec.DefaultBackend), backendName(*winner.ing.Spec.DefaultBackend), winner.ref, false)
			continue
		}
		winner = m
	}
	if winner == nil {
		return
	}
	l.DefaultOf = finding.Origin{Object: winner.ref, Field: defaultBackendField}
	if winner.blocked {
		l.DefaultHeld = model.HeldInvalid
		return
	}
	actions, ok := t.actions(winner, p, *winner.ing.Spec.DefaultBackend, l.DefaultOf)
	if !ok {
		l.DefaultHeld = model.HeldInvalid
		return
	}
	l.Default = actions
}

// backendName names a backend in messages.
func backendName(b networkingv1.IngressBackend) string {
	switch {
	case b.Service != nil:
		return b.Service.Name
	case b.Resource != nil:
		return b.Resource.Kind + " " + b.Resource.Name
	}
	return ""
}

// rulePath is one path of an Ingress, at its place in the order of precedence.
type rulePath struct {
	host  string
	path  networkingv1.HTTPIngressPath
	kind  networkingv1.PathType
	field string
}

// pathsOf lists the paths of an Ingress in order of precedence: rules as written, and within each
// the exact paths, then prefixes, longest first, then the others.
func pathsOf(ing *networkingv1.Ingress) []rulePath {
	var out []rulePath
	for i, r := range ing.Spec.Rules {
		if r.HTTP == nil {
			continue
		}
		var paths []rulePath
		for j, p := range r.HTTP.Paths {
			kind := networkingv1.PathTypeImplementationSpecific
			if p.PathType != nil {
				kind = *p.PathType
			}
			paths = append(paths, rulePath{host: r.Host, path: p, kind: kind, field: fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, j)})
		}
		slices.SortStableFunc(paths, func(a, b rulePath) int {
			rank := cmp.Compare(a.rank(), b.rank())
			if rank == 0 && a.kind == networkingv1.PathTypePrefix {
				return cmp.Compare(len(b.path.Path), len(a.path.Path))
			}
			return rank
		})
		out = append(out, paths...)
	}
	return out
}

func (p rulePath) rank() int {
	switch p.kind {
	case networkingv1.PathTypeExact:
		return 0
	case networkingv1.PathTypePrefix:
		return 1
	}
	return 2
}
