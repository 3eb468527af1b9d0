package ingress

import (
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// buildRule builds the rule for one path on one port. If the rule has a fault, it is held. buildRule returns false if there
// is no rule to build, because the namespace may not use the host, or because the path is not valid and only an existing
// rule is held.
func (t *translation) buildRule(m *member, p *members.Port, path rulePath, held model.Held) (model.Rule, bool) {
	r := model.Rule{
		Member: m.Ref, Origin: finding.Origin{Object: m.Ref, Field: path.field},
		Tags: t.WithDefaultTags(m.Tags), Held: held,
	}
	conditions, ok := t.conditions(m, path)
	r.Conditions = conditions
	if !(hostAssigner{t}).mayUseHosts(m, path.field, conditions) {
		return model.Rule{}, false
	}
	if ok && !t.fitsConditionLimits(m, path, conditions) {
		// An existing rule with these conditions is held. A new rule, with status 503, has only the host and path as
		// conditions.
		r.Held, r.PlaceholderConditions = model.HeldInvalid, t.hostAndPathConditions(m, path)
		if why, _ := t.opt.Conditions.ExceededLimit(r.PlaceholderConditions, "paths"); why != "" {
			retainedBuilder{t}.retainLiveRule(m, r)
			return model.Rule{}, false
		}
		return r, true
	}
	if ok {
		r.Held = held
	} else if pathFault(path) != "" {
		// An existing rule with this path is held. No new rule is created, because the path is probably a mistake.
		retainedBuilder{t}.retainLiveRule(m, r)
		return model.Rule{}, false
	} else {
		r.Held = model.HeldInvalid
	}
	if held != 0 {
		return r, true
	}
	transforms, transformed := t.transforms(m, path)
	actions, acted := t.actions(m, p, path.path.Backend, r.Origin)
	if r.Held != 0 || !transformed || !acted {
		r.Held = model.HeldInvalid
		return r, true
	}
	r.Transforms, r.Actions = transforms, actions
	return r, true
}

// pathFault returns the reason why a path is not valid; "" if it is valid.
func pathFault(p rulePath) string {
	switch p.kind {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		if strings.ContainsAny(p.path.Path, "*?") {
			return fmt.Sprintf("path %q of type %s has wildcards", p.path.Path, p.kind)
		}
	case networkingv1.PathTypeImplementationSpecific:
	default:
		return fmt.Sprintf("path type %q is unknown", p.kind)
	}
	return ""
}

// conditions builds the conditions of a rule from the host, the path, and the conditions annotation of the backend, which
// can add alternative hosts and paths, and other conditions. If there is a fault, it returns false, with the conditions for
// the host and the path only.
func (t *translation) conditions(m *member, p rulePath) ([]model.Condition, bool) {
	host, path, ok := model.HostHeader{}, model.PathPattern{}, true
	if p.host != "" {
		host.Values = []string{p.host}
	}
	path, ok = t.pathPattern(m, p)
	extra, written := settings.Opt[[]model.Condition]{}, ""
	if svc := p.path.Backend.Service; svc != nil {
		written = "conditions." + svc.Name
		extra = m.set.Conditions[svc.Name]
	}
	base := orderConditions(nil, host, path)
	if f := extra.Check(); f != nil {
		t.ReportFault(m.Member, *f, finding.BlocksRule)
		return base, false
	}
	var others []model.Condition
	for _, c := range extra.Value {
		switch c := c.(type) {
		case model.HostHeader:
			host.Values, host.Regex = append(host.Values, c.Values...), append(host.Regex, c.Regex...)
		case model.PathPattern:
			path.Values, path.Regex = append(path.Values, c.Values...), append(path.Regex, c.Regex...)
		default:
			others = append(others, c)
		}
	}
	if len(host.Values) > 0 && len(host.Regex) > 0 || len(path.Values) > 0 && len(path.Regex) > 0 {
		t.Found.Add(finding.Finding{
			Object: m.Ref, Field: settings.Prefix + written, Reason: finding.AnnotationInvalid,
			Message: fmt.Sprintf("%s would match plain values and regular expressions in one condition, which AWS does not allow%s", p.field, assemble.RuleHeldText),
			Fix:     "use only plain values or only regular expressions for the host, and likewise for the path", Blocks: finding.BlocksRule,
		})
		return base, false
	}
	return orderConditions(others, host, path), ok
}

// hostAndPathConditions returns the conditions of a rule for its host and path, without those of its conditions annotation.
func (t *translation) hostAndPathConditions(m *member, p rulePath) []model.Condition {
	alone := p
	alone.path.Backend = networkingv1.IngressBackend{}
	conditions, _ := t.conditions(m, alone)
	return conditions
}

// orderConditions returns the conditions in the order in which they are sent to AWS. If there are none, it returns a
// condition that matches every path, because AWS requires a condition.
func orderConditions(others []model.Condition, host model.HostHeader, path model.PathPattern) []model.Condition {
	out := others
	if len(host.Values)+len(host.Regex) > 0 {
		out = append(out, host)
	}
	if len(path.Values)+len(path.Regex) > 0 {
		out = append(out, path)
	}
	if len(out) == 0 {
		out = append(out, model.PathPattern{Values: []string{"/*"}})
	}
	return out
}

// pathPattern returns the condition for a path, without the conditions annotation; false if the path or one of its settings
// is not valid.
func (t *translation) pathPattern(m *member, p rulePath) (model.PathPattern, bool) {
	raw := p.path.Path
	if raw == "" {
		return model.PathPattern{}, true
	}
	plain := model.PathPattern{Values: []string{raw}}
	if why := pathFault(p); why != "" {
		t.Found.Add(finding.Finding{
			Object: m.Ref, Field: p.field, Reason: finding.PathInvalid,
			Message: why, Fix: "use pathType ImplementationSpecific for wildcards", Blocks: finding.BlocksRule,
		})
		return plain, false
	}
	switch p.kind {
	case networkingv1.PathTypePrefix:
		if raw == "/" {
			return model.PathPattern{Values: []string{"/*"}}, true
		}
		raw = strings.TrimSuffix(raw, "/")
		return model.PathPattern{Values: []string{raw, raw + "/*"}}, true
	case networkingv1.PathTypeImplementationSpecific:
		regex := m.set.RegexPaths
		if f := regex.Check(); f != nil {
			t.ReportFault(m.Member, *f, finding.BlocksRule)
			return plain, false
		}
		if regex.Value {
			// Kubernetes requires a leading slash, which does not belong to the regular expression.
			return model.PathPattern{Regex: []string{raw[1:]}}, true
		}
	}
	return plain, true
}

func (t *translation) transforms(m *member, p rulePath) ([]model.Transform, bool) {
	svc := p.path.Backend.Service
	if svc == nil {
		return nil, true
	}
	o := m.set.Transforms[svc.Name]
	if f := o.Check(); f != nil {
		t.ReportFault(m.Member, *f, finding.BlocksRule)
		return nil, false
	}
	return o.Value, true
}
