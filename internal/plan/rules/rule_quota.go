package rules

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// RuleQuota shares the limited number of rules of a load balancer between namespaces.
type RuleQuota struct {
	*owners.TargetGroups
	*draft.Finalizers
	Keys owners.ConditionKeys
	LB   *resolved.LoadBalancer
}

// Resolve counts the rules of each namespace. If new rules exceed the quota, it chooses the existing rules that the new
// rules replace.
func (rp *RuleQuota) Resolve() {
	lb := rp.LB
	lb.RuleShares = plan.Shares{}
	full, namespaces := false, map[string]bool{}
	for _, l := range lb.Listeners {
		for i := range l.Rules {
			full = full || l.Rules[i].Desired.OverQuota
			namespaces[l.Rules[i].Desired.Member.Namespace] = true
		}
	}
	if full || len(namespaces) > 1 {
		open := rp.countShares()
		if full {
			rp.assignReplaceableRules(open)
			rp.omitRulesOverQuota()
		}
	}
}

// countShares counts the existing rules of a load balancer by namespace, and returns the existing rules that are not desired
// any more.
func (rp *RuleQuota) countShares() (open []*resolved.ReplaceableRule) {
	lb := rp.LB
	if lb.Live == nil {
		return nil
	}
	for j := range lb.Live.Listeners {
		live := &lb.Live.Listeners[j]
		for _, o := range rp.replaceableRules(live, lb.ListenerOnPort(live.Port)) {
			open = append(open, o)
			if len(o.Owners) > 0 {
				lb.RuleShares.AddToBeDeleted(o.Owners[0].Namespace)
			}
		}
	}
	return open
}

// ruleClaim is a desired rule that does not exist in AWS yet and counts against the quota when it is created.
type ruleClaim struct {
	*resolved.Rule
	port  int32
	shape *overlap.Shape
}

// assignReplaceableRules chooses the existing rules that new rules replace: first rules of the same namespace, then rules of
// unknown owners. New rules that AWS has not refused yet also get replaceable rules, so that refused rules get no
// precedence.
func (rp *RuleQuota) assignReplaceableRules(open []*resolved.ReplaceableRule) {
	var rules []ruleClaim
	for i := range rp.LB.Listeners {
		l := &rp.LB.Listeners[i]
		for j := range l.Rules {
			if p := &l.Rules[j]; !p.HasLiveRule && l.Planned {
				rules = append(rules, ruleClaim{p, l.Desired.Port, overlap.ShapeOf(p.Desired.Conditions)})
			}
		}
	}
	for _, o := range open {
		o.Shape = overlap.ShapeOf(o.Rule.Conditions)
	}
	here := func(p ruleClaim, o *resolved.ReplaceableRule) bool { return p.port == o.Port }
	own := func(p ruleClaim, o *resolved.ReplaceableRule) bool {
		return slices.Contains(o.Owners, p.Desired.Member)
	}
	related := func(p ruleClaim, o *resolved.ReplaceableRule) bool {
		return slices.ContainsFunc(o.Owners, func(r finding.Ref) bool { return r.Namespace == p.Desired.Member.Namespace })
	}
	unknown := func(_ ruleClaim, o *resolved.ReplaceableRule) bool { return o.Owners == nil }
	meets := func(p ruleClaim, o *resolved.ReplaceableRule) bool { return p.shape.Overlaps(o.Shape) }
	rp.assignRules(rules, open, criteria{here, own, meets})
	rp.assignRules(rules, open, criteria{here, own})
	rp.assignRules(rules, open, criteria{here, related, meets})
	rp.assignRules(rules, open, criteria{here, related})
	rp.assignRules(rules, open, criteria{own}, criteria{related})
	rp.assignRules(rules, open, criteria{here, unknown, meets}, criteria{here, unknown}, criteria{unknown})
}

// criteria is a list of conditions that a new rule and the existing rule that it replaces have to meet.
type criteria []func(p ruleClaim, o *resolved.ReplaceableRule) bool

// assignRules assigns replaceable rules to new rules that replace no rule yet, in the order of the shares of their
// namespaces. best has lists of criteria in descending order of preference. For each list in turn, a new rule gets an
// existing rule that meets all criteria of the list, if there is one.
func (rp *RuleQuota) assignRules(rules []ruleClaim, open []*resolved.ReplaceableRule, best ...criteria) {
	slices.SortStableFunc(rules, func(x, y ruleClaim) int { return x.rankByAssignment() - y.rankByAssignment() })
	claims := make([]string, len(rules))
	for i, p := range rules {
		claims[i] = p.Desired.Member.Namespace
	}
	for _, n := range plan.OrderClaims(rp.LB.RuleShares, claims) {
		p := rules[n]
		for _, all := range best {
			at := -1
			if p.ReplacedRule == nil {
				at = slices.IndexFunc(open, func(o *resolved.ReplaceableRule) bool {
					return !o.HasReplacement && !slices.ContainsFunc(all, func(is func(p ruleClaim, o *resolved.ReplaceableRule) bool) bool { return !is(p, o) })
				})
			}
			if at >= 0 {
				open[at].HasReplacement, p.ReplacedRule = true, open[at]
			}
		}
	}
}

// rankByAssignment returns 1 if the new rule replaces no existing rule yet, and 0 otherwise.
func (p ruleClaim) rankByAssignment() int {
	if p.ReplacedRule == nil {
		return 1
	}
	return 0
}

// replaceableRules returns the rules of an existing listener that are not desired any more, and sets HasLiveRule of the
// desired rules that exist. desired is the desired listener; nil if the listener is not desired.
func (rp *RuleQuota) replaceableRules(live *observed.Listener, desired *resolved.Listener) (out []*resolved.ReplaceableRule) {
	lb := rp.LB
	byKey, byARN := map[string][]*resolved.Rule{}, map[string]*resolved.Rule{}
	deleted := plan.StepID("")
	if desired == nil {
		deleted = plan.NewStepID("delete", plan.Address{Kind: plan.Listener, ID: live.ARN})
	} else {
		for j := range desired.Rules {
			p := &desired.Rules[j]
			if p.RetainedRule != nil {
				byARN[p.RetainedRule.ARN] = p
				continue
			}
			byKey[p.ConditionsKey()] = append(byKey[p.ConditionsKey()], p)
		}
	}
	for j := range live.Rules {
		r := &live.Rules[j]
		of := rp.ActionOwners(r.Actions)
		p := byARN[r.ARN]
		if key := rp.Keys.KeyOf(r); p == nil {
			d := deletedRule{owners: of}
			if at := slices.IndexFunc(byKey[key], func(p *resolved.Rule) bool { return !p.HasLiveRule && d.hasOwnerInNamespace(p.Desired.Member) }); at >= 0 {
				p = byKey[key][at]
			}
		}
		switch {
		case p != nil:
			p.HasLiveRule = true
			lb.RuleShares.AddRetained(p.Desired.Member.Namespace)
		case desired != nil && (!desired.Planned || desired.Desired.OrderHeld != 0):
			// The rule is retained or may have to be retained, so that it cannot be replaced.
		default:
			if of == nil {
				of = rp.ActionOwnersByID(r.Actions, lb.Members()...)
			}
			o := &resolved.ReplaceableRule{Rule: r, Port: live.Port, Owners: of, DeletionStep: deleted}
			if deleted == "" {
				o.DeletionStep = plan.NewStepID("delete", plan.RuleAddress(r.ARN))
			}
			out = append(out, o)
		}
	}
	return out
}

// omitRulesOverQuota removes from each listener the new rules that exceed the quota. It moves a rule that replaces an
// existing rule of another listener to RulesAwaitingQuota.
func (rp *RuleQuota) omitRulesOverQuota() {
	lb := rp.LB
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		var rest []resolved.Rule
		for _, p := range l.Rules {
			switch {
			case !p.Desired.OverQuota:
				p.ReplacedRule = nil // AWS has not refused the rule
				rest = append(rest, p)
			case p.HasLiveRule || !l.Planned || p.ReplacedRule != nil && p.ReplacedRule.Port == l.Desired.Port:
				rest = append(rest, p)
			case p.ReplacedRule != nil && l.Live != nil:
				l.RulesAwaitingQuota = append(l.RulesAwaitingQuota, p)
			default:
				l.OmittedRules = append(l.OmittedRules, p)
				rp.recordRuleOverQuota(l, p)
			}
		}
		l.Rules = rest
	}
}

func (rp *RuleQuota) recordRuleOverQuota(l *resolved.Listener, p resolved.Rule) {
	if rp.Plan.RulesOverQuota == nil {
		rp.Plan.RulesOverQuota = map[model.RuleKey]bool{}
	}
	rp.Plan.RulesOverQuota[p.Desired.Key(l.Desired.Port)] = true
}

// planReplacedRuleMoves plans to move the existing rules that are modified to become new rules to the priorities of these
// new rules.
func (r *rulePlanner) planReplacedRuleMoves() []plan.StepID {
	to := map[plan.Address]int32{}
	for _, w := range r.set.desired {
		if w.replaces != nil && w.createAt != w.replaces.Priority {
			to[plan.RuleAddress(w.replaces.ARN)] = w.createAt
		}
	}
	if len(to) == 0 {
		return nil
	}
	id := r.setPriorities("move-replaced-rules", to, plan.Wait{}, slices.Clone(r.listenerSteps))
	r.steps = append(r.steps, id)
	return []plan.StepID{id}
}

// replaceRule plans to modify an existing rule so that it becomes the desired rule that replaces it.
func (r *rulePlanner) replaceRule(w *ruleChange, after []plan.StepID) plan.StepID {
	a, was := r.ruleAddress(w), w.replaces
	id := r.Add(plan.Step{
		ID: plan.NewStepID("modify", a), Address: a, Verb: plan.Update, Impact: plan.BriefImpact,
		Do: plan.ModifyRule{Rule: a, Conditions: w.rule.Desired.Conditions, Actions: w.actions, Transforms: w.transforms},
		Changes: []plan.Change{
			{Path: "conditions", From: plan.ConditionsText(was.Conditions), To: plan.ConditionsText(w.rule.Desired.Conditions)},
			{Path: "actions", From: plan.ActionsText(was.Actions), To: plan.ActionsText(w.actions)},
		},
		Why: "the old and the new rule together exceed a quota, so the old rule is changed in place; " + ruleReason(w), After: after, RequestedBy: r.affectedMembers(w), Rule: r.ruleKey(w),
	})
	r.RecordFreeingStep(was.Actions, id)
	return id
}

// PlanRulesAwaitingQuota plans the rules that replace a rule of another listener, after that rule is deleted. The next plan
// moves the new rules to their priorities.
func (rp *RuleQuota) PlanRulesAwaitingQuota(groups map[string][]plan.StepID) {
	lb := rp.LB
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		if len(l.RulesAwaitingQuota) == 0 {
			continue
		}
		used := map[int32]bool{}
		for _, r := range l.Live.Rules {
			used[r.Priority] = true
		}
		for _, s := range rp.Plan.Steps {
			switch do := s.Do.(type) {
			case plan.CreateRule:
				used[do.Priority] = used[do.Priority] || do.Listener == l.Address()
			case plan.SetPriorities:
				for _, p := range do.Priorities {
					used[p] = true
				}
			}
		}
		for _, p := range l.RulesAwaitingQuota {
			if !rp.IsStepPlanned(p.ReplacedRule.DeletionStep) {
				rp.recordRuleOverQuota(l, p)
				continue
			}
			at := nextFreePriority(used, stagePriority)
			used[at] = true
			a, rule := plan.Address{Kind: plan.Rule, ID: naming.RuleID(l.Desired.Port, at)}, p.Desired
			rp.Add(plan.Step{
				ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create,
				Do:  plan.CreateRule{Listener: l.Address(), Priority: at, Rule: rule, Tags: rp.RuleTags(rp.Tags(a.ID, rule.Tags))},
				Why: "the old and the new rule together exceed a quota, so the old rule is deleted first; from " + rule.Origin.String(), Impact: plan.BriefImpact, RequestedBy: []finding.Ref{rule.Member}, Rule: rule.Key(l.Desired.Port),
				After: slices.Concat([]plan.StepID{p.ReplacedRule.DeletionStep}, rp.ClaimStepsOf(rule.Member), TargetGroupSteps(rule.Actions, groups)),
			})
		}
	}
}
