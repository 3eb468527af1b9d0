package plan

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
)

// When AWS takes no further rule on a load balancer, a new rule takes the place of a live one of its namespace
// that is not desired any more: by a change of that rule where both are of one listener, else by its deletion
// just before. One for which there is no such place is left out, and no other rule is given up for it.

// openPlace is a live rule that nothing desired is a form of.
type openPlace struct {
	rule   *observed.Rule
	port   int32
	of     []finding.Ref // to whom it belongs; nil if that is not known
	goesBy StepID        // the step that deletes it
	taken  bool
	shape  *overlap.Shape
}

// rulePlaces shares the rules that AWS takes on a load balancer between the namespaces that ask for them.
type rulePlaces struct {
	*targetGroups
	*finalizers
	keys liveKeys
	lb   *loadBalancerPlan
}

func (b *builder) rulePlaces(lb *loadBalancerPlan) *rulePlaces {
	return &rulePlaces{b.targetGroups, b.finalizers, b.keys, lb}
}

// resolve notes what each namespace has of the rules of the load balancer, and finds places for the rules for
// which there is no room.
func (rp *rulePlaces) resolve() {
	lb := rp.lb
	lb.shares = map[string]share{}
	full, namespaces := false, map[string]bool{}
	for _, l := range lb.listeners {
		for i := range l.rules {
			full = full || l.rules[i].desired.NoRoom
			namespaces[l.rules[i].desired.Member.Namespace] = true
		}
	}
	if full || len(namespaces) > 1 {
		open := rp.count()
		if full {
			rp.find(open)
			rp.omitOverCapacity()
		}
	}
}

// count notes what each namespace has of the live rules of a load balancer, and returns those that
// are not desired any more.
func (rp *rulePlaces) count() (open []*openPlace) {
	lb := rp.lb
	if lb.live == nil {
		return nil
	}
	for j := range lb.live.Listeners {
		live := &lb.live.Listeners[j]
		i := slices.IndexFunc(lb.listeners, func(l listenerPlan) bool { return l.desired.Port == live.Port })
		for _, o := range rp.openPlaces(live, i) {
			open = append(open, o)
			if len(o.of) > 0 {
				of := lb.shares[o.of[0].Namespace]
				of.goes++
				lb.shares[o.of[0].Namespace] = of
			}
		}
	}
	return open
}

// seeker is a desired rule of which nothing is live.
type seeker struct {
	*rulePlan
	port  int32
	shape *overlap.Shape
}

// find gives places of live rules that are not desired any more to rules that have none: those of their
// namespaces first, and then those of which it is not known whose they are. Rules of which AWS has refused none
// yet are among them, so that others do not come before them.
func (rp *rulePlaces) find(open []*openPlace) {
	var rules []seeker
	for i := range rp.lb.listeners {
		l := &rp.lb.listeners[i]
		for j := range l.rules {
			if p := &l.rules[j]; !p.live && l.make {
				rules = append(rules, seeker{p, l.desired.Port, overlap.ShapeOf(p.desired.Conditions)})
			}
		}
	}
	for _, o := range open {
		o.shape = overlap.ShapeOf(o.rule.Conditions)
	}
	here := func(p seeker, o *openPlace) bool { return p.port == o.port }
	own := func(p seeker, o *openPlace) bool { return slices.Contains(o.of, p.desired.Member) }
	related := func(p seeker, o *openPlace) bool {
		return slices.ContainsFunc(o.of, func(r finding.Ref) bool { return r.Namespace == p.desired.Member.Namespace })
	}
	unknown := func(_ seeker, o *openPlace) bool { return o.of == nil }
	meets := func(p seeker, o *openPlace) bool { return p.shape.Overlaps(o.shape) }
	rp.give(rules, open, fit{here, own, meets})
	rp.give(rules, open, fit{here, own})
	rp.give(rules, open, fit{here, related, meets})
	rp.give(rules, open, fit{here, related})
	rp.give(rules, open, fit{own}, fit{related})
	rp.give(rules, open, fit{here, unknown, meets}, fit{here, unknown}, fit{unknown})
}

// fit is what must be true of a rule and a place for it.
type fit []func(p seeker, o *openPlace) bool

// give gives open places to rules that have none, in turn; each takes the first that fits best.
func (rp *rulePlaces) give(rules []seeker, open []*openPlace, best ...fit) {
	slices.SortStableFunc(rules, func(x, y seeker) int { return x.waits() - y.waits() })
	claims := make([]string, len(rules))
	for i, p := range rules {
		claims[i] = p.desired.Member.Namespace
	}
	for _, n := range inTurn(rp.lb.shares, claims) {
		p := rules[n]
		for _, all := range best {
			at := -1
			if p.place == nil {
				at = slices.IndexFunc(open, func(o *openPlace) bool {
					return !o.taken && !slices.ContainsFunc(all, func(is func(p seeker, o *openPlace) bool) bool { return !is(p, o) })
				})
			}
			if at >= 0 {
				open[at].taken, p.place = true, open[at]
			}
		}
	}
}

// waits is 1 as long as the rule has no place, and 0 afterwards.
func (p seeker) waits() int {
	if p.place == nil {
		return 1
	}
	return 0
}

// openPlaces are the rules of a live listener that are not desired any more. It notes what stays. The i-th
// listener of the load balancer is the desired one, none if i is below zero.
func (rp *rulePlaces) openPlaces(live *observed.Listener, i int) (out []*openPlace) {
	lb := rp.lb
	byKey, byARN := map[string][]*rulePlan{}, map[string]*rulePlan{}
	deleted := StepID("")
	if i < 0 {
		deleted = stepID("delete", Address{Kind: Listener, ID: live.ARN})
	} else {
		for j := range lb.listeners[i].rules {
			p := &lb.listeners[i].rules[j]
			if p.kept != nil {
				byARN[p.kept.ARN] = p
				continue
			}
			byKey[p.conditions()] = append(byKey[p.conditions()], p)
		}
	}
	for j := range live.Rules {
		r := &live.Rules[j]
		of := rp.ownersOf(r.Actions)
		p := byARN[r.ARN]
		if key := rp.keys.of(r); p == nil {
			d := goneRule{of: of}
			if at := slices.IndexFunc(byKey[key], func(p *rulePlan) bool { return !p.live && d.sameNamespace(p.desired.Member) }); at >= 0 {
				p = byKey[key][at]
			}
		}
		switch {
		case p != nil:
			p.live = true
			of := lb.shares[p.desired.Member.Namespace]
			of.stays++
			lb.shares[p.desired.Member.Namespace] = of
		case i >= 0 && (!lb.listeners[i].make || lb.listeners[i].desired.OrderHeld != 0):
			// It stays, or may have to.
		default:
			if of == nil {
				of = rp.ownersByGroup(r.Actions)
			}
			o := &openPlace{rule: r, port: live.Port, of: of, goesBy: deleted}
			if deleted == "" {
				o.goesBy = stepID("delete", ruleAddress(r.ARN))
			}
			out = append(out, o)
		}
	}
	return out
}

// ownersByGroup are those to whom a live rule may belong whose target groups nothing asks for any more, by the ids of
// these: members, or else namespaces. Nil if that is not known.
func (rp *rulePlaces) ownersByGroup(actions []model.Action) (out []finding.Ref) {
	refs := map[finding.Ref]bool{}
	for _, m := range slices.Concat(rp.want.Members, rp.want.Leaving) {
		refs[m.Ref] = true
	}
	for _, l := range rp.lb.listeners {
		for i := range l.rules {
			refs[l.rules[i].desired.Member] = true
		}
	}
	for _, id := range rp.ownerIDs(actions) {
		_, route, _ := strings.Cut(id, ":")
		for ref := range refs {
			namespace := finding.Ref{Namespace: ref.Namespace}
			switch {
			case naming.IsTargetGroupOf(id, ref) && ref.Kind != "Gateway":
				out = append(out, ref)
			case rp.want.ID.Kind.OfGateway() && strings.HasPrefix(route, ref.Namespace+"-"),
				!rp.want.ID.Kind.OfGateway() && strings.HasPrefix(id, ref.Namespace+"/"):
				out = append(out, namespace)
			}
		}
	}
	slices.SortFunc(out, finding.Ref.Compare)
	return slices.Compact(out)
}

// omitOverCapacity takes the rules that have no place out of their listeners, and sets those apart that take one of
// another listener.
func (rp *rulePlaces) omitOverCapacity() {
	lb := rp.lb
	for i := range lb.listeners {
		l := &lb.listeners[i]
		var rest []rulePlan
		for _, p := range l.rules {
			switch {
			case !p.desired.NoRoom:
				p.place = nil // AWS has not refused it
				rest = append(rest, p)
			case p.live || !l.make || p.place != nil && p.place.port == l.desired.Port:
				rest = append(rest, p)
			case p.place != nil && l.live != nil:
				l.late = append(l.late, p)
			default:
				l.leftOut = append(l.leftOut, p)
				rp.overCapacity(l, p)
			}
		}
		l.rules = rest
	}
}

func (rp *rulePlaces) overCapacity(l *listenerPlan, p rulePlan) {
	if rp.plan.OverCapacity == nil {
		rp.plan.OverCapacity = map[model.RuleKey]bool{}
	}
	rp.plan.OverCapacity[p.desired.Key(l.desired.Port)] = true
}

// vacate moves the rules whose places are taken to where the rules are to be that they become: below
// all others, unless that is in order where they are.
func (r *rulePlanner) vacate() []StepID {
	to := map[Address]int32{}
	for i := range r.s.desired {
		if w := &r.s.desired[i]; w.takes != nil && w.at != w.takes.Priority {
			to[ruleAddress(w.takes.ARN)] = w.at
		}
	}
	if len(to) == 0 {
		return nil
	}
	id := r.prioritise("vacate", to, Wait{}, slices.Clone(r.listener))
	r.steps = append(r.steps, id)
	return []StepID{id}
}

// become turns the rule whose place a desired one takes into that.
func (r *rulePlanner) become(w *ruleChange, after []StepID) StepID {
	a, was := r.address(w), w.takes
	id := r.add(Step{
		ID: stepID("modify", a), Address: a, Verb: Update, Impact: BriefImpact,
		Do: ModifyRule{Rule: a, Conditions: w.plan.desired.Conditions, Actions: w.actions, Transforms: w.transforms},
		Changes: []Change{
			{Path: "conditions", From: ConditionsText(was.Conditions), To: ConditionsText(w.plan.desired.Conditions)},
			{Path: "actions", From: ActionsText(was.Actions), To: ActionsText(w.actions)},
		},
		Why: "AWS has no room for both; " + ruleReason(w), After: after, Blames: r.blame(w), Rule: r.key(w),
	})
	r.freed(was.Actions, id)
	return id
}

// planLate makes the rules that take a place of another listener, once that is free. The next plan moves them to their
// priorities.
func (rp *rulePlaces) planLate(groups map[string][]StepID) {
	lb := rp.lb
	for i := range lb.listeners {
		l := &lb.listeners[i]
		if len(l.late) == 0 {
			continue
		}
		used := map[int32]bool{}
		for _, r := range l.live.Rules {
			used[r.Priority] = true
		}
		for _, s := range rp.plan.Steps {
			switch do := s.Do.(type) {
			case CreateRule:
				used[do.Priority] = used[do.Priority] || do.Listener == l.address()
			case SetPriorities:
				for _, p := range do.Priorities {
					used[p] = true
				}
			}
		}
		for _, p := range l.late {
			if !rp.planned(p.place.goesBy) {
				rp.overCapacity(l, p)
				continue
			}
			at := free(used, stagePriority)
			used[at] = true
			a, rule := Address{Kind: Rule, ID: naming.RuleID(l.desired.Port, at)}, p.desired
			rp.add(Step{
				ID: stepID("create", a), Address: a, Verb: Create,
				Do:  CreateRule{Listener: l.address(), Priority: at, Rule: rule, Tags: rp.ruleTags(rp.tags(a.ID, rule.Tags))},
				Why: "AWS has no room for both; from " + rule.Origin.String(), Impact: BriefImpact, Blames: []finding.Ref{rule.Member}, Rule: rule.Key(l.desired.Port),
				After: slices.Concat([]StepID{p.place.goesBy}, rp.claimsOf(rule.Member), groupSteps(rule.Actions, groups)),
			})
		}
	}
}
