package planner

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/securitygroups"
)

// tearDown plans to delete the stack: first the load balancer, then bindings, target groups, security groups and
// the finalizers.
func (d *stepPlanner) tearDown() {
	lbs := d.loadBalancers.DeleteSurplus(d.surplusLoadBalancers, "no object needs the load balancer any more", d.disableProtection())
	d.targets.RemoveSurplus(d.usage)
	d.certificates.RemoveUnused(d.lb.Listeners, lbs)
	d.deleteSecurityGroups(d.PossibleDependencies(), lbs)
	d.newReleasePlanner().releaseAll(d.PossibleDependencies())
}

// disableProtection plans to disable the deletion protection of load balancers that are to be deleted, if a member disables
// the protection. It returns the steps.
func (d *stepPlanner) disableProtection() []plan.StepID {
	if !d.Want.Unprotected {
		return nil
	}
	first := len(d.Plan.Steps)
	for _, lb := range d.surplusLoadBalancers {
		a := plan.Address{Kind: plan.LoadBalancer, ID: lb.ARN}
		d.PlanAttributes(a, lb.ARN, map[string]string{plan.DeletionProtectionAttribute: "false"}, lb.Attributes, nil, d.Members())
	}
	var out []plan.StepID
	for _, s := range d.Plan.Steps[first:] {
		out = append(out, s.ID)
	}
	return out
}

// deleteSecurityGroups plans to delete the security groups of the stack after the steps in lbs. If no other stack needs the
// backend security group, it is deleted after the steps in bindings.
func (d *stepPlanner) deleteSecurityGroups(bindings, lbs []plan.StepID) {
	if f := d.ReadFault(model.AskSecurityGroups{}); f != nil {
		// The stack may have security groups, and no run would delete them after the objects of the stack are deleted.
		d.DeleteOnceReadable(plan.ManagedSecurityGroupAddress, plan.DeleteSecurityGroup{}, *f)
		return
	}
	for _, g := range d.Have.SecurityGroups {
		securitygroups.DeleteSecurityGroup(d.Draft, g.ID, "no load balancer has it any more", lbs)
	}
	use := d.Want.BackendSecurityGroup
	g := d.Have.Facts.BackendSecurityGroup
	used := d.Have.Facts.BackendSecurityGroupUsers > 0
	// Other stacks may be deleted at the same time. Each stack checks the use of the backend security group again after its
	// own load balancer is deleted. The last stack then finds no load balancer that uses the security group.
	if use.Given != "" || use.MayBeNeededByOthers || use.Needed || g == nil || used && len(d.Have.LoadBalancers) == 0 {
		return
	}
	// Rules in the security groups of nodes and pods have this security group as their source. These rules are removed
	// together with the bindings.
	s := plan.Step{
		ID: plan.NewStepID("delete", plan.BackendSecurityGroupAddress), Address: plan.BackendSecurityGroupAddress, Verb: plan.Delete,
		Do: plan.DeleteSecurityGroup{GroupID: g.ID}, Impact: plan.DeleteImpact,
		Why: "no load balancer of the cluster needs it any more", After: slices.Clone(bindings), RequestedBy: d.Members(),
	}
	switch {
	case used:
		if s.Wait = d.NewWait("backend "+g.ID, "its load balancer to be deleted", durations.LongestWait); s.Wait == (plan.Wait{}) {
			return
		}
	case len(d.Have.Bindings) > 0:
		s.Wait = d.NewWait("backend "+g.ID, "bindings to remove their rules", durations.LongestWait)
	}
	d.Add(s)
}
