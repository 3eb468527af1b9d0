package planner

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// Describe returns what the desired state becomes: with the subnets, security groups, certificates and web ACLs
// that a plan for it would choose. It is nil where a plan would make nothing, because the whole
// stack is held or a choice cannot be made, or where facts are missing that the plan has to ask for.
//
// What is held stands there as the plan keeps it: a rule with the live conditions and actions, or
// with the 503 in its place; a listener or network load balancer that stays as it is with its live
// settings but without attributes, which are not read then; security group rules that stay open;
// target groups that only held rules use by their ARN. A listener that cannot be made is left out,
// and so are a web ACL, networking rules of bindings and tags of others that stay because a desired state
// cannot be read. A certificate that is still on its way counts as issued.
func Describe(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) *document.Document {
	doc := &document.Document{ID: want.ID.String(), Resources: map[document.ResourceType]map[string]any{}}
	switch {
	case want.Held.Everything:
		return nil
	case want.Empty(), want.Accelerator != nil:
		return doc
	}
	r := match(want, have, opt, memory)
	issued := r.certificates.AssumeIssued()
	r.choose()
	if r.Want.Held.Creation || len(r.Plan.Questions) > 0 {
		return nil
	}
	d := document.Describer{
		Draft: r.Draft, DesiredGroups: r.groups.DesiredGroups, GroupARN: r.groups.GroupARN, Groups: r.targets,
		LB: &r.lb, Frontend: &r.frontend,
		Rules: r.securityGroups, WebACL: r.addOns.WebACL, Issued: issued, Doc: doc,
	}
	d.SecurityGroup()
	d.LoadBalancer(d.LB)
	d.TargetGroups()
	for _, l := range d.LB.Listeners {
		d.Listener(l)
	}
	d.FrontendNLB()
	d.AddOns()
	d.ManagedCertificates()
	return doc
}
