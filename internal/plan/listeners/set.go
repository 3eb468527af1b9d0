package listeners

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/rules"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targetgroups"
	"github.com/fulcrum-lb/fulcrum/internal/plan/traffic"
)

// Set makes the listeners of load balancers fit, and deletes those that are not desired.
type Set struct {
	*draft.Draft
	main       *resolved.LoadBalancer // that of the stack
	groups     *owners.TargetGroups
	usage      *draft.Usage
	finalizers *draft.Finalizers
	albs       *targetgroups.Attachments
	keys       owners.ConditionKeys
	resolved   map[*resolved.Listener]*planner // listeners that are made, as Resolve has decided
}

// NewSet returns what plans the listeners of a stack.
func NewSet(main *resolved.LoadBalancer, tg *owners.TargetGroups, u *draft.Usage, f *draft.Finalizers, albs *targetgroups.Attachments, keys owners.ConditionKeys) *Set {
	return &Set{tg.Draft, main, tg, u, f, albs, keys, map[*resolved.Listener]*planner{}}
}

// Resolve decides how the listeners of a load balancer come from what is live to what is desired: weights of target groups,
// priorities of rules, and what waits.
func (s *Set) Resolve(lb *resolved.LoadBalancer) {
	for _, last := range []bool{false, true} { // those that redirect everything
		for i := range lb.Listeners {
			if l := &lb.Listeners[i]; l.Planned && l.RedirectsAll == last {
				p := s.planner(l)
				p.resolve()
				s.resolved[l] = p
			}
		}
	}
}

func (s *Set) planner(l *resolved.Listener) *planner {
	return &planner{Traffic: traffic.New(s.groups), Usage: s.usage, Finalizers: s.finalizers, keys: s.keys, l: l}
}

// RemoveForeignMembers deletes rules of a retained listener that are no retained object's.
func (s *Set) RemoveForeignMembers(l *resolved.Listener) {
	s.planner(l).removeForeignMembers(nil)
}

// Plan makes the listeners of a load balancer fit in ascending order of their ports. after are
// the steps that make the load balancer, and what has to be there before its first listener; opened are those that open
// ports, groups those that make target groups. It returns listeners to be deleted once nothing leads to them any more.
func (s *Set) Plan(lb *resolved.LoadBalancer, after []plan.StepID, opened map[int32]plan.StepID, groups map[string][]plan.StepID) (targeted []observed.Listener) {
	from := len(s.Draft.Plan.Steps)
	targeted = s.deleteSurplus(lb, after)
	for i := range lb.Listeners {
		if l := &lb.Listeners[i]; l.Planned && !l.RedirectsAll {
			s.resolved[l].plan(after, opened, groups)
		}
	}
	// A listener that redirects everything comes after the one to which it sends the clients.
	for i := range lb.Listeners {
		if l := &lb.Listeners[i]; l.Planned && l.RedirectsAll {
			s.resolved[l].plan(append(slices.Clone(after), s.stepsOf(lb, redirectPort(l.DefaultActions))...), opened, groups)
		}
	}
	for i := range lb.Listeners {
		s.planner(&lb.Listeners[i]).removeForeignMembers(after)
	}
	s.orderByShare(lb, from)
	rules.NewPlaces(s.groups, s.finalizers, s.keys, lb).PlanLate(groups)
	return targeted
}

// deleteSurplus deletes those that no object asks for. One of an ALB that a target group leads to goes
// later, when nothing leads there any more.
func (s *Set) deleteSurplus(lb *resolved.LoadBalancer, after []plan.StepID) (targeted []observed.Listener) {
	if lb.Live == nil {
		return nil
	}
	for _, l := range lb.Live.Listeners {
		switch {
		case slices.Contains(lb.HeldPorts, l.Port):
		case slices.ContainsFunc(lb.Listeners, func(p resolved.Listener) bool { return p.Desired.Port == l.Port }):
		case !lb.IsFrontend() && s.albs.LeadsTo(lb.Live, l.Port):
			targeted = append(targeted, l)
		default:
			s.Delete(l, after)
		}
	}
	return targeted
}

// stepsOf returns the steps planned so far that make the listener of a port.
func (s *Set) stepsOf(lb *resolved.LoadBalancer, port int32) []plan.StepID {
	if id := plan.NewStepID("create", lb.ListenerAddress(port)); port != 0 && s.Planned(id) {
		return []plan.StepID{id}
	}
	return nil
}

// Delete deletes a listener of a load balancer that stays.
func (s *Set) Delete(l observed.Listener, after []plan.StepID) {
	a := plan.Address{Kind: plan.Listener, ID: l.ARN}
	id := s.Add(plan.Step{
		ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteListener{ARN: l.ARN},
		Changes: []plan.Change{{Path: "port", From: fmt.Sprint(l.Port)}},
		Why:     s.main.NoListener(l.Port), Impact: plan.DeleteImpact, After: after, Blames: s.Members(),
	})
	s.usage.NoteFreedListener(l, id)
}
