package handover

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// State is the state of the handover of a load balancer from an IngressGroup, an Ingress or a Service to a Gateway.
type State string

// The states of a handover, with the values that commands print.
const (
	// StateNotRequested means that no Gateway requests the load balancer.
	StateNotRequested State = "ingress"
	// StateShadow means that a Gateway requests the load balancer and is in dry run.
	StateShadow State = "shadow"
	// StateRefused means that a Gateway requests the load balancer, but there are obstacles.
	StateRefused State = "refused"
	// StateAdopting means that the Gateway is taking over the load balancer, and some resources still have the tags of the
	// other stack.
	StateAdopting State = "adopting"
	// StateAdopted means that all resources belong to the Gateway, but the objects of the other stack still exist.
	StateAdopted State = "adopted"
	// StateGivingBack means that the other stack is taking back the load balancer.
	StateGivingBack State = "giving-back"
	// StateReleased means that all resources belong to the Gateway, and the other stack has no objects any more.
	StateReleased State = "released"
	// StateIndeterminate means that facts could not be read. StateOf never returns this state.
	StateIndeterminate State = "unknown"
)

// StateFacts has the facts that determine the State of a handover.
type StateFacts struct {
	// Gateway and Other are the desired states of both stacks.
	Gateway, Other model.Stack
	// Have has the resources with the tags of either stack. While the load balancer is returned to the other stack, resources
	// that have only the tags of the other stack may be missing.
	Have observed.Stack
	// Findings has the findings of the plan of the Gateway.
	Findings finding.List
}

// StateOf determines the state of a handover from the desired states of both stacks, the tags in AWS, and the findings of
// the plan of the Gateway.
func StateOf(s StateFacts) State {
	live := s.Have.LiveLoadBalancer(model.LoadBalancerID)
	from, tagged := PreviousStack(live)
	switch {
	case HasTagsOfStack(s.Gateway.ID, live) && tagged && from == s.Other.ID:
		return s.stateAfterTakeOver()
	case isHeldEntirely(s.Gateway):
		return s.shadowIfDryRun(StateRefused)
	case !s.isRequested():
		return StateNotRequested
	case HasTagsOfStack(s.Gateway.ID, live):
		return s.stateWithoutPreviousTag(live)
	case s.Gateway.DryRun && hasFinalizer(s.Gateway) && !isHeldEntirely(s.Other) && !s.Other.IsEmpty():
		return StateGivingBack // the Gateway still has its finalizer
	case len(TakeOverObstacles(s.Findings)) > 0:
		return s.shadowIfDryRun(StateRefused)
	}
	return s.shadowIfDryRun(StateAdopting)
}

// stateWithoutPreviousTag returns the state if the load balancer has the tags of the Gateway, but no tag that records from
// which stack it was taken over.
func (s StateFacts) stateWithoutPreviousTag(live *observed.LoadBalancer) State {
	switch {
	case len(TakeOverObstacles(s.Findings)) > 0 || !hasNameOf(live, s.Other.ID, s.Other):
		return StateRefused // the Gateway has another load balancer
	case hasNoObjects(s.Other):
		return StateReleased
	case s.Gateway.DryRun:
		return StateGivingBack
	}
	return StateAdopting
}

// stateAfterTakeOver returns the state if the load balancer has the tags of the Gateway, and the tag that records that it
// was taken over from the other stack.
func (s StateFacts) stateAfterTakeOver() State {
	gone := s.Other.IsEmpty() && !s.Other.Held.AllResources
	switch {
	case s.hasWithdrawn() && !gone && (isHeldEntirely(s.Other) || mayTakeBack(s.Have.LiveLoadBalancer(model.LoadBalancerID), s.Other)):
		return StateGivingBack
	case hasResourceOf(s.Other.ID, s.Have):
		return StateAdopting
	case gone && len(s.Other.Leaving) == 0:
		return StateReleased
	}
	return StateAdopted
}

// shadowIfDryRun returns StateShadow if the Gateway is in dry run, and otherwise the given state.
func (s StateFacts) shadowIfDryRun(state State) State {
	if s.Gateway.DryRun {
		return StateShadow
	}
	return state
}

// isRequested reports whether the Gateway requests the load balancer of the other stack.
func (s StateFacts) isRequested() bool {
	return s.Gateway.Adopts != nil && s.Gateway.Adopts.From == s.Other.ID && !s.Gateway.IsEmpty()
}

// hasWithdrawn reports whether the Gateway does not request any more the load balancer that it has taken over. The request
// continues if the class or a setting is missing.
func (s StateFacts) hasWithdrawn() bool {
	return !isHeldEntirely(s.Gateway) && (!s.isRequested() || s.Gateway.DryRun)
}

// isHeldEntirely reports whether a stack is held as a whole because its desired state cannot be determined.
func isHeldEntirely(s model.Stack) bool { return s.Held.AllResources && s.IsEmpty() }

// TakeOverObstacles returns the findings that prevent a take-over.
func TakeOverObstacles(found finding.List) finding.List {
	return slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool {
		return f.Severity != finding.Error || f.Reason != finding.AdoptionRefused && f.Reason != finding.AdoptionDiffers
	})
}
