package rules

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// stagePriority is the lowest priority number of staged rules, which come after all other rules.
const stagePriority = 40000

// stageRules decides which new rules are staged until their targets are healthy: those that would take requests from
// existing rules with healthy targets. A new rule whose requests the default action answers first gets the target groups of
// the default action. An existing rule that only moves does not wait.
func (ro *Rollout) stageRules() {
	if ro.Listener.Live == nil {
		return
	}
	ro.set.indexes, ro.set.memberIndexes = nil, nil
	for _, w := range ro.set.desired {
		w.stagedWait = plan.Wait{}
	}
	ro.splitShadowedChanges()
	for i, w := range ro.set.desired {
		if equal.ForwardOf(w.rule.Desired.Actions) == nil {
			continue
		}
		if !w.isNewOrStagedEarlier() {
			ro.delayShadowedChange(i)
			continue
		}
		if w.replaces != nil {
			continue // the replaced rule answers requests until it is modified
		}
		if w.live == nil && !w.rule.IsHeld() && !w.rule.Desired.InPlace {
			w.actions, w.actionsWait = ro.interimActions(w, ro.creatableDefaultActions())
			w.transforms = w.rule.Desired.Transforms
			if w.actionsWait.For != "" {
				w.transforms = nil // default actions have no transforms
			}
		}
		w.stagedWait = ro.shadowedWait(i)
	}
	ro.set.stageLaterRules()
}

// creatableDefaultActions returns the existing default actions in the form in which a new rule can have them. AWS does not
// return client secrets, and a new rule has none yet, so that the result has the secret of the desired default actions. The
// result is nil if the secret is not known.
func (ro *Rollout) creatableDefaultActions() []model.Action {
	out := slices.Clone(ro.Listener.Live.Default)
	for i, have := range out {
		if _, ok := have.(model.AuthOIDC); !ok {
			continue
		}
		at := slices.IndexFunc(ro.Listener.DefaultActions, func(want model.Action) bool {
			oidc, ok := want.(model.AuthOIDC)
			return ok && oidc.ClientSecret != "" && equal.SameActions([]model.Action{want}, []model.Action{have}, ro.TargetGroupARN)
		})
		if at < 0 {
			return nil
		}
		out[i] = ro.Listener.DefaultActions[at]
	}
	return out
}

// splitShadowedChanges replaces the change of an existing rule by a new rule and a deletion in two cases. Either the change
// would have to wait, because earlier rules answer the requests of the rule now, or AWS does not accept the current and the
// desired target groups in one rule. The new rule is created after all others, because AWS checks only target groups to
// which a rule forwards.
func (ro *Rollout) splitShadowedChanges() {
	if ro.Listener.Desired.OrderHeld != 0 {
		return
	}
	var shadowed []*ruleChange
	for i, w := range ro.set.desired {
		if equal.ForwardOf(w.rule.Desired.Actions) == nil || w.isNewOrStagedEarlier() || !w.isModified || w.actionsWait.For != "" || w.rule.Desired.InPlace || w.rule.ChangesInOneStep() {
			continue
		}
		if ro.shadowedWait(i).For != "" || ro.CannotShareRule(w.rule.Desired.Actions, w.live.Actions) {
			shadowed = append(shadowed, w)
		}
	}
	ro.set.splitChanges(shadowed)
}

// delayShadowedChange delays the change of an existing rule that moves at the same time and would take requests from rules
// with healthy targets. It applies to changes that splitShadowedChanges cannot split, because the quota does not permit an
// additional rule, or AWS refuses to reorder rules.
func (ro *Rollout) delayShadowedChange(i int) {
	w := ro.set.desired[i]
	if !w.isModified || w.actionsWait.For != "" || w.rule.Desired.InPlace {
		return
	}
	if wait := ro.shadowedWait(i); wait.For != "" {
		w.actionsWait, w.isModified, w.actions, w.transforms = wait, false, w.live.Actions, w.live.Transforms
	}
}

// stageLaterRules stages new rules that come after a staged rule of the same member and overlap with it. If they were not
// staged, they would answer requests that both rules match.
func (s *ruleSet) stageLaterRules() {
	const rounds = 8 // maximum length of a chain of rules that are staged because of each other
	below := s.indexesWhere(isStaged)
	for round := 0; len(below) > 0; round++ {
		first := s.indexByMember(below)
		below = nil
		for i, me := range s.desired {
			if isStaged(me) || !me.isNewOrStagedEarlier() {
				continue
			}
			of := first[me.member]
			if of == nil {
				continue
			}
			n, found := of.FindOverlapWhere(me.shape, overlap.SpanBefore(i), func(n int32) bool {
				o := s.desired[n]
				return me.live == nil || o.live != nil && me.live.Priority > o.live.Priority
			})
			if found {
				me.stagedWait = s.desired[n].stagedWait
				below = append(below, int32(i))
			}
		}
		if round == rounds {
			return
		}
	}
}

// indexByMember returns an index of desired rules for each member.
func (s *ruleSet) indexByMember(numbers []int32) map[finding.Ref]*overlap.Index {
	lists := map[finding.Ref][]int32{}
	for _, n := range numbers {
		m := s.desired[n].member
		lists[m] = append(lists[m], n)
	}
	out := map[finding.Ref]*overlap.Index{}
	for m, list := range lists {
		out[m] = overlap.NewIndex(list, s.desiredShape)
	}
	return out
}

// shadowedWait returns the wait of a rule whose targets are not healthy and whose requests are still answered by existing
// rules that will be moved after it or deleted. The result for all other rules is the zero Wait.
func (ro *Rollout) shadowedWait(i int) plan.Wait {
	me := ro.set.desired[i]
	old, shadowed, all := ro.set.answeringTargetGroups(i)
	if shadowed && me.actionsWait.For != "" {
		// The interim actions of the rule are those of the default action, which must not answer requests of other rules.
		return me.actionsWait
	}
	if len(old) == 0 {
		return plan.Wait{}
	}
	pending := ro.PendingTargetGroups(me.rule.Desired.Actions, old, ro.IsReady)
	if len(pending) == 0 || ro.IsHealthReadDone(pending) && all && !ro.HasServingTargetGroup(old) {
		return plan.Wait{}
	}
	return ro.ruleWait(me, pending)
}

// answeringTargetGroups returns target groups of existing rules that may match the same requests as the desired rule with
// index i, and that come before this rule now but not in the desired order. shadowed reports whether there are such rules.
// all reports whether the result has the target groups of all of them.
func (s *ruleSet) answeringTargetGroups(i int) (out []string, shadowed, all bool) {
	const enough = 32
	me := s.desired[i]
	before := func(o *observed.Rule) bool { return me.live == nil || o.Priority < me.live.Priority }
	note := func(o *observed.Rule) {
		shadowed = true
		for _, g := range model.ForwardedTargetGroups(o.Actions) {
			out = append(out, g.Group.ARN)
		}
	}
	later, all := s.index("live", isLive).FindOverlaps(me.shape, overlap.SpanAfter(i), enough, func(n int32) bool { return before(s.desired[n].live) })
	for _, n := range later {
		note(s.desired[n].live)
	}
	gone, allGone := s.deletedIndex().FindOverlaps(me.shape, overlap.AllRules, enough, func(n int32) bool { return before(&s.deleted[n].Rule) })
	for _, n := range gone {
		note(&s.deleted[n].Rule)
	}
	return out, shadowed, all && allGone
}

// ruleWait returns the wait of a rule for its targets. If the deadline has passed, it adds a finding and returns the zero
// Wait.
func (ro *Rollout) ruleWait(w *ruleChange, pending []model.TargetGroupRef) plan.Wait {
	return ro.AwaitTargets(ruleWaitKey(ro.Listener, w), "healthy targets", pending, w.rule.Desired.Origin, affectedMembersOf(ro.Listener, w), w.rule.Desired.Text(ro.Listener.Desired.Port))
}

// ruleWaitKey identifies the wait of a rule by its member, conditions and target groups.
func ruleWaitKey(l *resolved.Listener, w *ruleChange) string {
	to := ""
	for _, g := range model.ForwardedTargetGroups(w.rule.Desired.Actions) {
		to += " " + equal.TargetGroupRefText(g.Group)
	}
	return draft.WaitKey("rule", fmt.Sprint(l.Desired.Port), w.rule.Desired.Member.String(), w.rule.ConditionsKey(), to)
}

func affectedMembersOf(l *resolved.Listener, w *ruleChange) []finding.Ref {
	if w.rule.Desired.Member.IsZero() {
		return l.Desired.Members
	}
	return []finding.Ref{w.rule.Desired.Member}
}

// choosePriorities chooses the priorities at which new rules are created.
func (s *ruleSet) choosePriorities(live []observed.Rule) {
	used := map[int32]bool{}
	bottom := int32(len(s.desired))
	for _, o := range live {
		used[o.Priority] = true
		bottom = max(bottom, o.Priority)
	}
	lowest := s.lowestPrioritiesAfter()
	highest := int32(0) // highest priority number of the preceding rules that are not staged
	for i, n := range s.desired {
		switch {
		case n.live != nil:
		case n.replaces != nil && n.stagedWait.For == "" && highest < n.replaces.Priority && lowest[i] > n.replaces.Priority:
			n.createAt = n.replaces.Priority
		case n.stagedWait.For != "":
			n.createAt = nextFreePriority(used, max(stagePriority, bottom+1))
			bottom = n.createAt
		case n.replaces == nil && !used[n.priority] && highest < n.priority && lowest[i] > n.priority:
			n.createAt = n.priority
		default:
			n.createAt = nextFreePriority(used, bottom+1)
			bottom = n.createAt
		}
		used[n.currentPriority()] = true
		if n.stagedWait.For == "" {
			highest = max(highest, n.currentPriority())
		}
	}
}

// lowestPrioritiesAfter returns, for each desired rule, the lowest current priority number among the desired rules after it;
// MaxPriority+1 if no rule after it exists in AWS.
func (s *ruleSet) lowestPrioritiesAfter() []int32 {
	out := make([]int32, len(s.desired))
	lowest := int32(MaxPriority + 1)
	for i, w := range slices.Backward(s.desired) {
		out[i] = lowest
		if w.live != nil {
			lowest = min(lowest, w.live.Priority)
		}
	}
	return out
}

// nextFreePriority returns the lowest priority that no rule has, beginning with from.
func nextFreePriority(used map[int32]bool, from int32) int32 {
	for used[from] {
		from++
	}
	return from
}
