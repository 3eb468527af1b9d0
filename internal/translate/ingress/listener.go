package ingress

import (
	"cmp"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/rules"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
)

const defaultBackendField = "spec.defaultBackend"

// buildListener builds the listener of a port, with its default action and its rules.
func (t *translation) buildListener(p *members.Port) model.Listener {
	l := model.Listener{Port: p.Number, Tags: t.ListenerTags(p)}
	l.Attributes, l.AttributesOf = t.ListenerAttributes(p)
	for _, m := range p.Members {
		l.Members = append(l.Members, m.Ref)
	}
	if p.TLS {
		l.TLS = t.TLS(p)
		l.TLS.NotImported = !t.opt.ImportCertificates && slices.ContainsFunc(p.Members, func(m *members.Member) bool { return referencesTLSSecret(t.ingressOf[m].ing) })
	}
	if t.redirectsToHTTPS(l) {
		l.Default = []model.Action{model.Redirect{Protocol: "HTTPS", Port: fmt.Sprint(t.Redirect.Value), Status: "HTTP_301"}}
		return l
	}
	t.defaultAction(p, &l)
	var rules []model.Rule
	for _, m := range p.MembersWithRules(t.Members) {
		held := model.Held(0)
		if m.Blocked || p.Held || slices.Contains(p.ConflictingMembers, m) {
			held = model.HeldInvalid
		}
		ing := t.ingressOf[m]
		paths := pathsOf(ing.ing)
		rules = slices.Grow(rules, len(paths))
		for _, path := range paths {
			if r, ok := t.buildRule(ing, p, path, held); ok {
				rules = append(rules, r)
			}
		}
	}
	l.Rules = rules
	shadowing := model.RegexHostsCoverAll
	if t.opt.ExactRegexHosts {
		shadowing = model.RegexHostsCoverThemselves
	}
	l.Rules = model.OptimizeRules(l, shadowing)
	if len(l.Rules) < len(rules) {
		l.AllRules, l.Shadowing = rules, shadowing
	}
	t.reportOmittedRules(rules, l.Rules)
	return l
}

// reportOmittedRules reports rules that are not created, because redirects answer all their requests: the rules in all that
// are not in made. The plan reports the rules that are created although they receive no requests.
func (t *translation) reportOmittedRules(all, made []model.Rule) {
	if len(all) == len(made) {
		return
	}
	kept := map[finding.Origin]bool{}
	for _, r := range made {
		kept[r.Origin] = true
	}
	for _, c := range model.UnreachableRules(all) {
		if !kept[all[c.Rule].Origin] {
			t.Found.Add(rules.UnreachableRuleFinding(all[c.Rule], all[c.CoveredBy]))
		}
	}
}

// certificateHosts returns the hosts of an Ingress that need certificates: the hosts of its rules and of spec.tls, sorted
// and without duplicates.
func certificateHosts(ing *networkingv1.Ingress) []string {
	var out []string
	for _, r := range ing.Spec.Rules {
		if r.Host != "" {
			out = append(out, r.Host)
		}
	}
	for _, s := range ing.Spec.TLS {
		out = append(out, s.Hosts...)
	}
	return members.SortedUnique(out)
}

// noDefaultBackend is the default action of a listener without default backend.
var noDefaultBackend = model.FixedResponse{Status: "404", ContentType: "text/plain"}

// defaultAction sets the default action of a listener: the action for the default backend of the first member that has
// one, otherwise a fixed response with status 404. If several members have one, a default backend that is held is skipped,
// unless the existing listener already serves it.
func (t *translation) defaultAction(p *members.Port, l *model.Listener) {
	l.Default = []model.Action{noDefaultBackend}
	if p.Held {
		l.DefaultHeld = model.HeldInvalid
		return
	}
	var claimants []*member
	for _, on := range p.Members {
		if m := t.ingressOf[on]; m.ing.Spec.DefaultBackend != nil && (hostAssigner{t}).mayUsePatterns(m, defaultBackendField, []string{anyHost}) {
			claimants = append(claimants, m)
		}
	}
	if len(claimants) == 0 {
		return
	}
	used, actions, ok := chooseDefaultBackend(t, p, claimants)
	winner := claimants[used]
	for i, m := range claimants {
		switch {
		case i < used:
			t.Found.Add(finding.Finding{
				Object: m.Ref, Field: defaultBackendField, Reason: finding.HeldRuleLeftOut, Blocks: finding.BlocksRule,
				Message: fmt.Sprintf("the default backend of port %d is held; that of %s gets these requests", p.Number, winner.Ref),
				Fix:     "correct what the other finding describes, or remove the default backend",
			})
		case i > used:
			t.ReportIgnoredValue(m.Member, finding.Origin{Object: m.Ref, Field: defaultBackendField}, finding.ListenerConflict, fmt.Sprintf("the default backend of port %d,", p.Number),
				backendName(*m.ing.Spec.DefaultBackend), backendName(*winner.ing.Spec.DefaultBackend), winner.Ref, false)
		}
	}
	l.DefaultOf, l.DefaultRuleTags = finding.Origin{Object: winner.Ref, Field: defaultBackendField}, t.WithDefaultTags(winner.Tags)
	if !ok {
		l.DefaultHeld = model.HeldInvalid
		return
	}
	l.Default = actions
}

// chooseDefaultBackend chooses the default backend of a port. claimants are the members with a default backend, and used is
// the index of the chosen one. ok is false if its default backend is held.
func chooseDefaultBackend(t *translation, p *members.Port, claimants []*member) (used int, actions []model.Action, ok bool) {
	for i, m := range claimants {
		if !m.Blocked {
			if actions, ok = t.actions(m, p, *m.ing.Spec.DefaultBackend, finding.Origin{Object: m.Ref, Field: defaultBackendField}); ok {
				return i, actions, true
			}
		}
		if len(claimants) == 1 {
			break
		}
		t.Stack.Contested = true // the existing listener shows whether it serves this default backend
		if servesDefaultBackend(t, p, m, claimants[i+1:]) {
			return i, nil, false
		}
	}
	return 0, nil, false
}

// servesDefaultBackend reports whether the existing listener of a port serves the default backend of a member: its default
// action forwards to target groups of the member, or is the redirect or fixed response in the actions annotation of the
// member. The result is false for a response that does not identify the member, because it is equal to noDefaultBackend or
// to the response of one of the others.
func servesDefaultBackend(t *translation, p *members.Port, m *member, others []*member) bool {
	live := t.LiveLoadBalancer().ListenerOnPort(p.Number)
	if live == nil || plan.AreActionsOwnedBy(*t.Live, m.Ref, live.Default) {
		return live != nil
	}
	if len(live.Default) == 0 || assemble.SameResponse(noDefaultBackend, live.Default[0]) {
		return false
	}
	responds := func(m *member) bool {
		svc := m.ing.Spec.DefaultBackend.Service
		if svc == nil || svc.Port.Name != useAnnotationPort {
			return false
		}
		response := m.set.Actions[svc.Name].Value.Direct
		return response != nil && assemble.SameResponse(response, live.Default[len(live.Default)-1])
	}
	return responds(m) && !slices.ContainsFunc(others, responds)
}

// backendName returns the name of a backend for messages.
func backendName(b networkingv1.IngressBackend) string {
	switch {
	case b.Service != nil:
		return b.Service.Name
	case b.Resource != nil:
		return b.Resource.Kind + " " + b.Resource.Name
	}
	return ""
}

// rulePath is one path of an Ingress. field is the field with the path.
type rulePath struct {
	host  string
	path  networkingv1.HTTPIngressPath
	kind  networkingv1.PathType
	field string
}

// pathsOf returns the paths of an Ingress in order of precedence. The rules of the Ingress keep their order. Within each
// rule, exact paths come first, then prefixes, longest first, and then other paths.
func pathsOf(ing *networkingv1.Ingress) []rulePath {
	var out []rulePath
	for i, r := range ing.Spec.Rules {
		if r.HTTP == nil {
			continue
		}
		paths := make([]rulePath, 0, len(r.HTTP.Paths))
		for j, p := range r.HTTP.Paths {
			kind := networkingv1.PathTypeImplementationSpecific
			if p.PathType != nil {
				kind = *p.PathType
			}
			paths = append(paths, rulePath{host: r.Host, path: p, kind: kind, field: fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, j)})
		}
		slices.SortStableFunc(paths, func(a, b rulePath) int {
			rank := cmp.Compare(a.pathTypeRank(), b.pathTypeRank())
			if rank == 0 && a.kind == networkingv1.PathTypePrefix {
				return cmp.Compare(len(b.path.Path), len(a.path.Path))
			}
			return rank
		})
		out = append(out, paths...)
	}
	return out
}

func (p rulePath) pathTypeRank() int {
	switch p.kind {
	case networkingv1.PathTypeExact:
		return 0
	case networkingv1.PathTypePrefix:
		return 1
	}
	return 2
}
