package rules

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
)

// As long as AWS refuses to reorder the rules of a listener, the plan has only changes that need no change of priorities.
// Rules that are in order are modified, and new rules are created if a priority is free between the rules before and after
// them. All other rules are not changed. Every request gets its answer before or after the change, and repeated attempts do
// not create more rules.

// planWithoutReordering plans the rules of a listener without changing priorities.
func (ro *Rollout) planWithoutReordering() {
	blocked := ro.set.rulesOutOfOrder() // by index of the desired rule: set if its existing rule cannot be changed now
	used := map[int32]bool{}
	if ro.Listener.Live != nil {
		for _, o := range ro.Listener.Live.Rules {
			used[o.Priority] = true
		}
	}
	var absent []*ruleChange
	for i, w := range ro.set.desired {
		overlapsAbsent := slices.ContainsFunc(absent, func(o *ruleChange) bool { return o.shape.Overlaps(w.shape) })
		if w.live == nil {
			p := ro.set.freePriority(i, used, blocked)
			if p == 0 || overlapsAbsent || w.stagedWait.For != "" {
				absent = append(absent, w)
				continue
			}
			w.createAt, w.priority, used[p] = p, p, true
			continue
		}
		w.priority, w.stagedWait = w.live.Priority, plan.Wait{}
		if blocked[i] || overlapsAbsent {
			blocked[i] = blocked[i] || w.isModified || w.actionsWait.For != ""
			w.isModified, w.actionsWait, w.actions, w.transforms = false, plan.Wait{}, w.live.Actions, w.live.Transforms
		}
	}
	ro.retainRulesUntilAnswered(blocked, absent, ro.retainDefaultUntilAnswered(absent))
	var rest []*ruleChange
	for _, w := range ro.set.desired {
		if w.live != nil || w.createAt != 0 {
			rest = append(rest, w)
		}
	}
	ro.set.desired, ro.set.indexes, ro.set.memberIndexes = rest, nil, nil
}

// rulesOutOfOrder reports, for each desired rule, whether its existing rule and another existing rule that may match the
// same requests are in the wrong order.
func (s *ruleSet) rulesOutOfOrder() []bool {
	out := make([]bool, len(s.desired))
	live := s.index("live", isLive)
	for i, x := range s.desired {
		if x.live != nil {
			live.EachOverlap(x.shape, overlap.SpanAfter(i), func(j int32) bool {
				if x.live.Priority > s.desired[j].live.Priority {
					out[i], out[j] = true, true
				}
				return true
			})
		}
	}
	return out
}

// freePriority returns a free priority for the i-th rule between those of the rules that may match the same requests;
// 0 if there is none.
func (s *ruleSet) freePriority(i int, used map[int32]bool, blocked []bool) int32 {
	me := s.desired[i]
	low, high := int32(0), int32(MaxPriority+1)
	for j, o := range s.desired {
		if j == i || o.currentPriority() == 0 || !o.shape.Overlaps(me.shape) {
			continue
		}
		switch {
		case blocked[j]:
			return 0
		case j < i:
			low = max(low, o.currentPriority())
		default:
			high = min(high, o.currentPriority())
		}
	}
	p := max(low+1, min(me.priority, high-1))
	for p < high && used[p] {
		p++
	}
	if p >= high {
		p = low + 1
		for p < high && used[p] {
			p++
		}
	}
	if p >= high || p > MaxPriority {
		return 0
	}
	return p
}

// retainDefaultUntilAnswered retains the existing default action if a member to which it belongs has a desired rule that
// cannot be created. The default action answers the requests for this rule now. If it changed, they would get neither their
// old nor their new answer. If the desired default action comes from another namespace, the existing default action is not
// retained. The result has the owners of the default action if it is retained.
func (ro *Rollout) retainDefaultUntilAnswered(absent []*ruleChange) []finding.Ref {
	if ro.Listener.Live == nil {
		return nil
	}
	live := ro.Listener.Live.Default
	if equal.ForwardOf(live) == nil || equal.SameActions(ro.Listener.DefaultActions, live, ro.TargetGroupARN) {
		return nil
	}
	d := deletedRule{owners: ro.ownersOf(observed.Rule{Actions: live})}
	if d.owners == nil || !d.hasOwnerInNamespace(ro.Listener.Desired.DefaultOf.Object) || !slices.ContainsFunc(absent, func(o *ruleChange) bool { return d.hasOwner(o.member) }) {
		return nil
	}
	ro.Listener.InterimDefaultActions, ro.Listener.DefaultActionWait = live, plan.Wait{}
	ro.RetainTargetGroups(live)
	return d.owners
}

// retainRulesUntilAnswered retains rules that are not desired any more if requests that they match would otherwise get
// neither their old nor their new answer. This is the case if the desired rule for these requests cannot be created, or if
// another retained rule would answer them. A rule that gets no requests is deleted. A rule that would be retained only for
// rules of other namespaces is also deleted. defaultOwners are the owners of the default action if it is retained: the
// default action must not answer requests of deleted rules of these owners.
func (ro *Rollout) retainRulesUntilAnswered(blocked []bool, absent []*ruleChange, defaultOwners []finding.Ref) {
	var rest, staying []*deletedRule
	for _, d := range slices.Backward(ro.set.deleted) {
		overlapsOwnRule := func(o *ruleChange) bool { return d.hasOwnerInNamespace(o.member) && o.shape.Overlaps(d.shape) }
		mustRetain := slices.ContainsFunc(absent, overlapsOwnRule) || d.owners != nil && slices.ContainsFunc(defaultOwners, d.hasOwner) && !ro.set.isAnswered(d) ||
			slices.ContainsFunc(staying, func(o *deletedRule) bool { return d.mayShareNamespace(o) && o.shape.Overlaps(d.shape) })
		for i, w := range ro.set.desired {
			mustRetain = mustRetain || blocked[i] && overlapsOwnRule(w)
		}
		if mustRetain && !ro.set.isCovered(d) {
			ro.RetainTargetGroups(d.Actions)
			staying = append(staying, d)
			continue
		}
		rest = append(rest, d)
	}
	slices.Reverse(rest)
	ro.set.deleted = rest
}

// isAnswered reports whether a desired rule that exists in AWS, with any precedence, matches all requests of a rule to be
// deleted.
func (s *ruleSet) isAnswered(d *deletedRule) bool {
	return slices.ContainsFunc(s.desired, func(w *ruleChange) bool { return w.live != nil && coversConditions(w.live, d.Conditions) })
}

// isCovered reports whether a desired rule that exists in AWS with higher precedence matches all requests of a rule to be
// deleted.
func (s *ruleSet) isCovered(d *deletedRule) bool {
	return slices.ContainsFunc(s.desired, func(w *ruleChange) bool {
		return w.live != nil && w.live.Priority < d.Priority && coversConditions(w.live, d.Conditions)
	})
}

// coversConditions reports whether an existing rule matches every request that conditions match, by hosts and paths. If that
// cannot be determined, it returns false.
func coversConditions(o *observed.Rule, cs []model.Condition) bool {
	if equal.SameConditions(o.Conditions, cs) {
		return true
	}
	for _, c := range o.Conditions {
		switch c := c.(type) {
		case model.HostHeader:
			if len(c.Regex) > 0 {
				return false
			}
		case model.PathPattern:
			if len(c.Regex) > 0 {
				return false
			}
		default:
			return false
		}
	}
	return overlap.ShapeOf(o.Conditions).Covers(overlap.ShapeOf(cs))
}
