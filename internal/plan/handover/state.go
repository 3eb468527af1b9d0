package handover

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// State is where a load balancer is on its way from an IngressGroup, an Ingress or a Service to a Gateway.
type State string

// The states.
const (
	// InIngress: no Gateway asks for the load balancer.
	InIngress State = "ingress"
	// Shadow: a Gateway asks for it and is only planned.
	Shadow State = "shadow"
	// Refused: a Gateway asks for it, and something is in the way.
	Refused State = "refused"
	// Adopting: the Gateway takes it over, and something of it is still that of the objects.
	Adopting State = "adopting"
	// Adopted: all of it is the Gateway's, and the objects are still there.
	Adopted State = "adopted"
	// GivingBack: the objects take it back.
	GivingBack State = "giving-back"
	// Released: all of it is the Gateway's, and no object asks for it any more.
	Released State = "released"
	// Indeterminate: what decides cannot be read. StateOf never returns it.
	Indeterminate State = "unknown"
)

// StateFacts are the facts that decide the State of a handover.
type StateFacts struct {
	// Gateway and Other are the desired states of both, as they are translated.
	Gateway, Other model.Stack
	// Have is what carries the tags of either. Where the Gateway gives back, what carries the tags of the other one
	// alone may be missing.
	Have observed.Stack
	// Found is what the plan of the Gateway reports.
	Found finding.List
}

// StateOf decides the state by what the objects ask for and by the tags in AWS.
func StateOf(s StateFacts) State {
	live := s.Have.Live(model.LoadBalancerID)
	from, tagged := PreviousStack(live)
	switch {
	case Claimed(s.Gateway.ID, live) && tagged && from == s.Other.ID:
		return s.takenState()
	case blocked(s.Gateway):
		return s.unlessShadow(Refused)
	case !s.asks():
		return InIngress
	case Claimed(s.Gateway.ID, live):
		return s.unmarked(live)
	case s.Gateway.DryRun && claimed(s.Gateway) && !blocked(s.Other) && !s.Other.Empty():
		return GivingBack // its finalizer is left
	case len(TakeOverObstacles(s.Found)) > 0:
		return s.unlessShadow(Refused)
	}
	return s.unlessShadow(Adopting)
}

// unmarked returns the state where the load balancer carries the tags of the Gateway, and nothing records that it was
// made for the other stack.
func (s StateFacts) unmarked(live *observed.LoadBalancer) State {
	switch {
	case len(TakeOverObstacles(s.Found)) > 0 || !madeFor(live, s.Other.ID, s.Other):
		return Refused // it has one of its own
	case isGone(s.Other):
		return Released
	case s.Gateway.DryRun:
		return GivingBack
	}
	return Adopting
}

// takenState returns the state where the load balancer carries the tags of the Gateway, and the tag of the stack that
// it was made for.
func (s StateFacts) takenState() State {
	gone := s.Other.Empty() && !s.Other.Held.Everything
	switch {
	case s.withdrawn() && !gone && (blocked(s.Other) || mayReturn(s.Have.Live(model.LoadBalancerID), s.Other)):
		return GivingBack
	case isUnfinished(s.Other.ID, s.Have):
		return Adopting
	case gone && len(s.Other.Leaving) == 0:
		return Released
	}
	return Adopted
}

// unlessShadow returns a state, or Shadow for a Gateway that is only planned.
func (s StateFacts) unlessShadow(state State) State {
	if s.Gateway.DryRun {
		return Shadow
	}
	return state
}

// asks reports whether the Gateway asks for the load balancer of the other stack.
func (s StateFacts) asks() bool {
	return s.Gateway.Adopts != nil && s.Gateway.Adopts.From == s.Other.ID && !s.Gateway.Empty()
}

// withdrawn reports whether the Gateway does not ask any more for what it has taken over. A class or a setting that
// is missing is no withdrawal.
func (s StateFacts) withdrawn() bool {
	return !blocked(s.Gateway) && (!s.asks() || s.Gateway.DryRun)
}

// blocked reports whether a stack is held as a whole because nothing of it can be built.
func blocked(s model.Stack) bool { return s.Held.Everything && s.Empty() }

// TakeOverObstacles returns the findings for which a Gateway does not take a load balancer over.
func TakeOverObstacles(found finding.List) finding.List {
	return slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool {
		return f.Severity != finding.Error || f.Reason != finding.AdoptionRefused && f.Reason != finding.AdoptionDiffers
	})
}
