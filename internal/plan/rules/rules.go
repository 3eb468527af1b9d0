package rules

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/traffic"
)

// Order of the changes of the rules of a listener
//
// Between any two steps every request must get its old or its new answer. A call to AWS changes one rule, except
// SetRulePriorities, which changes the priorities of any number of rules. O are the existing rules and N the desired rules.
// The changes are made in this order:
//
//  1. Rules that are in both O and N (same conditions, transforms and actions) are only moved.
//  2. New rules are created from the top of N down: at their desired priority if it is free and in order, otherwise below
//     all other rules, where an existing rule that matches the same requests still answers.
//  3. One SetRulePriorities puts N into order and moves the rules that are not in N below it, in order.
//  4. Rules that are not in N are deleted from the bottom up.
//
// If only the action of a rule changes, the rule is modified in place before these steps, unless there are new rules or
// rules that move. If there are new rules, but no rule is deleted or moves, it is modified in place after these steps. In
// all other cases, it is modified in place before these steps only if no other changing rule could match the same requests.
// If another changing rule could match them, a new rule is created and the existing rule is deleted.
//
// A new rule is staged, which means that it remains after all other rules, if its targets are not healthy yet and an
// existing rule with healthy targets answers its requests. It moves to its desired priority when its targets are healthy, or
// when a deadline has passed. A changed action waits in the same way. During the wait, an existing rule of the same
// namespace for these requests keeps its precedence. Rules that only move and rules of other members do not wait.

// MaxPriority is the highest priority number of a rule that AWS accepts.
const MaxPriority = 50000

// ruleChange has the desired rule, the existing rule for it, and how the rule changes in this run.
type ruleChange struct {
	rule     *resolved.Rule
	member   finding.Ref    // the changes of one member wait for each other
	priority int32          // desired priority
	live     *observed.Rule // nil if the rule is created
	actions  []model.Action // the actions that are set in this run
	// transforms are set in this run, together with the actions, because they may depend on the target groups.
	transforms   []model.Transform
	isModified   bool        // only actions or transforms change
	actionsWait  plan.Wait   // what the desired actions wait for
	stagedWait   plan.Wait   // what the move to the desired priority waits for
	waitsForRule bool        // the change waits for another rule of the same member
	createAt     int32       // the priority at which a new rule is created
	step         plan.StepID // the step that creates or changes the rule
	isSplit      bool        // a new rule is created in addition to the existing one, which is then deleted
	// replaces is the existing rule that is modified to become the desired rule, because the AWS quota does not permit both.
	replaces *observed.Rule
	shape    *overlap.Shape
}

// currentPriority returns the priority of the existing rule, or the priority with which a new rule is created.
func (w *ruleChange) currentPriority() int32 {
	if w.live != nil {
		return w.live.Priority
	}
	return w.createAt
}

// isNewOrStagedEarlier reports whether the rule is new, or was staged by an earlier run.
func (w *ruleChange) isNewOrStagedEarlier() bool {
	return w.live == nil || w.live.Priority >= stagePriority && w.priority < stagePriority
}

// deletedRule is an existing rule that is not desired any more.
type deletedRule struct {
	observed.Rule
	shape  *overlap.Shape
	owners []finding.Ref // members to which the rule belongs; nil if they are not known
	wait   plan.Wait     // until other rules answer its requests
	step   plan.StepID
}

// hasOwner reports whether the rule may belong to a member.
func (d *deletedRule) hasOwner(m finding.Ref) bool {
	return d.owners == nil || m.IsZero() || slices.Contains(d.owners, m)
}

// hasOwnerInNamespace reports whether the rule may belong to the namespace of a member.
func (d *deletedRule) hasOwnerInNamespace(m finding.Ref) bool {
	return d.hasOwner(m) || slices.ContainsFunc(d.owners, func(o finding.Ref) bool { return o.Namespace == m.Namespace })
}

// ruleSet is the difference between the existing and the desired rules of one listener.
type ruleSet struct {
	desired []*ruleChange
	deleted []*deletedRule // ascending by priority
	indexes map[string]*overlap.Index
	// memberIndexes has the indexes that memberIndex has built, by name and member.
	memberIndexes map[string]map[finding.Ref]*overlap.Index
}

// index returns the overlap index of those desired rules for which fits returns true. The index is built once for each name,
// so that all calls with the same name must have the same fits.
func (s *ruleSet) index(name string, fits func(w *ruleChange) bool) *overlap.Index {
	if s.indexes[name] == nil {
		s.setIndex(name, overlap.NewIndex(s.indexesWhere(fits), s.desiredShape))
	}
	return s.indexes[name]
}

// indexesWhere returns the indexes of those desired rules for which fits returns true.
func (s *ruleSet) indexesWhere(fits func(w *ruleChange) bool) (out []int32) {
	for i, w := range s.desired {
		if fits(w) {
			out = append(out, int32(i))
		}
	}
	return out
}

func (s *ruleSet) desiredShape(n int32) *overlap.Shape { return s.desired[n].shape }

// memberIndex returns the overlap index of those desired rules of a member for which fits returns true. The index is built
// once for each name and member.
func (s *ruleSet) memberIndex(name string, member finding.Ref, fits func(w *ruleChange) bool) *overlap.Index {
	if s.memberIndexes[name] == nil {
		if s.memberIndexes == nil {
			s.memberIndexes = map[string]map[finding.Ref]*overlap.Index{}
		}
		s.memberIndexes[name] = s.indexByMember(s.indexesWhere(fits))
	}
	if x := s.memberIndexes[name][member]; x != nil {
		return x
	}
	return &overlap.Index{}
}

// deletedIndex returns the overlap index of the rules to be deleted.
func (s *ruleSet) deletedIndex() *overlap.Index {
	if s.indexes["deleted"] == nil {
		numbers := make([]int32, len(s.deleted))
		for i := range numbers {
			numbers[i] = int32(i)
		}
		s.setIndex("deleted", overlap.NewIndex(numbers, func(n int32) *overlap.Shape { return s.deleted[n].shape }))
	}
	return s.indexes["deleted"]
}

func (s *ruleSet) setIndex(name string, x *overlap.Index) {
	if s.indexes == nil {
		s.indexes = map[string]*overlap.Index{}
	}
	s.indexes[name] = x
}

// isNew and the functions below it are used as the parameter fits of an overlap index.
func isNew(w *ruleChange) bool { return w.live == nil }

func isLive(w *ruleChange) bool { return w.live != nil }

func isNewOrStaged(w *ruleChange) bool { return w.live == nil || w.stagedWait.For != "" }

func isStaged(w *ruleChange) bool { return w.stagedWait.For != "" }

func isWaiting(w *ruleChange) bool { return w.stagedWait.For != "" || w.actionsWait.For != "" }

func anyRule(*ruleChange) bool { return true }

// isInOrder reports whether the existing rules that are kept have the same order as the desired rules, so that none has to
// move.
func (s *ruleSet) isInOrder() bool {
	last := int32(0)
	for _, w := range s.desired {
		if w.live == nil || w.stagedWait.For != "" {
			continue
		}
		if w.live.Priority < last {
			return false
		}
		last = w.live.Priority
	}
	return true
}

// splitInterferingChanges finds modifications that could interfere with other changes. It replaces each of them by the
// creation of a new rule and the deletion of the existing rule. It reports whether the remaining modifications have to come
// last.
func (s *ruleSet) splitInterferingChanges() (modifyLast bool) {
	fresh, ordered := slices.ContainsFunc(s.desired, isNewOrStaged), s.isInOrder()
	if ordered && (!fresh || len(s.deleted) == 0) {
		return fresh
	}
	var changed []*ruleChange
	for i, w := range s.desired {
		if w.live != nil && w.isModified && w.actionsWait.For == "" && !w.rule.ChangesInOneStep() && s.mayInterfere(int32(i), ordered) {
			changed = append(changed, w)
		}
	}
	s.splitChanges(changed)
	return false
}

// splitChanges replaces each of the given modifications by the creation of a new rule and the deletion of the existing rule.
func (s *ruleSet) splitChanges(changed []*ruleChange) {
	if len(changed) == 0 {
		return
	}
	for _, w := range changed {
		d := &deletedRule{Rule: *w.live, shape: w.shape}
		if m := w.member; !m.IsZero() {
			d.owners = []finding.Ref{m}
		}
		s.deleted = append(s.deleted, d)
		w.live, w.isModified, w.isSplit = nil, false, true
	}
	slices.SortFunc(s.deleted, func(a, b *deletedRule) int { return cmp.Compare(a.Priority, b.Priority) })
	s.indexes, s.memberIndexes = nil, nil
}

// mayInterfere reports whether the change of another rule could affect requests that the desired rule with index i matches.
func (s *ruleSet) mayInterfere(i int32, ordered bool) bool {
	others := s.index("coming", isNewOrStaged)
	if !ordered {
		others = s.index("any", anyRule)
	}
	if _, found := others.FindOverlapWhere(s.desired[i].shape, overlap.AllRules, func(n int32) bool { return n != i }); found {
		return true
	}
	_, found := s.deletedIndex().FindOverlap(s.desired[i].shape, overlap.AllRules)
	return found
}

// Rollout has the changes of the rules of one listener: the existing rule that each desired rule changes, its change in this
// run, the priority at which it is created, and the changes that wait.
type Rollout struct {
	*traffic.Traffic
	*draft.Usage
	*draft.Finalizers
	Keys     owners.ConditionKeys
	Listener *resolved.Listener
	set      *ruleSet
	// firstPriorities are the priorities to which existing rules move first; see lowerHighPriorities.
	firstPriorities map[plan.Address]int32
	// modifyLast is set if changes of actions come after all other changes of rules.
	modifyLast bool
	// interim is the order that rules get in this run. It is not used if AWS refuses to reorder rules.
	interim ruleOrder
}

// Resolve decides how the rules of a listener are changed to the desired state.
func Resolve(t *traffic.Traffic, u *draft.Usage, f *draft.Finalizers, keys owners.ConditionKeys, l *resolved.Listener) *Rollout {
	ro := &Rollout{Traffic: t, Usage: u, Finalizers: f, Keys: keys, Listener: l, modifyLast: true}
	ro.lowerHighPriorities()
	ro.set = ro.pairRules()
	ro.stageRules()
	if l.Desired.OrderHeld != 0 {
		ro.planWithoutReordering()
		ro.retainRulesUntilTakenOver()
		return ro
	}
	ro.modifyLast = ro.set.splitInterferingChanges()
	ro.stageRules()
	var live []observed.Rule
	if l.Live != nil {
		live = l.Live.Rules
	}
	ro.set.choosePriorities(live)
	ro.retainRulesUntilTakenOver()
	ro.interim = ro.interimOrder()
	return ro
}

// Plan adds the steps for the rules of the listener, and returns their IDs. The steps depend on the steps in listener. A
// step that uses a target group also depends on its steps in groups, which has the steps that create target groups, by
// target group ID. changeDefault plans the change of the default action; it is called after the creation steps are planned
// and before the deletion steps.
func (ro *Rollout) Plan(listener []plan.StepID, groups map[string][]plan.StepID, changeDefault func(after []plan.StepID) []plan.StepID) []plan.StepID {
	lowered := ro.planLowerPriorities(listener)
	r := rulePlanner{Rollout: ro, listenerSteps: append(slices.Clone(listener), lowered...), targetGroupSteps: groups, steps: lowered}
	if !ro.modifyLast {
		r.modifyRules(false)
	}
	r.createRules(r.planReplacedRuleMoves())
	changed := changeDefault(r.stepsBeforeDefault())
	r.steps = append(r.steps, changed...)
	if ro.Listener.Desired.OrderHeld == 0 {
		r.reorderRules()
	}
	if ro.modifyLast {
		r.modifyRules(true)
	}
	r.changeDelayedActions()
	r.deleteRules(changed)
	r.retagRules()
	r.reportWaits()
	return r.steps
}
