package listeners

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// ForeignHostnames returns, by the ARN of an observed rule, the hostnames that the member of the rule may not use. w may be
// nil.
func ForeignHostnames(w *model.Withdrawn) map[string][]model.ForeignHostname {
	out := map[string][]model.ForeignHostname{}
	if w != nil {
		for _, h := range w.Hostnames {
			out[h.Rule] = append(out[h.Rule], h)
		}
	}
	return out
}

// AnsweredHostnames is a set of hostnames for which the rules given to Add answer all requests.
type AnsweredHostnames map[string]bool

// Add adds the conditions of the next rule in the order of precedence.
func (a AnsweredHostnames) Add(conditions []model.Condition) {
	if len(conditions) == 1 {
		for _, host := range (model.Rule{Conditions: conditions}).Hosts() {
			a[host] = true
		}
	}
}

// Has reports whether the rules given to Add answer all requests for a hostname.
func (a AnsweredHostnames) Has(h model.ForeignHostname) bool {
	for _, host := range (model.Rule{Conditions: []model.Condition{h.Host}}).Hosts() {
		if !a[host] {
			return false
		}
	}
	return true
}

// RefusesForeignHostnames reports whether an observed rule returns an error for a hostname that another rule of the listener
// matches, although the member of the other rule may not use this hostname. foreign is the result of ForeignHostnames.
func RefusesForeignHostnames(l *observed.Listener, rule *observed.Rule, foreign map[string][]model.ForeignHostname) bool {
	refused := AnsweredHostnames{}
	if refused.Add(rule.Conditions); !plan.IsErrorResponse(rule.Actions) {
		return false
	}
	return slices.ContainsFunc(l.Rules, func(o observed.Rule) bool { return slices.ContainsFunc(foreign[o.ARN], refused.Has) })
}

// NotFoundRule returns a rule that answers requests for a hostname with 404 before they reach the observed rule of a member
// that may not use the hostname. It also returns the finding about this.
func NotFoundRule(h model.ForeignHostname) (model.Rule, finding.Finding) {
	r := model.Rule{
		Conditions: []model.Condition{h.Host}, Actions: []model.Action{plan.NotFoundResponse},
		Origin: finding.Origin{Object: h.Object, Field: h.Field}, Member: h.Object,
	}
	return r, finding.Finding{
		Object: h.Object, Field: h.Field, Reason: h.Reason, Severity: finding.Error, Blocks: finding.BlocksNothing,
		Message: h.Message + "; requests for it are answered with 404", Fix: h.Fix,
	}
}

// refuseHostnames inserts a NotFoundRule before each held rule that needs one. Translation adds such rules only for objects
// that it can translate. A held rule may match other hostnames: its object may have lost the right to a hostname, or may be
// too large to be translated.
func (lr *Resolver) refuseHostnames(l *resolved.Listener) {
	if len(lr.foreignHostnames) == 0 {
		return
	}
	answered := AnsweredHostnames{}
	var out []resolved.Rule
	for _, p := range l.Rules {
		if p.RetainedRule != nil {
			for _, h := range lr.foreignHostnames[p.RetainedRule.ARN] {
				if answered.Has(h) {
					continue
				}
				r, f := NotFoundRule(h)
				r.Tags = owners.UserTags(p.RetainedRule.Tags)
				lr.Findings.Add(f)
				out = append(out, resolved.Rule{Desired: r, DesiredActions: r.Actions})
				answered.Add(r.Conditions)
			}
		}
		out = append(out, p)
		answered.Add(p.Desired.Conditions)
	}
	l.Rules = out
}
