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

// Planner plans the listeners of load balancers: it creates and changes desired listeners, and deletes all other listeners.
type Planner struct {
	*draft.Draft
	main          *resolved.LoadBalancer // the load balancer of the stack
	targetGroups  *owners.TargetGroups
	usage         *draft.Usage
	finalizers    *draft.Finalizers
	albTargets    *targetgroups.ALBTargetPlanner
	conditionKeys owners.ConditionKeys
	planners      map[*resolved.Listener]*listenerPlanner // planners of the listeners that are created or changed; set by Resolve
}

// NewPlanner returns the planner of the listeners of a stack. main is the load balancer of the stack, not its frontend NLB.
func NewPlanner(main *resolved.LoadBalancer, tg *owners.TargetGroups, u *draft.Usage, f *draft.Finalizers, albs *targetgroups.ALBTargetPlanner, keys owners.ConditionKeys) *Planner {
	return &Planner{tg.Draft, main, tg, u, f, albs, keys, map[*resolved.Listener]*listenerPlanner{}}
}

// Resolve decides how the listeners of a load balancer change from the observed to the desired state: the weights of target
// groups, the priorities of rules, and the changes that wait.
func (s *Planner) Resolve(lb *resolved.LoadBalancer) {
	for _, last := range []bool{false, true} { // listeners that redirect everything come last
		for i := range lb.Listeners {
			if l := &lb.Listeners[i]; l.Planned && l.RedirectsAll == last {
				p := s.plannerOf(l)
				p.resolve()
				s.planners[l] = p
			}
		}
	}
}

func (s *Planner) plannerOf(l *resolved.Listener) *listenerPlanner {
	return &listenerPlanner{Traffic: &traffic.Traffic{TargetGroups: s.targetGroups}, Usage: s.usage, Finalizers: s.finalizers, conditionKeys: s.conditionKeys, listener: l}
}

// RemoveForeignRules plans to delete the foreign rules of a listener that is retained (resolved.Listener.ForeignRules).
func (s *Planner) RemoveForeignRules(l *resolved.Listener) {
	s.plannerOf(l).removeForeignRules(nil)
}

// Plan plans the listeners of a load balancer. after has the steps that come before the first listener, such as the creation
// of the load balancer. opened has, by port, the steps that open ports in the security group. groups has, by the id of a
// target group, the steps that create it. Plan returns the observed listeners that must be deleted later, because they are
// targets of target groups.
func (s *Planner) Plan(lb *resolved.LoadBalancer, after []plan.StepID, opened map[int32]plan.StepID, groups map[string][]plan.StepID) (targeted []observed.Listener) {
	from := len(s.Draft.Plan.Steps)
	targeted = s.deleteSurplusListeners(lb, after)
	for i := range lb.Listeners {
		if l := &lb.Listeners[i]; l.Planned && !l.RedirectsAll {
			s.planners[l].plan(after, opened, groups)
		}
	}
	// A listener that redirects everything is created after the listener to which it redirects.
	for i := range lb.Listeners {
		if l := &lb.Listeners[i]; l.Planned && l.RedirectsAll {
			s.planners[l].plan(append(slices.Clone(after), s.creationStepsOf(lb, redirectPort(l.DefaultActions))...), opened, groups)
		}
	}
	for i := range lb.Listeners {
		s.plannerOf(&lb.Listeners[i]).removeForeignRules(after)
	}
	s.orderByShare(lb, from)
	(&rules.RuleQuota{TargetGroups: s.targetGroups, Finalizers: s.finalizers, Keys: s.conditionKeys, LB: lb}).PlanRulesAwaitingQuota(groups)
	return targeted
}

// deleteSurplusListeners plans to delete the listeners that no object requests. It does not delete listeners of an ALB that
// are targets of a target group. It returns these listeners, because they must be deleted later.
func (s *Planner) deleteSurplusListeners(lb *resolved.LoadBalancer, after []plan.StepID) (targeted []observed.Listener) {
	if lb.Live == nil {
		return nil
	}
	for _, l := range lb.Live.Listeners {
		switch {
		case slices.Contains(lb.HeldPorts, l.Port):
		case lb.ListenerOnPort(l.Port) != nil:
		case !lb.IsFrontend() && s.albTargets.MayBeTarget(lb.Live, l.Port):
			targeted = append(targeted, l)
		default:
			s.Delete(l, after)
		}
	}
	return targeted
}

// creationStepsOf returns the step that creates the listener on a port; none if no such step is planned.
func (s *Planner) creationStepsOf(lb *resolved.LoadBalancer, port int32) []plan.StepID {
	if id := plan.NewStepID("create", lb.ListenerAddress(port)); port != 0 && s.IsStepPlanned(id) {
		return []plan.StepID{id}
	}
	return nil
}

// Delete plans to delete a listener of a load balancer that is not deleted itself.
func (s *Planner) Delete(l observed.Listener, after []plan.StepID) {
	a := plan.Address{Kind: plan.Listener, ID: l.ARN}
	id := s.Add(plan.Step{
		ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteListener{ARN: l.ARN},
		Changes: []plan.Change{{Path: "port", From: fmt.Sprint(l.Port)}},
		Why:     s.main.ListenerDeletionReason(l.Port), Impact: plan.DeleteImpact, After: after, RequestedBy: s.Members(),
	})
	s.usage.RecordListenerDeletion(l, id)
}
