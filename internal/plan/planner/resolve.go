package planner

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/addons"
	"github.com/fulcrum-lb/fulcrum/internal/plan/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/listeners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/loadbalancers"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/replacement"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/securitygroups"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targetgroups"
	"github.com/fulcrum-lb/fulcrum/internal/plan/traffic"
)

// resolution is the state that AWS must have for a stack, after all choices are made: which load balancers and target groups
// are kept or replaced, subnets, security groups, certificates, rules, and what is held. The plan has questions for missing
// facts, and findings about impossible changes.
type resolution struct {
	// Draft has the desired state with the choices in it, the observed state, and the plan, which has no steps yet.
	*draft.Draft
	outcome outcome
	// lb is the load balancer of the stack, frontend its frontend NLB.
	lb, frontend resolved.LoadBalancer
	// surplusLoadBalancers are existing load balancers that are not kept.
	surplusLoadBalancers []observed.LoadBalancer

	groups         *owners.TargetGroups
	targets        *targetgroups.Planner
	albs           *targetgroups.ALBTargetPlanner
	usage          *draft.Usage
	finalizers     *draft.Finalizers
	traffic        *traffic.Traffic
	conditionKeys  owners.ConditionKeys
	retention      *owners.Retention
	listeners      *listeners.Planner
	certificates   *certificates.Managed
	addOns         *addons.AddOns
	securityGroups *securitygroups.Planner
}

// outcome is what the plan does with the stack as a whole.
type outcome int

const (
	outcomeUnchanged outcome = iota // existing resources are neither changed nor deleted
	outcomeServed                   // the stack is changed to its desired state, which has a load balancer
	outcomeRetained                 // no member is accepted, but resources of held members are retained
	outcomeRemoved                  // everything is deleted
)

// resolve makes all choices of a plan. If the load balancer cannot be replaced now, the existing load balancer is kept, and
// all other choices are made for it.
func resolve(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) *resolution {
	r := newResolution(want, have, opt, memory)
	r.decideOutcome(want)
	why := replacement.Obstacle(r.Draft, &r.lb)
	switch {
	case why != "" && len(r.Plan.Questions) == 0:
		return r.resolveWithoutReplacement(want, have, why)
	case want.Held.Replacement:
		replacement.ReportHeldReplacement(r.Draft, r.lb.Live, want.LoadBalancer, "the new one cannot be created, as another finding explains")
	}
	return r
}

// resolveWithoutReplacement makes all choices again for the existing load balancer, which cannot be replaced. why is the
// reason for messages.
func (r *resolution) resolveWithoutReplacement(want model.Stack, have observed.Stack, why string) *resolution {
	want.Held.Replacement = true
	out := newResolution(want, have, r.Opt, r.Memory)
	out.decideOutcome(want)
	for _, f := range r.Findings {
		if f.Severity == finding.Error {
			f.Blocks = finding.BlocksNothing
			out.Findings.Add(f)
		}
	}
	replacement.ReportHeldReplacement(out.Draft, out.lb.Live, r.lb.Desired, why)
	if equal.SameAttribute(r.lb.Desired.Attributes[plan.DeletionProtectionAttribute], "false") {
		out.RetryWithin(durations.FirstPoll) // this plan may disable the deletion protection
	}
	return out
}

// newResolution returns a resolution in which existing load balancers and target groups are matched with desired ones. All
// other choices are not made yet.
func newResolution(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) *resolution {
	have.Bindings = stackBindings(want, have)
	have, unknown := withAssumedTypesAndSchemes(want, have)
	d := &draft.Draft{
		Steps: draft.NewSteps(want.ID, memory.WaitedTimes),
		Want:  replacement.HoldSchemes(withLiveSchemes(want, have), have), Have: have, Opt: opt, Memory: memory,
		KnownIDs: plan.KnownIDs{},
	}
	for _, f := range unknown {
		f.Object = d.EventObject(f.Object)
		d.Findings.Add(f)
	}
	r := &resolution{
		Draft: d, finalizers: draft.NewFinalizers(d.Want.Members), groups: owners.NewTargetGroups(d),
		usage: draft.NewUsage(), albs: targetgroups.NewALBTargetPlanner(d), conditionKeys: owners.ConditionKeys{},
		lb:       resolved.LoadBalancer{ID: model.LoadBalancerID, Desired: d.Want.LoadBalancer},
		frontend: resolved.LoadBalancer{ID: model.FrontendNLBID, Desired: d.Want.FrontendNLB},
	}
	r.targets = targetgroups.NewPlanner(r.groups, r.finalizers, r.albs, &r.lb, &r.frontend)
	r.traffic = &traffic.Traffic{TargetGroups: r.groups}
	r.retention = owners.NewRetention(r.groups, r.conditionKeys)
	r.listeners = listeners.NewPlanner(&r.lb, r.groups, r.usage, r.finalizers, r.albs, r.conditionKeys)
	r.certificates = certificates.NewManaged(r.groups, r.finalizers)
	r.matchLiveResources()
	r.addOns = &addons.AddOns{Draft: d, Live: r.lb.Live}
	r.securityGroups = &securitygroups.Planner{Draft: d, LB: &r.lb, Frontend: &r.frontend}
	return r
}

// decideOutcome determines the outcome of the stack, and makes the remaining choices. original is the desired state before
// choices were added to it.
func (r *resolution) decideOutcome(original model.Stack) {
	switch {
	case r.Want.Held.AllResources || r.mustRetainLoadBalancer():
		r.outcome = outcomeUnchanged
	case r.Want.IsEmpty() && r.retainMembers():
		r.outcome = outcomeRetained
	case r.Want.IsEmpty():
		r.outcome = outcomeRemoved
		r.markForDeletion()
	default:
		r.outcome = outcomeServed
		reportScheme(r.Draft, original)
		r.certificates.Resolve()
		r.makeOpenChoices()
		if !r.Want.Held.Creation {
			r.listeners.Resolve(&r.lb)
			r.listeners.Resolve(&r.frontend)
		}
	}
}

// makeOpenChoices makes the choices that the desired state leaves open, such as subnets and certificates, and records what
// has to be held.
func (r *resolution) makeOpenChoices() {
	loadbalancers.ResolveLoadBalancer(r.Draft, &r.lb, nil)
	r.resolveListeners()
	r.addOns.Resolve()
	if r.frontend.Desired != nil && !r.Want.Held.Frontend {
		loadbalancers.ResolveLoadBalancer(r.Draft, &r.frontend, r.lb.SecurityGroups)
		r.resolveFrontendListeners()
		r.resolveHeldFrontendPorts()
	}
	if r.lb.Live == nil && !r.hasAnythingToServe() {
		r.Want.Held.Creation = true
	}
}

// hasAnythingToServe reports whether a new load balancer would be useful: it would have a rule or default action that is not
// held, or no rules at all. The load balancer of a Gateway is created before it has routes.
func (r *resolution) hasAnythingToServe() bool {
	if r.Want.ID.Kind.IsGateway() {
		return true
	}
	held, made := 0, 0
	for _, l := range r.lb.Listeners {
		if !l.Planned {
			continue
		}
		made++
		if l.RedirectsAll {
			return true
		}
		for i := range l.Rules {
			if l.Rules[i].IsHeld() {
				held++
				continue
			}
			return true
		}
		if l.DefaultServesBackend {
			return true
		}
	}
	return made > 0 && held == 0
}

// mustRetainLoadBalancer reports whether existing resources are retained although they are not desired: because a member that
// is being deleted has deletion protection, or because no member requests the deletion.
func (r *resolution) mustRetainLoadBalancer() bool {
	if !r.Want.IsEmpty() {
		return false
	}
	if g := r.Want.DeletionGuard; g != nil && (r.lb.Live != nil || len(r.surplusLoadBalancers) > 0) {
		r.Findings.Add(*g)
		return true
	}
	// If no object has the finalizer, either the objects were deleted without the finalizer, or the view is incomplete.
	// Existing resources are retained until it is known which is true.
	return len(r.Want.Leaving) == 0
}

// markForDeletion adds the existing load balancer to the surplus load balancers, which are deleted.
func (r *resolution) markForDeletion() {
	if r.lb.Live != nil {
		r.surplusLoadBalancers = append(r.surplusLoadBalancers, *r.lb.Live)
		r.lb.Live = nil
	}
}

// retainMembers reports whether a stack without an accepted member keeps its load balancer because held members have rules
// on it. If so, it retains these rules.
func (r *resolution) retainMembers() bool {
	if r.lb.Live == nil || len(r.Want.Held.Members) == 0 {
		return false
	}
	r.retainListeners()
	if len(r.lb.Listeners) == 0 && !slices.ContainsFunc(r.Want.Held.Members, func(m model.HeldMember) bool { return m.LoadBalancer }) {
		return false
	}
	if r.frontend.Live != nil {
		for _, l := range r.frontend.Live.Listeners {
			r.usage.RetainTargetGroups(l.Default)
		}
	}
	return true
}
