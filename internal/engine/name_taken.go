package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// computedNameTaken reports whether something was not made because another stack has its name, which the controller
// computed. Such names can be foretold, so another of its names is tried. Not so while no tag names another owner: it may
// be the stack's own resource, and a second one would be made.
func (f FailedStep) computedNameTaken() bool {
	computed := false
	switch do := f.Step.Do.(type) {
	case plan.CreateLoadBalancer:
		computed = f.Step.NameOf == finding.Origin{}
	case plan.CreateTargetGroup:
		computed = !do.Group.Named
	}
	if !computed {
		return false
	}
	var other failure.OtherOwner
	return errors.As(f.Err, &other)
}

// avoidName makes a load balancer get another of the names for which its computed one stands. It reports false where
// none is left.
func (h *holding) avoidName(id, taken string) bool {
	lb := h.loadBalancer()
	if id == model.FrontendNLBID {
		if h.stack.FrontendNLB == nil {
			return false
		}
		own := *h.stack.FrontendNLB
		lb, h.stack.FrontendNLB = &own, &own
	}
	return avoid(&lb.NamesTaken, taken)
}

// avoidGroupName does for a target group what avoidName does.
func (h *holding) avoidGroupName(id, taken string) bool {
	h.stack.TargetGroups = slices.Clone(h.stack.TargetGroups)
	g := h.stack.TargetGroup(id)
	return g != nil && avoid(&g.NamesTaken, taken)
}

func avoid(names *[]string, taken string) bool {
	if len(*names) == naming.Alternatives || slices.Contains(*names, taken) {
		return false
	}
	*names = append(slices.Clone(*names), taken)
	return true
}

// nameTaken reports a step that creates what has the name of another owner's resource, with the field that sets the
// name. Which resource that is, why says.
func (f FailedStep) nameTaken(id model.StackID, why string) (out finding.List) {
	setting := naming.SettingField(id.Kind, "load-balancer-name")
	var lost failure.NoStack
	for _, ref := range f.Step.Blames {
		field, by, fix := string(f.Step.Address.Kind), "the controller computes the name", "remove the other resource"
		_, names := f.Step.Do.(plan.CreateLoadBalancer)
		switch of := f.Step.NameOf; {
		case of != finding.Origin{}:
			field, by = of.String(), of.String()+" sets the name"
			if of.Object == ref {
				field = of.Field
			}
			fix = fmt.Sprintf("choose another name in %s, or remove the other resource", of)
		case names && f.Step.Address.ID == model.LoadBalancerID:
			field, by = setting, fmt.Sprintf("the controller computes the name, because %s is not set", setting)
			fix = fmt.Sprintf("set %s, or remove the other resource", setting)
		}
		if names && errors.As(f.Err, &lost) {
			// Two controllers have removed the tags of each other, and it may serve.
			fix = fmt.Sprintf("if the status shows it, tag it with %s=%s and %s=%s; otherwise %s", naming.StackTag(id.Kind), naming.StackTagValue(id),
				naming.ResourceTag(id.Kind), f.Step.Address.ID, fix)
		}
		out.Add(finding.Finding{
			Object: ref, Field: field, Reason: finding.NameTaken, Severity: finding.Error,
			Message: fmt.Sprintf("%s (%s); nothing is created", why, by), Fix: fix, Blocks: finding.BlocksNothing,
		})
	}
	return out
}
