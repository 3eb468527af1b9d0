package listeners

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// orderByShare sorts the steps that create listeners, certificates and rules by the shares of namespaces in the quotas. It
// sorts only the steps whose index in the plan is at least from.
func (s *Planner) orderByShare(lb *resolved.LoadBalancer, from int) {
	s.OrderStepsByShare(s.listenerShares(lb), from, func(step plan.Step) []string {
		do, creates := step.Do.(plan.CreateListener)
		if !creates {
			return nil
		}
		if l := lb.ListenerOnPort(do.Settings.Port); l != nil {
			return draft.Namespaces(l.Desired.Owners())
		}
		return nil
	})
	s.OrderStepsByShare(certificateShares(lb), from, func(step plan.Step) []string {
		do, adds := step.Do.(plan.AddCertificate)
		i := slices.IndexFunc(lb.Listeners, func(l resolved.Listener) bool { return adds && l.Address() == do.Listener })
		if i < 0 {
			return nil
		}
		return lb.Listeners[i].Certs.Namespaces(do.ARN)
	})
	s.OrderStepsByShare(lb.RuleShares, from, func(step plan.Step) []string {
		do, creates := step.Do.(plan.CreateRule)
		if !creates {
			return nil
		}
		return []string{do.Rule.Member.Namespace}
	})
}

// listenerShares counts the observed listeners of a load balancer by namespace. A listener of several namespaces counts for
// each of them. A listener that no member requests any more counts as ToBeDeleted for the namespaces that own its rules.
func (s *Planner) listenerShares(lb *resolved.LoadBalancer) plan.Shares {
	out := plan.Shares{}
	if lb.Live == nil {
		return out
	}
	for _, live := range lb.Live.Listeners {
		if l := lb.ListenerOnPort(live.Port); l != nil {
			out.AddRetained(draft.Namespaces(l.Desired.Owners())...)
			continue
		}
		if slices.Contains(lb.HeldPorts, live.Port) {
			continue
		}
		owners := s.actionOwners(lb, live.Default)
		for _, r := range live.Rules {
			owners = append(slices.Clone(owners), s.actionOwners(lb, r.Actions)...)
		}
		out.AddToBeDeleted(draft.Namespaces(owners)...)
	}
	return out
}

func (s *Planner) actionOwners(lb *resolved.LoadBalancer, actions []model.Action) []finding.Ref {
	if of := s.targetGroups.ActionOwners(actions); of != nil {
		return of
	}
	return s.targetGroups.ActionOwnersByID(actions, lb.Members()...)
}

// certificateShares counts the attached certificates of a load balancer by namespace, as retained.
func certificateShares(lb *resolved.LoadBalancer) plan.Shares {
	out := plan.Shares{}
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		if l.Live == nil {
			continue
		}
		for _, arn := range l.Live.Certificates {
			out.AddRetained(l.Certs.Namespaces(arn)...)
		}
	}
	return out
}
