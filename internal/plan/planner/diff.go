package planner

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/loadbalancers"
	"github.com/fulcrum-lb/fulcrum/internal/plan/replacement"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// stepPlanner compares a resolution with the observed state and adds the steps in order. It decides only what each step
// waits for; the resolution contains all other choices.
type stepPlanner struct {
	*resolution
	loadBalancers *loadbalancers.Planner
	replacements  *replacement.Planner
	// listenersAwaitingDeregistration has the surplus ALB listeners that are targets of target groups. They can be deleted
	// only after they are deregistered.
	listenersAwaitingDeregistration []observed.Listener
}

// diff adds the steps of a resolution to the plan of its Draft.
func diff(r *resolution) {
	d := &stepPlanner{resolution: r, loadBalancers: &loadbalancers.Planner{Draft: r.Draft, Usage: r.usage, ALBTargets: r.albs}}
	d.replacements = &replacement.Planner{Traffic: r.traffic, Usage: r.usage, ALBTargets: r.albs, LoadBalancers: d.loadBalancers, Listeners: r.listeners}
	r.finalizers.PlanFinalizers(r.Steps)
	r.certificates.AddPlannedSteps()
	switch r.outcome {
	case outcomeUnchanged:
		d.refuseHostnames()
		// Nothing is created. Leaving members wait only for the removal of their rules, not for other members.
		if len(r.Want.Members) > 0 {
			d.newReleasePlanner().releaseAll(append(d.removeDepartedRules(), r.finalizers.AnyFinalizerSteps()...))
		}
	case outcomeRetained:
		d.planRetained()
	case outcomeRemoved:
		d.tearDown()
	case outcomeServed:
		d.converge()
		memberMoves{r}.recordArrivals()
		memberMoves{r}.reportDeletionProtection()
		reportFailed(r.Draft, &r.lb, &r.frontend)
		r.retryUntilLoadBalancerActive()
	}
	d.recordShownState()
}

// converge plans the changes of a stack whose desired state has a load balancer.
func (d *stepPlanner) converge() {
	if d.Want.Held.Creation {
		d.newReleasePlanner().releaseAll(d.finalizers.AnyFinalizerSteps())
		d.addOns.Plan()
		d.AddTrailingSteps()
		return
	}
	first, claims := d.finalizers.AnyFinalizerSteps(), len(d.Plan.Steps)
	if d.lb.Live != nil {
		first = append(slices.Clone(first), d.TakeOver(d.lb.Address(), d.lb.ID, d.lb.Live.Tags, first)...)
	}
	taken := len(d.Plan.Steps)
	sg := d.securityGroups.PlanManagedSecurityGroup(first)
	backend := d.securityGroups.PlanBackendSecurityGroup(first)
	lb := d.planLoadBalancer(append(slices.Clone(first), append(sg, backend...)...))
	if d.lb.Live != nil {
		lb = first // target groups and listeners do not wait for changes of an existing load balancer
	}
	groups := d.targets.PlanTargetGroups(lb, append(sg, backend...))
	d.listenersAwaitingDeregistration = d.listeners.Plan(&d.lb, append(slices.Clone(lb), d.addOns.StepsBeforeListeners()...), d.securityGroups.PortSteps, groups)
	if len(d.lb.Previous) > 0 {
		d.addOns.Plan() // add-ons of a replacement are planned before the status shows the new load balancer
	}
	d.refuseOnHeldListeners()
	d.replacements.SwitchStatus(&d.lb, d.Plan.Steps[claims:])
	d.planFrontend(append(slices.Clone(first), append(sg, backend...)...))
	d.replacements.DeletePrevious(&d.lb, &d.frontend)
	done := d.PossibleDependencies()
	d.targets.RemoveSurplus(d.usage)
	d.deleteDeregisteredListeners()
	d.certificates.RemoveUnused(d.lb.Listeners, done)
	d.securityGroups.RemoveSurplus(done)
	d.newReleasePlanner().releaseEach()
	if len(d.lb.Previous) == 0 {
		d.addOns.Plan()
	}
	draft.OrderAfterTakeOver(d.Draft, first, taken)
	if d.lb.Live != nil {
		d.EndTakeOver(d.lb.Address(), d.lb.Live.Tags, d.Members())
	}
	d.AddTrailingSteps()
}

// planLoadBalancer plans to create or change the load balancer of the stack, and to delete surplus load balancers. It
// returns the steps after which the load balancer exists.
func (d *stepPlanner) planLoadBalancer(after []plan.StepID) []plan.StepID {
	if d.lb.Live == nil {
		d.loadBalancers.DeleteSurplus(d.surplusLoadBalancers, "the load balancer has to be replaced, because its scheme or type cannot be changed", after)
		return d.loadBalancers.Create(&d.lb, after)
	}
	d.loadBalancers.Change(&d.lb, after)
	// This controller never creates a second load balancer for a stack, so that another controller must have created it.
	d.loadBalancers.DeleteSurplus(d.surplusLoadBalancers, "another load balancer serves the stack", after)
	return after
}

// planRetained plans a stack without an accepted member, in which only the listeners and rules of held members remain. All
// other listeners and rules are deleted.
func (d *stepPlanner) planRetained() {
	for _, l := range d.lb.Live.Listeners {
		if kept := d.lb.ListenerOnPort(l.Port); kept != nil {
			d.listeners.RemoveForeignRules(kept)
		} else {
			d.listeners.Delete(l, nil)
		}
	}
	d.targets.RemoveSurplus(d.usage)
	d.newReleasePlanner().releaseEach()
}

func (d *stepPlanner) newReleasePlanner() *releasePlanner {
	return &releasePlanner{d.groups, d.usage, d.finalizers, d.lb.Listeners}
}

// recordShownState records in the plan which load balancers and ports the status shows.
func (d *stepPlanner) recordShownState() {
	d.Plan.KnownIDs = d.KnownIDs
	d.Plan.ShownARNs = map[plan.Address]string{}
	for _, lb := range []*resolved.LoadBalancer{&d.lb, &d.frontend} {
		if arn := lb.ShownPreviousARN(d.Have); arn != "" {
			d.Plan.ShownARNs[lb.Address()] = arn
		}
	}
	old := d.lb.ShownPrevious(d.Have)
	if d.Want.Held.AllResources {
		// The whole stack is held, so that no listener is created or changed. The status shows the ports of the existing
		// listeners, because another stack may already have taken over some listeners.
		old = d.Have.LiveLoadBalancer(model.LoadBalancerID)
	}
	if old != nil && !d.lb.StatusSwitched {
		d.Plan.Ports = nil
		for _, l := range old.Listeners {
			d.Plan.Ports = append(d.Plan.Ports, l.Port)
		}
	}
	if live := d.Have.LiveLoadBalancer(model.LoadBalancerID); live != nil || d.outcome == outcomeServed && !d.Want.Held.Creation {
		d.Plan.LoadBalancers = append(d.Plan.LoadBalancers, d.lb.Address())
	}
	if d.showsFrontend() {
		d.Plan.LoadBalancers = append(d.Plan.LoadBalancers, d.frontend.Address())
	}
}

// showsFrontend reports whether the status shows the DNS name of the frontend NLB.
func (d *stepPlanner) showsFrontend() bool {
	return d.Want.FrontendNLB != nil && (d.frontend.Live != nil || len(d.frontend.Previous) > 0 || !d.IsFrontendHeld() && !d.Want.Held.Creation)
}

// hasHeldPart reports whether AWS may still differ from the desired state after the plan, because something is held or waits
// to be replaced, or because a step waits. It returns false if the stack has no load balancer in AWS.
func (r *resolution) hasHeldPart() bool {
	live := r.lb.Live != nil || r.frontend.Live != nil || len(r.Have.LoadBalancers) > 0
	if !live {
		return false
	}
	held := r.Want.Held
	if held.AllResources || r.Want.IsEmpty() || held.Creation || held.Replacement || held.Frontend || held.Certificates ||
		len(held.Members) > 0 || len(r.lb.Previous)+len(r.frontend.Previous)+len(r.surplusLoadBalancers) > 0 {
		return true
	}
	for i := range r.lb.Listeners {
		l := &r.lb.Listeners[i]
		if l.Live != nil && (!l.Planned || l.HasHeldRule() || l.Desired.DefaultHeld != 0 || l.Desired.OrderHeld != 0 ||
			len(l.Certs.BlockedMembers) > 0 || l.Certs.Unavailable || l.Certs.AttachedUnavailable) {
			return true
		}
	}
	return slices.ContainsFunc(r.Plan.Steps, plan.Step.Waits)
}
