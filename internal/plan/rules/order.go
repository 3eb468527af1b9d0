package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
)

// retainRulesUntilTakenOver decides which of the rules to be deleted are retained for now, because the rule or default action
// that will answer their requests waits for its targets. Each rule waits separately, at most until its own deadline, even if
// other rules change in the meantime.
func (ro *Rollout) retainRulesUntilTakenOver() {
	waiting := ro.set.index("waiting", isWaiting)
	var staying []int32
	for i, d := range slices.Backward(ro.set.deleted) {
		what, own := ro.takeOverWait(d, waiting)
		for _, n := range staying {
			// If d were deleted, its requests would go to another retained rule of the same member, which comes after d.
			if o := ro.set.deleted[n]; !(own && what.For != "") && d.mayShareOwner(o) && d.shape.Overlaps(o.shape) {
				what, own = cmp.Or(what, o.wait), true
			}
		}
		// A rule without healthy targets is only retained for changes of its own member.
		if what.For == "" || !own && !ro.ActionsServe(d.Actions) {
			continue
		}
		if d.wait = ro.NewWait(draft.WaitKey("delete", d.ARN), what.For, what.Deadline); d.wait.For != "" {
			staying = append(staying, int32(i))
		}
	}
}

// mayShareOwner reports whether two rules may belong to the same member.
func (d *deletedRule) mayShareOwner(o *deletedRule) bool {
	return d.owners == nil || o.owners == nil || slices.ContainsFunc(d.owners, o.hasOwner)
}

// mayShareNamespace reports whether two rules may belong to members of the same namespace.
func (d *deletedRule) mayShareNamespace(o *deletedRule) bool {
	return d.owners == nil || o.owners == nil || slices.ContainsFunc(d.owners, o.hasOwnerInNamespace)
}

// takeOverWait returns the wait before the deletion of a rule: a desired rule or a default action that will answer the
// requests of the deleted rule still waits for its targets. own reports whether this rule or default action may belong to
// the same member as the deleted rule. Rules of another namespace do not delay a deletion, because their owners could delay
// it repeatedly.
func (ro *Rollout) takeOverWait(d *deletedRule, waiting *overlap.Index) (what plan.Wait, own bool) {
	var n int32
	found := false
	for _, m := range d.owners {
		if n, found = ro.set.memberIndex("waiting", m, isWaiting).FindOverlap(d.shape, overlap.AllRules); found {
			break
		}
	}
	own = found
	if !found {
		n, found = waiting.FindOverlapWhere(d.shape, overlap.AllRules, func(n int32) bool { return d.hasOwnerInNamespace(ro.set.desired[n].member) })
		own = found && d.hasOwner(ro.set.desired[n].member)
	}
	if found {
		w := ro.set.desired[n]
		return cmp.Or(w.stagedWait, w.actionsWait), own
	}
	own = d.hasOwner(ro.Listener.Desired.DefaultOf.Object)
	switch {
	case ro.Listener.Live == nil, !d.hasOwnerInNamespace(ro.Listener.Desired.DefaultOf.Object):
		return plan.Wait{}, own
	case ro.Listener.DefaultActionWait.For != "":
		return ro.Listener.DefaultActionWait, own
	}
	return ro.defaultActionWait(d), own
}

// defaultActionWait returns the wait before the deletion of a rule if the default action will answer its requests and has no
// healthy targets yet. The listener may already have this default action: if the previous default action had no healthy
// targets, an earlier plan has replaced it at once.
func (ro *Rollout) defaultActionWait(d *deletedRule) plan.Wait {
	var old []string
	for _, g := range model.ForwardedTargetGroups(d.Actions) {
		old = append(old, g.Group.ARN)
	}
	if len(old) == 0 {
		return plan.Wait{}
	}
	pending := ro.PendingTargetGroups(ro.Listener.DefaultActions, old, ro.IsReady)
	if len(pending) == 0 {
		return plan.Wait{}
	}
	return plan.Wait{For: "healthy targets in " + plan.TargetGroupNamesText(pending), Deadline: ro.TargetsDeadline(pending)}
}

// delayedRule is an existing rule that keeps its precedence until the rules that replace it answer requests. It is either a
// rule to be deleted that is retained for now, or a desired rule whose actions wait.
type delayedRule struct {
	deleted, desired int   // index of the rule in ruleSet.deleted or ruleSet.desired; the other index is -1
	priority         int32 // of the existing rule
	firstSuccessor   int   // the lowest index of the desired rules that will answer the requests of the rule
	shape            *overlap.Shape
	wait             plan.Wait
}

// ruleOrder has the priorities that rules get in this run: the priorities of desired rules, and of rules to be deleted that
// are retained for now. With this order, every request gets its answer before or after the change. Without delayed rules,
// the priorities are the desired priorities.
type ruleOrder struct {
	desiredPriorities []int32
	deletedPriorities map[int]int32
	// wait is set if the rules have to stay in their current order, because with every other order, requests would get a
	// wrong answer.
	wait plan.Wait
}

// interimOrder returns the order that the rules get in this run.
func (ro *Rollout) interimOrder() ruleOrder {
	out := ruleOrder{desiredPriorities: make([]int32, len(ro.set.desired)), deletedPriorities: map[int]int32{}}
	for i, w := range ro.set.desired {
		out.desiredPriorities[i] = w.priority
	}
	late, base := ro.set.delayedRules()
	if len(late) == 0 {
		return out
	}
	at, ok := ro.set.insertionIndexes(base, late)
	if !ok {
		wait := late[0].wait
		out.wait = ro.NewWait(draft.WaitKey("order", fmt.Sprint(ro.Listener.Desired.Port)), wait.For, wait.Deadline)
	}
	last := int32(0)
	next := func(wanted int32) int32 {
		last = max(last+1, wanted)
		return last
	}
	k := 0
	for p := 0; p <= len(base); p++ {
		for ; k < len(late) && at[k] == p; k++ {
			if r := late[k]; r.deleted >= 0 {
				wanted := r.priority
				if wanted >= stagePriority && ro.set.comesAfterStaged(r) {
					out.deletedPriorities[r.deleted] = wanted // the rules after this rule get priorities before the staged rules
					continue
				}
				if wanted >= stagePriority || p < len(base) && wanted >= ro.set.desired[base[p]].priority {
					wanted = last + 1
				}
				out.deletedPriorities[r.deleted] = next(wanted)
			} else {
				out.desiredPriorities[r.desired] = next(ro.set.desired[r.desired].priority)
			}
		}
		if p < len(base) {
			out.desiredPriorities[base[p]] = next(ro.set.desired[base[p]].priority)
		}
	}
	return out
}

// comesAfterStaged reports whether a staged rule exists that comes before a delayed rule and may match the same requests. An
// earlier run has created the staged rule, which therefore already answers these requests. The delayed rule must remain
// after the staged rule.
func (s *ruleSet) comesAfterStaged(r delayedRule) bool {
	_, found := s.index("staged", isStaged).FindOverlapWhere(r.shape, overlap.AllRules, func(n int32) bool {
		return s.desired[n].live != nil && s.desired[n].live.Priority < r.priority
	})
	return found
}

// delayedRules returns the delayed rules in their order in AWS, and the indexes of the desired rules that are not delayed or
// staged, in the desired order.
func (s *ruleSet) delayedRules() (out []delayedRule, base []int) {
	waiting := s.index("waiting", isWaiting)
	for i, d := range s.deleted {
		if d.wait.For == "" {
			continue
		}
		r := delayedRule{deleted: i, desired: -1, priority: d.Priority, firstSuccessor: len(s.desired), shape: d.shape, wait: d.wait}
		waiting.EachOverlap(d.shape, overlap.AllRules, func(n int32) bool {
			r.firstSuccessor = min(r.firstSuccessor, int(n))
			return true
		})
		out = append(out, r)
	}
	ordered := s.isInOrder()
	for i, w := range s.desired {
		if w.stagedWait.For != "" {
			continue
		}
		wait := w.actionsWait
		if wait.For == "" && !ordered {
			// The reordered rule would get the requests of a staged rule of the same member that precedes it in the desired
			// order.
			below := s.memberIndex("below", w.member, isStaged)
			if n, found := below.FindOverlap(w.shape, overlap.SpanBefore(i)); found {
				wait = s.desired[n].stagedWait
			}
		}
		if w.live == nil || wait.For == "" {
			base = append(base, i)
			continue
		}
		out = append(out, delayedRule{deleted: -1, desired: i, priority: w.live.Priority, firstSuccessor: i, shape: w.shape, wait: wait})
	}
	slices.SortFunc(out, func(a, b delayedRule) int { return cmp.Compare(a.priority, b.priority) })
	return out, base
}

// insertionIndexes returns, for each delayed rule, the index in base at which it is inserted. Rules that now come before a
// delayed rule remain before it. All other rules from the first rule that will answer its requests on come after it. ok
// reports whether such indexes exist.
func (s *ruleSet) insertionIndexes(base []int, late []delayedRule) (at []int, ok bool) {
	at, ok = make([]int, len(late)), true
	limit := len(base)
	for k := len(late) - 1; k >= 0; k-- {
		r := late[k]
		lo, hi := s.insertionBounds(base, r, nil)
		if lo > min(hi, limit) {
			lo, hi = s.insertionBounds(base, r, r.shape)
		}
		at[k] = min(hi, limit)
		if lo > at[k] {
			ok = false
		}
		limit = at[k]
	}
	return at, ok
}

// insertionBounds returns the first and the last index in base at which a delayed rule may be inserted. If shape is set,
// only rules that overlap with it are considered.
func (s *ruleSet) insertionBounds(base []int, r delayedRule, shape *overlap.Shape) (lo, hi int) {
	overlaps := func(w *ruleChange) bool { return shape == nil || shape.Overlaps(w.shape) }
	ahead := func(w *ruleChange) bool { return w.live != nil && w.live.Priority < r.priority }
	for lo = len(base); lo > 0; lo-- {
		if w := s.desired[base[lo-1]]; ahead(w) && overlaps(w) {
			break
		}
	}
	hi, _ = slices.BinarySearch(base, r.firstSuccessor)
	for ; hi < len(base); hi++ {
		if w := s.desired[base[hi]]; !ahead(w) && overlaps(w) {
			break
		}
	}
	return lo, hi
}
