package engine

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// nameTaken reports a step that creates what has the name of another owner's resource, with the field that sets the
// name. Which resource that is, why says.
func (f FailedStep) nameTaken(kind model.Kind, why string) (out finding.List) {
	setting := naming.SettingField(kind, "load-balancer-name")
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
		out.Add(finding.Finding{
			Object: ref, Field: field, Reason: finding.NameTaken, Severity: finding.Error,
			Message: fmt.Sprintf("%s (%s); nothing is created", why, by), Fix: fix, Blocks: finding.BlocksNothing,
		})
	}
	return out
}
