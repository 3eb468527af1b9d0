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
	keys owners.ConditionKeys
	lb   *resolved.LoadBalancer
}

// NewRuleQuota returns the RuleQuota of a load balancer.
func NewRuleQuota(tg *owners.TargetGroups, f *draft.Finalizers, keys owners.ConditionKeys, lb *resolved.LoadBalancer) *RuleQuota {
	return &RuleQuota{tg, f, keys, lb}
}

// Resolve counts the rules of each namespace. If AWS has no room for new rules, it chooses the live rules that
// they replace.
func (rp *RuleQuota) Resolve() {
	lb := rp.lb
	lb.RuleShares = draft.Shares{}
	full, namespaces := false, map[string]bool{}
	for _, l := range lb.Listeners {
		for i := range l.Rules {
			full = full || l.Rules[i].Desired.NoRoom
			namespaces[l.Rules[i].Desired.Member.Namespace] = true
		}
	}
	if full || len(namespaces) > 1 {
		open := rp.countShares()
		if full {
			rp.assignReplaceableRules(open)
			rp.omitOverCapacity()
		}
	}
}

// countShares counts the live rules of a load balancer by namespace, and returns those that are not desired any more.
func (rp *RuleQuota) countShares() (open []*resolved.ReplaceableRule) {
	lb := rp.lb
	if lb.Live == nil {
		return nil
	}
	for j := range lb.Live.Listeners {
		live := &lb.Live.Listeners[j]
		i := slices.IndexFunc(lb.Listeners, func(l resolved.Listener) bool { return l.Desired.Port == live.Port })
		for _, o := range rp.replaceableRules(live, i) {
			open = append(open, o)
			if len(o.Owners) > 0 {
				lb.RuleShares.AddLeaving(o.Owners[0].Namespace)
			}
		}
	}
	return open
}

// ruleClaim is a desired rule that does not exist in AWS and that the quota must have room for.
type ruleClaim struct {
	*resolved.Rule
	port  int32
	shape *overlap.Shape
}

// assignReplaceableRules chooses the live rules that new rules replace: first rules of the same namespace, then
// rules of unknown owners. Rules that AWS has not refused yet take part, so that refused rules get no precedence.
func (rp *RuleQuota) assignReplaceableRules(open []*resolved.ReplaceableRule) {
	var rules []ruleClaim
	for i := range rp.lb.Listeners {
		l := &rp.lb.Listeners[i]
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
	rp.assign(rules, open, criteria{here, own, meets})
	rp.assign(rules, open, criteria{here, own})
	rp.assign(rules, open, criteria{here, related, meets})
	rp.assign(rules, open, criteria{here, related})
	rp.assign(rules, open, criteria{own}, criteria{related})
	rp.assign(rules, open, criteria{here, unknown, meets}, criteria{here, unknown}, criteria{unknown})
}

// criteria is a list of conditions that a new rule and the live rule that it replaces have to meet.
type criteria []func(p ruleClaim, o *resolved.ReplaceableRule) bool

// assign assigns replaceable rules to new rules that have none, ordered by shares. A new rule gets the first rule
// that meets all conditions of the earliest list in best.
func (rp *RuleQuota) assign(rules []ruleClaim, open []*resolved.ReplaceableRule, best ...criteria) {
	slices.SortStableFunc(rules, func(x, y ruleClaim) int { return x.rankByAssignment() - y.rankByAssignment() })
	claims := make([]string, len(rules))
	for i, p := range rules {
		claims[i] = p.Desired.Member.Namespace
	}
	for _, n := range draft.OrderClaims(rp.lb.RuleShares, claims) {
		p := rules[n]
		for _, all := range best {
			at := -1
			if p.Replaces == nil {
				at = slices.IndexFunc(open, func(o *resolved.ReplaceableRule) bool {
					return !o.Taken && !slices.ContainsFunc(all, func(is func(p ruleClaim, o *resolved.ReplaceableRule) bool) bool { return !is(p, o) })
				})
			}
			if at >= 0 {
				open[at].Taken, p.Replaces = true, open[at]
			}
		}
	}
}

// rankByAssignment returns 1 if the new rule replaces no live rule yet, and 0 otherwise.
func (p ruleClaim) rankByAssignment() int {
	if p.Replaces == nil {
		return 1
	}
	return 0
}

// replaceableRules returns the rules of a live listener that are not desired any more, and sets HasLiveRule of the
// desired rules that exist. i is the index of the desired listener; it is negative if the listener is not desired.
func (rp *RuleQuota) replaceableRules(live *observed.Listener, i int) (out []*resolved.ReplaceableRule) {
	lb := rp.lb
	byKey, byARN := map[string][]*resolved.Rule{}, map[string]*resolved.Rule{}
	deleted := plan.StepID("")
	if i < 0 {
		deleted = plan.NewStepID("delete", plan.Address{Kind: plan.Listener, ID: live.ARN})
	} else {
		for j := range lb.Listeners[i].Rules {
			p := &lb.Listeners[i].Rules[j]
			if p.Kept != nil {
				byARN[p.Kept.ARN] = p
				continue
			}
			byKey[p.ConditionsKey()] = append(byKey[p.ConditionsKey()], p)
		}
	}
	for j := range live.Rules {
		r := &live.Rules[j]
		of := rp.OwnersOf(r.Actions)
		p := byARN[r.ARN]
		if key := rp.keys.Of(r); p == nil {
			d := deletedRule{owners: of}
			if at := slices.IndexFunc(byKey[key], func(p *resolved.Rule) bool { return !p.HasLiveRule && d.hasOwnerInNamespace(p.Desired.Member) }); at >= 0 {
				p = byKey[key][at]
			}
		}
		switch {
		case p != nil:
			p.HasLiveRule = true
			lb.RuleShares.AddStaying(p.Desired.Member.Namespace)
		case i >= 0 && (!lb.Listeners[i].Planned || lb.Listeners[i].Desired.OrderHeld != 0):
			// The rule is retained, or may have to be retained.
		default:
			if of == nil {
				of = rp.OwnersByID(r.Actions, lb.Members()...)
			}
			o := &resolved.ReplaceableRule{Rule: r, Port: live.Port, Owners: of, DeletedBy: deleted}
			if deleted == "" {
				o.DeletedBy = plan.NewStepID("delete", plan.RuleAddress(r.ARN))
			}
			out = append(out, o)
		}
	}
	return out
}

// omitOverCapacity removes from each listener the new rules that AWS has no room for. It moves a rule that
// replaces one of another listener to AwaitingRoom.
func (rp *RuleQuota) omitOverCapacity() {
	lb := rp.lb
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		var rest []resolved.Rule
		for _, p := range l.Rules {
			switch {
			case !p.Desired.NoRoom:
				p.Replaces = nil // AWS has not refused it
				rest = append(rest, p)
			case p.HasLiveRule || !l.Planned || p.Replaces != nil && p.Replaces.Port == l.Desired.Port:
				rest = append(rest, p)
			case p.Replaces != nil && l.Live != nil:
				l.AwaitingRoom = append(l.AwaitingRoom, p)
			default:
				l.Omitted = append(l.Omitted, p)
				rp.noteOverCapacity(l, p)
			}
		}
		l.Rules = rest
	}
}

func (rp *RuleQuota) noteOverCapacity(l *resolved.Listener, p resolved.Rule) {
	if rp.Plan.OverCapacity == nil {
		rp.Plan.OverCapacity = map[model.RuleKey]bool{}
	}
	rp.Plan.OverCapacity[p.Desired.Key(l.Desired.Port)] = true
}

// planReplacedRules moves live rules that are replaced because AWS has no room to the priorities of the rules that replace
// them.
func (r *rulePlanner) planReplacedRules() []plan.StepID {
	to := map[plan.Address]int32{}
	for _, w := range r.set.desired {
		if w.replaces != nil && w.createAt != w.replaces.Priority {
			to[plan.RuleAddress(w.replaces.ARN)] = w.createAt
		}
	}
	if len(to) == 0 {
		return nil
	}
	id := r.setPriorities("vacate", to, plan.Wait{}, slices.Clone(r.listener))
	r.steps = append(r.steps, id)
	return []plan.StepID{id}
}

// replaceRule modifies the live rule that a desired one replaces.
func (r *rulePlanner) replaceRule(w *ruleChange, after []plan.StepID) plan.StepID {
	a, was := r.address(w), w.replaces
	id := r.Add(plan.Step{
		ID: plan.NewStepID("modify", a), Address: a, Verb: plan.Update, Impact: plan.BriefImpact,
		Do: plan.ModifyRule{Rule: a, Conditions: w.rule.Desired.Conditions, Actions: w.actions, Transforms: w.transforms},
		Changes: []plan.Change{
			{Path: "conditions", From: plan.ConditionsText(was.Conditions), To: plan.ConditionsText(w.rule.Desired.Conditions)},
			{Path: "actions", From: plan.ActionsText(was.Actions), To: plan.ActionsText(w.actions)},
		},
		Why: "a quota has no room for both; " + ruleReason(w), After: after, Blames: r.affectedMembers(w), Rule: r.key(w),
	})
	r.NoteFreed(was.Actions, id)
	return id
}

// PlanAwaitingRoom plans the rules that replace a rule of another listener, after that rule is deleted. The next
// plan moves them to their priorities.
func (rp *RuleQuota) PlanAwaitingRoom(groups map[string][]plan.StepID) {
	lb := rp.lb
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		if len(l.AwaitingRoom) == 0 {
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
		for _, p := range l.AwaitingRoom {
			if !rp.Planned(p.Replaces.DeletedBy) {
				rp.noteOverCapacity(l, p)
				continue
			}
			at := nextFreePriority(used, stagePriority)
			used[at] = true
			a, rule := plan.Address{Kind: plan.Rule, ID: naming.RuleID(l.Desired.Port, at)}, p.Desired
			rp.Add(plan.Step{
				ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create,
				Do:  plan.CreateRule{Listener: l.Address(), Priority: at, Rule: rule, Tags: rp.RuleTags(rp.Tags(a.ID, rule.Tags))},
				Why: "a quota has no room for both; from " + rule.Origin.String(), Impact: plan.BriefImpact, Blames: []finding.Ref{rule.Member}, Rule: rule.Key(l.Desired.Port),
				After: slices.Concat([]plan.StepID{p.Replaces.DeletedBy}, rp.ClaimStepsOf(rule.Member), GroupSteps(rule.Actions, groups)),
			})
		}
	}
}
