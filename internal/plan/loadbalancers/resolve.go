package loadbalancers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// ResolveLoadBalancer chooses the subnets, addresses and security groups of a load balancer and stores them in lb. If a
// choice fails, an existing load balancer keeps its setting, and a missing load balancer is not created. shared has the
// security groups of the ALB, for a frontend NLB that has the same security groups.
func ResolveLoadBalancer(d *draft.Draft, lb *resolved.LoadBalancer, shared []plan.SecurityGroupRef) {
	r := resolver{d, lb, shared}
	r.resolveSubnets()
	r.resolveAddresses()
	r.resolveSecurityGroups()
}

// resolver chooses subnets, addresses and security groups for one load balancer.
type resolver struct {
	*draft.Draft
	lb                   *resolved.LoadBalancer
	sharedSecurityGroups []plan.SecurityGroupRef
}

func (r *resolver) resolveSubnets() {
	w := r.lb.Desired
	var live []string
	if r.lb.Live != nil {
		live = r.lb.Live.Subnets
	}
	if _, discovered := w.Subnets.(model.SubnetsDiscovered); discovered && r.lb.Live != nil {
		r.retainSubnets(live)
		return
	}
	of := r.subnetsOrigin(w)
	q := w.SubnetQuestion()
	if f := r.ReadFault(q); f != nil {
		r.retainSubnets(live)
		r.reportUnavailableSetting(*f, "subnets", of)
		return
	}
	chosen, fault := network.ChooseSubnets(network.SubnetRequest{
		Choice: w.Subnets, Scheme: w.Scheme, AddressType: w.AddressType, ALB: w.Type == model.Application,
		Cluster: r.Opt.Cluster, ClusterTagCheck: r.Opt.SubnetClusterCheck, SingleSubnet: r.Opt.SingleSubnet,
		Live: live, EventObject: r.EventObject(of.Object),
	}, r.Have.Facts.Subnets[q.Key()])
	r.lb.Subnets, r.lb.SubnetChoices.Refusals = chosen.IDs, chosen.Refusals
	if fault != nil {
		r.retainSubnets(live)
		r.reportUnsuitableSetting(*fault, "subnets")
	}
}

func (r *resolver) retainSubnets(live []string) {
	r.lb.Subnets, r.lb.SubnetChoices.AreRetained = live, len(live) > 0
}

// subnetsOrigin returns the origin of the choice of subnets: the object that names the subnets, or else the object that
// requests the load balancer, or else the first member of the stack.
func (r *resolver) subnetsOrigin(w *model.LoadBalancer) finding.Origin {
	switch c := w.Subnets.(type) {
	case model.SubnetsNamed:
		return c.Of
	case model.SubnetsTagged:
		return c.Of
	}
	if !w.Of.Object.IsZero() || len(r.Want.Members) == 0 {
		return w.Of
	}
	return finding.Origin{Object: r.Want.Members[0].Ref}
}

// reportUnsuitableSetting reports finding f about a desired setting that cannot be used. part is the name of the setting in
// messages. If the load balancer does not exist yet, its creation is held. For a frontend NLB, the finding blocks nothing
// else.
func (r *resolver) reportUnsuitableSetting(f finding.Finding, part string) {
	if r.lb.IsFrontend() {
		f.Blocks, f.Severity = finding.BlocksNothing, finding.Error
		if r.lb.Live == nil {
			f.Message += ", so the frontend NLB is not created"
		} else {
			f.Message += ", so the frontend NLB keeps its " + part
		}
	}
	r.Findings.Add(f)
	if r.lb.Live == nil {
		r.holdCreation()
	}
}

// reportUnavailableSetting reports that fact f, which a setting depends on, is unavailable. part is the name of the setting
// in messages. An existing load balancer keeps the setting; the creation of a missing load balancer is held.
func (r *resolver) reportUnavailableSetting(f observed.Fault, part string, of finding.Origin) {
	what, reach, made := "the load balancer", finding.BlocksStack, "no load balancer is created"
	if r.lb.IsFrontend() {
		what, reach, made = "the frontend NLB", finding.BlocksNothing, "the frontend NLB is not created"
		if of.Object.IsZero() {
			of = r.lb.Desired.Of
		}
	}
	if r.lb.Live == nil {
		r.holdCreation()
		r.ReportUnavailable(f, made, reach, of)
		return
	}
	r.ReportUnavailable(f, what+" keeps its "+part, finding.BlocksNothing, of)
}

// holdCreation records that the creation of the load balancer is held.
func (r *resolver) holdCreation() {
	if r.lb.IsFrontend() {
		r.Want.Held.Frontend = true
	} else {
		r.Want.Held.Creation = true
	}
}

// resolveSecurityGroups finds the security groups of the load balancer. As long as they are unknown, no load balancer is
// created, because a load balancer without them would admit clients that must not reach it.
func (r *resolver) resolveSecurityGroups() {
	backend := false
	switch c := r.lb.Desired.SecurityGroups.(type) {
	case model.SecurityGroupsShared:
		r.lb.SecurityGroups = r.sharedSecurityGroups
	case model.SecurityGroupsManaged:
		if f := r.ReadFault(model.AskSecurityGroups{}); f != nil {
			r.retainUnavailableSecurityGroups(*f, finding.Origin{})
			return
		}
		r.lb.SecurityGroups = append(r.lb.SecurityGroups, plan.SecurityGroupRef{Address: plan.ManagedSecurityGroupAddress})
		backend = c.Backend
	case model.SecurityGroupsGiven:
		backend = c.Backend
		ask := model.SecurityGroupQuestion(c)
		f := r.ReadFault(ask)
		if f == nil && backend && r.Want.BackendSecurityGroup.Given == "" {
			f = r.ReadFault(model.AskSecurityGroups{})
		}
		if f != nil {
			r.retainUnavailableSecurityGroups(*f, c.Of)
			return
		}
		answer, ok := r.Have.Facts.SecurityGroups[ask.Key()]
		if !ok || len(answer.Missing) > 0 {
			missing := answer.Missing
			if !ok {
				missing = c.Refs
			}
			r.reportUnsuitableSetting(finding.Finding{
				Object: r.EventObject(c.Of.Object), Field: c.Of.Field, Reason: finding.SecurityGroupNotFound,
				Message: fmt.Sprintf("no security group in the VPC has the ID or Name tag %s", strings.Join(missing, ", ")),
				Fix:     "correct the ID or name, or create the security group", Blocks: finding.BlocksStack,
			}, "security groups")
			r.retainSecurityGroups()
			return
		}
		ids := slices.Clone(answer.ByID)
		for _, ref := range c.Refs {
			ids = append(ids, answer.ByName[ref]...)
		}
		for _, id := range ids {
			r.lb.SecurityGroups = append(r.lb.SecurityGroups, plan.SecurityGroupRef{ID: id})
		}
	}
	if backend {
		r.lb.SecurityGroups = append(r.lb.SecurityGroups, plan.SecurityGroupRef{ID: r.Want.BackendSecurityGroup.Given, Address: plan.BackendSecurityGroupAddress})
	}
}

func (r *resolver) retainUnavailableSecurityGroups(f observed.Fault, of finding.Origin) {
	part := "security groups and their rules"
	if r.lb.IsFrontend() {
		part = "security groups"
	}
	r.reportUnavailableSetting(f, part, of)
	r.retainSecurityGroups()
}

// retainSecurityGroups selects the security groups that an existing load balancer already has. It does nothing if the load
// balancer does not exist.
func (r *resolver) retainSecurityGroups() {
	if r.lb.Live == nil {
		return
	}
	r.lb.SecurityGroupsKept = true
	if !r.lb.IsFrontend() {
		r.Want.Held.SecurityGroups = true
	}
	for _, id := range r.lb.Live.SecurityGroups {
		r.lb.SecurityGroups = append(r.lb.SecurityGroups, plan.SecurityGroupRef{ID: id})
	}
}
