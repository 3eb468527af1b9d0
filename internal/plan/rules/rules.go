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

// How the rules of a listener are changed without a gap
//
// Between any two steps every request must get its old or its new answer. AWS changes one rule a
// call, except that SetRulePriorities moves any number at once. With O the live rules and N the
// desired ones:
//
//  1. Rules that are in both (same conditions, transforms, actions) are only moved.
//  2. New rules are created from the top of N down: at their own place where that is free and in
//     order, else below everything, where an old rule that covers them still answers.
//  3. One SetRulePriorities brings N into order and pushes what is not in N below it, in order.
//  4. What is not in N is deleted from the bottom up.
//
// A rule whose conditions stay and whose action changes is modified in place where no other
// changing rule could match the same request: before (3) if nothing is new, at the end if nothing
// is deleted or reordered. Otherwise the new form is created and the old one deleted.
//
// A new rule whose targets are not healthy yet, and whose requests an old rule with healthy targets
// answers now, stays below until they are, or until a deadline has passed. So does a changed action.
// Until then an old rule of the same requests keeps its place, if it is of the same namespace. Nothing
// else waits: neither a rule that only moves, nor the rules of other members.

// TopPriority is the highest priority that AWS takes.
const TopPriority = 50000

// ruleChange is what happens to one desired rule.
type ruleChange struct {
	rule     *resolved.Rule
	member   finding.Ref    // whose changes wait for each other
	priority int32          // desired
	live     *observed.Rule // nil: to be created
	actions  []model.Action // to be set now
	// transforms to be set now: those of the traffic that the actions carry.
	transforms   []model.Transform
	modify       bool        // conditions stay, actions or transforms change
	wait         plan.Wait   // for what the final actions wait
	stagedWait   plan.Wait   // for what the move to the final place waits
	waitsForRule bool        // the change waits for another rule of the member
	createAt     int32       // where a new rule is created
	step         plan.StepID // that creates or changes it
	split        bool        // it is created beside the live form that it takes the place of
	// takes is the live rule that becomes this one, because AWS has no room for both.
	replaces *observed.Rule
	shape    *overlap.Shape
}

// place returns where the rule is, or will be created.
func (w *ruleChange) priorityNow() int32 {
	if w.live != nil {
		return w.live.Priority
	}
	return w.createAt
}

// isArriving reports whether the rule is new, or was created and never came to its place.
func (w *ruleChange) isArriving() bool {
	return w.live == nil || w.live.Priority >= stagePriority && w.priority < stagePriority
}

// goneRule is a live rule that is not desired.
type deletedRule struct {
	observed.Rule
	shape  *overlap.Shape
	owners []finding.Ref // to whom it belongs; nil if that is not known
	wait   plan.Wait     // until what takes its place is in force
	step   plan.StepID
}

// sameOwner reports whether the rule belongs to a member, or may do so.
func (d *deletedRule) sameOwner(m finding.Ref) bool {
	return d.owners == nil || m.IsZero() || slices.Contains(d.owners, m)
}

// sameNamespace reports whether the rule belongs to the namespace of a member, or may do so.
func (d *deletedRule) sameNamespace(m finding.Ref) bool {
	return d.sameOwner(m) || slices.ContainsFunc(d.owners, func(o finding.Ref) bool { return o.Namespace == m.Namespace })
}

// ruleSet is the difference of one listener's rules.
type ruleSet struct {
	desired []ruleChange
	deleted []deletedRule // ascending by priority
	indexes map[string]*overlap.Index
	// byMember are indexes of the rules of each member.
	byMember map[string]map[finding.Ref]*overlap.Index
}

// index returns the index of those desired rules that fit, which is made once.
func (s *ruleSet) index(name string, fits func(w *ruleChange) bool) *overlap.Index {
	if s.indexes[name] == nil {
		var numbers []int32
		for i := range s.desired {
			if fits(&s.desired[i]) {
				numbers = append(numbers, int32(i))
			}
		}
		s.setIndex(name, overlap.NewIndex(numbers, func(n int32) *overlap.Shape { return s.desired[n].shape }))
	}
	return s.indexes[name]
}

// indexOf returns the index of those rules of a member that fit, which is made once.
func (s *ruleSet) indexOf(name string, member finding.Ref, fits func(w *ruleChange) bool) *overlap.Index {
	if s.byMember[name] == nil {
		var numbers []int32
		for i := range s.desired {
			if fits(&s.desired[i]) {
				numbers = append(numbers, int32(i))
			}
		}
		if s.byMember == nil {
			s.byMember = map[string]map[finding.Ref]*overlap.Index{}
		}
		s.byMember[name] = s.indexByMember(numbers)
	}
	if x := s.byMember[name][member]; x != nil {
		return x
	}
	return &overlap.Index{}
}

// goneIndex returns the index of the rules to be deleted.
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

// The rules that indexes are about.
func isNew(w *ruleChange) bool { return w.live == nil }

func isLive(w *ruleChange) bool { return w.live != nil }

func isNewOrStaged(w *ruleChange) bool { return w.live == nil || w.stagedWait.For != "" }

func isStaged(w *ruleChange) bool { return w.stagedWait.For != "" }

func isWaiting(w *ruleChange) bool { return w.stagedWait.For != "" || w.wait.For != "" }

func anyRule(*ruleChange) bool { return true }

// inOrder reports whether the rules that stay keep their order.
func (s *ruleSet) inOrder() bool {
	last := int32(0)
	for i := range s.desired {
		w := &s.desired[i]
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

// split turns a modification that other changes could interfere with into a new rule and a
// deletion. It reports whether modifications that remain have to come last.
func (s *ruleSet) split() (modifyLast bool) {
	fresh, ordered := slices.ContainsFunc(s.desired, func(w ruleChange) bool { return isNewOrStaged(&w) }), s.inOrder()
	if ordered && (!fresh || len(s.deleted) == 0) {
		return fresh
	}
	var changed []*ruleChange
	for i := range s.desired {
		if w := &s.desired[i]; w.live != nil && w.modify && w.wait.For == "" && !w.rule.ChangesInOneStep() && s.interferes(int32(i), ordered) {
			changed = append(changed, w)
		}
	}
	s.splitOff(changed)
	return false
}

// splitOff turns modifications into new rules and deletions.
func (s *ruleSet) splitOff(changed []*ruleChange) {
	if len(changed) == 0 {
		return
	}
	for _, w := range changed {
		d := deletedRule{Rule: *w.live, shape: w.shape}
		if m := w.member; !m.IsZero() {
			d.owners = []finding.Ref{m}
		}
		s.deleted = append(s.deleted, d)
		w.live, w.modify, w.split = nil, false, true
	}
	slices.SortFunc(s.deleted, func(a, b deletedRule) int { return cmp.Compare(a.Priority, b.Priority) })
	s.indexes, s.byMember = nil, nil
}

// interferes reports whether a change of other rules could meet requests of the i-th one.
func (s *ruleSet) interferes(i int32, ordered bool) bool {
	others := s.index("coming", isNewOrStaged)
	if !ordered {
		others = s.index("any", anyRule)
	}
	if _, found := others.FindWhere(s.desired[i].shape, overlap.Every, func(n int32) bool { return n != i }); found {
		return true
	}
	_, found := s.deletedIndex().Find(s.desired[i].shape, overlap.Every)
	return found
}

// Rollout is how the rules of one listener come from what is live to what is desired: which live rule each one is or
// grows out of, what it does now, where it is made, and what waits.
type Rollout struct {
	*traffic.Traffic
	*draft.Usage
	*draft.Finalizers
	Keys     owners.ConditionKeys
	Listener *resolved.Listener
	set      *ruleSet
	// room are the priorities to which live rules move first.
	firstPriorities map[plan.Address]int32
	// modifyLast reports whether changes of actions come last.
	modifyLast bool
	// now is the order for now; none where AWS refuses to move rules.
	interim order
}

// Resolve decides how the rules of a listener come to what is desired.
func Resolve(t *traffic.Traffic, u *draft.Usage, f *draft.Finalizers, keys owners.ConditionKeys, l *resolved.Listener) *Rollout {
	ro := &Rollout{Traffic: t, Usage: u, Finalizers: f, Keys: keys, Listener: l, modifyLast: true}
	ro.makeRoom()
	ro.set = ro.pairRules()
	ro.stageRules()
	if l.Desired.OrderHeld != 0 {
		ro.keepOrder()
		ro.keepUntilTakenOver()
		return ro
	}
	ro.modifyLast = ro.set.split()
	ro.stageRules()
	var live []observed.Rule
	if l.Live != nil {
		live = l.Live.Rules
	}
	ro.set.choosePriorities(live)
	ro.keepUntilTakenOver()
	ro.interim = ro.interimOrder()
	return ro
}

// Plan plans the rules after the steps that make the listener and those that make target groups. The
// steps of middle come when new rules are there and old ones have not gone yet.
func (ro *Rollout) Plan(listener []plan.StepID, groups map[string][]plan.StepID, middle func(after []plan.StepID) []plan.StepID) []plan.StepID {
	room := ro.planRoom(listener)
	r := rulePlanner{Rollout: ro, listener: append(slices.Clone(listener), room...), groups: groups, steps: room}
	if !ro.modifyLast {
		r.modifyRules(false)
	}
	r.createRules(r.moveReplaced())
	changed := middle(r.stepsBeforeDefault())
	r.steps = append(r.steps, changed...)
	if ro.Listener.Desired.OrderHeld == 0 {
		r.reorder()
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
