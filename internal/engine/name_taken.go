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

// isComputedNameTaken reports whether a load balancer or target group was not created because another stack has the name
// that the controller computed. The controller then tries an alternative name, because any user can compute the name and
// create a resource with it. The result is false if the tags of the existing resource name no other owner. That resource may
// belong to this stack, and an alternative name would create a second resource.
func (f FailedStep) isComputedNameTaken() bool {
	computed := false
	switch do := f.Step.Do.(type) {
	case plan.CreateLoadBalancer:
		computed = f.Step.NameOrigin == finding.Origin{}
	case plan.CreateTargetGroup:
		computed = !do.Group.Named
	}
	if !computed {
		return false
	}
	var other failure.OtherOwnerError
	return errors.As(f.Err, &other)
}

// markLoadBalancerNameTaken records that a computed name of the load balancer with an ID is taken. The next plan then
// computes another name. It returns false if no alternative is left, or if the name was recorded before.
func (h *heldPartMarker) markLoadBalancerNameTaken(id, taken string) bool {
	lb := h.loadBalancer()
	if id == model.FrontendNLBID {
		if h.stack.FrontendNLB == nil {
			return false
		}
		own := *h.stack.FrontendNLB
		lb, h.stack.FrontendNLB = &own, &own
	}
	return addTakenName(&lb.NamesTaken, taken)
}

// markTargetGroupNameTaken records that a computed name of the target group with an ID is taken. The next plan then computes
// another name. It returns false if no alternative is left, or if the name was recorded before.
func (h *heldPartMarker) markTargetGroupNameTaken(id, taken string) bool {
	h.stack.TargetGroups = slices.Clone(h.stack.TargetGroups)
	g := h.stack.TargetGroup(id)
	return g != nil && addTakenName(&g.NamesTaken, taken)
}

// addTakenName adds a name to the names that are taken. It returns false if the name is already in the list, or no
// alternative is left.
func addTakenName(names *[]string, taken string) bool {
	if len(*names) == naming.AlternativeCount || slices.Contains(*names, taken) {
		return false
	}
	*names = append(slices.Clone(*names), taken)
	return true
}

// nameTakenFindings returns the findings about a step whose resource would have the name of a resource of another owner. The
// findings have the field that sets the name. why is a text that identifies the existing resource.
func (f FailedStep) nameTakenFindings(id model.StackID, why string) (out finding.List) {
	setting := naming.SettingField(id.Kind, "load-balancer-name")
	var lost failure.NoStackError
	for _, ref := range f.Step.RequestedBy {
		field, by, fix := string(f.Step.Address.Kind), "the controller computes the name", "remove the other resource"
		_, names := f.Step.Do.(plan.CreateLoadBalancer)
		switch of := f.Step.NameOrigin; {
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
			// Two controllers may have removed each other's tags from a resource that serves traffic.
			fix = fmt.Sprintf("if the status of the object shows this load balancer, tag the load balancer with %s=%s and %s=%s; otherwise %s", naming.StackTag(id.Kind), naming.StackTagValue(id),
				naming.ResourceTag(id.Kind), f.Step.Address.ID, fix)
		}
		out.Add(finding.Finding{
			Object: ref, Field: field, Reason: finding.NameTaken, Severity: finding.Error,
			Message: fmt.Sprintf("%s (%s); nothing is created", why, by), Fix: fix, Blocks: finding.BlocksNothing,
		})
	}
	return out
}
