package handover

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// State is the state of the handover of a load balancer from an IngressGroup, an Ingress or a Service to a Gateway.
type State string

// The states.
const (
	// InIngress: no Gateway requests the load balancer.
	InIngress State = "ingress"
	// Shadow: a Gateway requests the load balancer and is in dry run.
	Shadow State = "shadow"
	// Refused: a Gateway requests the load balancer, and there are obstacles.
	Refused State = "refused"
	// Adopting: the Gateway is taking over the load balancer, and some resources still have the tags of the other stack.
	Adopting State = "adopting"
	// Adopted: all resources belong to the Gateway, and the objects of the other stack still exist.
	Adopted State = "adopted"
	// GivingBack: the other stack is taking back the load balancer.
	GivingBack State = "giving-back"
	// Released: all resources belong to the Gateway, and the other stack has no objects any more.
	Released State = "released"
	// Indeterminate: the facts cannot be read. StateOf never returns it.
	Indeterminate State = "unknown"
)

// StateFacts has the facts that determine the State of a handover.
type StateFacts struct {
	// Gateway and Other are the desired states of both stacks.
	Gateway, Other model.Stack
	// Have has the resources with the tags of either stack. If the Gateway gives back, resources that have only the tags of the
	// other stack may be missing.
	Have observed.Stack
	// Found has the findings of the plan of the Gateway.
	Found finding.List
}

// StateOf determines the state from the desired states and from the tags in AWS.
func StateOf(s StateFacts) State {
	live := s.Have.Live(model.LoadBalancerID)
	from, tagged := PreviousStack(live)
	switch {
	case Claimed(s.Gateway.ID, live) && tagged && from == s.Other.ID:
		return s.stateAfterTakeOver()
	case isBlocked(s.Gateway):
		return s.shadowIfDryRun(Refused)
	case !s.isRequested():
		return InIngress
	case Claimed(s.Gateway.ID, live):
		return s.unmarkedState(live)
	case s.Gateway.DryRun && claimed(s.Gateway) && !isBlocked(s.Other) && !s.Other.Empty():
		return GivingBack // the Gateway still has its finalizer
	case len(TakeOverObstacles(s.Found)) > 0:
		return s.shadowIfDryRun(Refused)
	}
	return s.shadowIfDryRun(Adopting)
}

// unmarkedState returns the state if the load balancer has the tags of the Gateway, but no tag of the stack from which it was
// taken over.
func (s StateFacts) unmarkedState(live *observed.LoadBalancer) State {
	switch {
	case len(TakeOverObstacles(s.Found)) > 0 || !hasNameOf(live, s.Other.ID, s.Other):
		return Refused // the Gateway has a load balancer of its own
	case isGone(s.Other):
		return Released
	case s.Gateway.DryRun:
		return GivingBack
	}
	return Adopting
}

// stateAfterTakeOver returns the state if the load balancer has the tags of the Gateway, and the tag of the stack from which it was
// taken over.
func (s StateFacts) stateAfterTakeOver() State {
	gone := s.Other.Empty() && !s.Other.Held.Everything
	switch {
	case s.hasWithdrawn() && !gone && (isBlocked(s.Other) || mayTakeBack(s.Have.Live(model.LoadBalancerID), s.Other)):
		return GivingBack
	case isUnfinished(s.Other.ID, s.Have):
		return Adopting
	case gone && len(s.Other.Leaving) == 0:
		return Released
	}
	return Adopted
}

// shadowIfDryRun returns a state, or Shadow for a Gateway in dry run.
func (s StateFacts) shadowIfDryRun(state State) State {
	if s.Gateway.DryRun {
		return Shadow
	}
	return state
}

// isRequested reports whether the Gateway requests the load balancer of the other stack.
func (s StateFacts) isRequested() bool {
	return s.Gateway.Adopts != nil && s.Gateway.Adopts.From == s.Other.ID && !s.Gateway.Empty()
}

// hasWithdrawn reports whether the Gateway does not request the load balancer any more that it has taken over. A missing
// class or setting does not withdraw the request.
func (s StateFacts) hasWithdrawn() bool {
	return !isBlocked(s.Gateway) && (!s.isRequested() || s.Gateway.DryRun)
}

// isBlocked reports whether a stack is held as a whole because no part of it can be built.
func isBlocked(s model.Stack) bool { return s.Held.Everything && s.Empty() }

// TakeOverObstacles returns the findings that prevent a take-over.
func TakeOverObstacles(found finding.List) finding.List {
	return slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool {
		return f.Severity != finding.Error || f.Reason != finding.AdoptionRefused && f.Reason != finding.AdoptionDiffers
	})
}
