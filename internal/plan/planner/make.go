package planner

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/addons"
	"github.com/fulcrum-lb/fulcrum/internal/plan/authority"
	"github.com/fulcrum-lb/fulcrum/internal/plan/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/loadbalancers"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/securitygroups"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targetgroups"
	"github.com/fulcrum-lb/fulcrum/internal/plan/traffic"
)

// Make computes what has to be done to reach the desired state, in an order in which every
// prefix leaves a working load balancer. Findings are faults that only AWS facts could show. A
// plan with Asks is preliminary: answer them and make it again.
func Make(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) (plan.Plan, finding.List) {
	b := makePlan(want, have, opt, memory)
	return b.Plan, b.Found
}

// makePlan is Make with all that the plan was made of.
func makePlan(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) *builder {
	have, withdrawn := authority.Revoke(have)
	want, again := departed(want, have, opt)
	b := planOf(want, have, opt, memory)
	if why := b.irreplaceable(); why != "" && len(b.Plan.Asks) == 0 {
		b = b.heldReplacement(want, have, why)
	} else if want.Held.Replacement {
		b.reportReplacementHeld(want.LoadBalancer, "the new one cannot be made, as another finding says")
	}
	b.reportDepartures()
	if again > 0 && (b.Plan.Again == 0 || again < b.Plan.Again) {
		b.Plan.Again = again
	}
	b.Plan.Retains = b.retains()
	withdrawn.First(&b.Plan)
	b.Found.Add(withdrawn.Found...)
	return b
}

// planOf is a builder with its plan.
func planOf(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) *builder {
	b := newBuilder(want, have, opt, memory)
	b.Claim(b.Steps)
	switch {
	case want.Held.Everything || b.guarded():
		// What is live stays; nothing is made. Members that left need not wait for the others.
		if len(want.Members) > 0 {
			b.release().all(b.Holders())
		}
	case want.Empty():
		if !b.keepRetained() {
			b.giveUp()
			b.tearDown()
		}
	default:
		reportScheme(b.Draft, want)
		b.build()
		b.planArrivals()
		b.reportProtected()
		b.awaitActive()
	}
	b.Plan.Known = b.Known
	b.Plan.Shown = map[plan.Address]string{}
	for _, lb := range []*resolved.LoadBalancer{&b.LoadBalancer, &b.frontend.LoadBalancer} {
		if arn := lb.Shows(have); arn != "" {
			b.Plan.Shown[lb.Address()] = arn
		}
	}
	if old := b.LoadBalancer.Serving(have); old != nil && !b.Switched {
		b.Plan.Ports = nil
		for _, l := range old.Listeners {
			b.Plan.Ports = append(b.Plan.Ports, l.Port)
		}
	}
	if lb := have.Live(model.LoadBalancerID); lb != nil || !want.Empty() && !want.Held.Everything && !b.Want.Held.Creation {
		b.Plan.LoadBalancers = append(b.Plan.LoadBalancers, b.Address())
	}
	if b.showsFrontend() {
		b.Plan.LoadBalancers = append(b.Plan.LoadBalancers, b.frontend.Address())
	}
	return b
}

// builder makes the plan of one stack out of its parts. It lives for one call.
type builder struct {
	*draft.Draft
	*draft.Finalizers
	*owners.TargetGroups
	*targetgroups.Planner
	*draft.Usage
	*targetgroups.Attachments
	loadbalancers.Settings
	Traffic *traffic.Traffic
	Keys    owners.LiveKeys
	held    *owners.Retention

	// loadBalancerPlan is the load balancer of the stack, front that in front of it.
	resolved.LoadBalancer
	frontend frontendNLB
	// surplus are load balancers that the desired state does not keep.
	surplus []observed.LoadBalancer

	managed        *certificates.Managed
	addOns         *addons.AddOns
	securityGroups *securitygroups.SecurityGroups
}

func newBuilder(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) *builder {
	have.Bindings = ownBindings(want, have)
	d := &draft.Draft{
		Steps: draft.NewSteps(want.ID, memory.Waited),
		Want:  holdReplacements(withLiveSchemes(want, have), have), Have: have, Opt: opt, Memory: memory,
		Known: plan.Known{},
	}
	b := &builder{
		Draft: d, Finalizers: draft.NewFinalizers(d.Want.Members), TargetGroups: owners.NewTargetGroups(d),
		Usage: draft.NewUsage(), Attachments: targetgroups.NewAttachments(d), Settings: loadbalancers.Settings{Draft: d}, Keys: owners.LiveKeys{},
	}
	b.Planner = targetgroups.NewPlanner(b.TargetGroups, b.Finalizers, b.Attachments, &b.LoadBalancer, &b.frontend.LoadBalancer)
	b.Traffic = traffic.New(b.TargetGroups)
	b.held = owners.NewRetention(b.TargetGroups, b.Keys)
	b.LoadBalancer = resolved.LoadBalancer{ID: model.LoadBalancerID, Desired: b.Want.LoadBalancer}
	b.frontend.LoadBalancer = resolved.LoadBalancer{ID: model.FrontendNLBID, Desired: b.Want.FrontendNLB}
	b.managed = certificates.NewManagedCertificates(d, b.Finalizers)
	b.matchLive()
	b.addOns = &addons.AddOns{Draft: d, Live: b.Live}
	b.securityGroups = &securitygroups.SecurityGroups{Draft: d, LB: &b.LoadBalancer, Frontend: &b.frontend.LoadBalancer}
	return b
}

// matchLive decides which live resources the desired state keeps.
func (b *builder) matchLive() {
	for i := range b.Have.LoadBalancers {
		lb := &b.Have.LoadBalancers[i]
		switch {
		case b.keeps(&b.frontend.LoadBalancer, lb):
			b.frontend.Live = b.pick(b.frontend.Live, lb)
		case b.keeps(&b.LoadBalancer, lb):
			b.Live = b.pick(b.Live, lb)
		default:
			b.surplus = append(b.surplus, *lb)
		}
	}
	if b.Opt.CreateFirst && !b.Want.Empty() {
		b.surplus = slices.DeleteFunc(b.surplus, func(lb observed.LoadBalancer) bool {
			return b.Precede(b.Have, lb) || b.frontend.Precede(b.Have, lb) || b.retainBlocked(lb)
		})
	}
	for _, lb := range []*resolved.LoadBalancer{&b.LoadBalancer, &b.frontend.LoadBalancer} {
		if lb.Live == nil {
			continue
		}
		b.Known[lb.Address()] = lb.Live.ARN
		for _, l := range lb.Live.Listeners {
			b.Known[lb.ListenerAddress(l.Port)] = l.ARN
		}
	}
	b.MatchGroups()
	if g := securitygroups.ManagedGroup(b.Have.SecurityGroups, b.Live); g != nil {
		b.Known[plan.ManagedGroupAddress] = g.ID
	}
	if id := b.Want.BackendGroup.Given; id != "" {
		b.Known[plan.BackendGroupAddress] = id
	} else if g := b.Have.Facts.BackendGroup; g != nil {
		b.Known[plan.BackendGroupAddress] = g.ID
	}
	for _, lb := range b.Have.LoadBalancers {
		b.Known[plan.Address{Kind: plan.LoadBalancer, ID: lb.ARN}] = lb.ARN
		for _, l := range lb.Listeners {
			b.Known[plan.Address{Kind: plan.Listener, ID: l.ARN}] = l.ARN
			for _, r := range l.Rules {
				b.Known[plan.RuleAddress(r.ARN)] = r.ARN
			}
		}
	}
	for _, g := range b.Have.TargetGroups {
		b.Known[plan.Address{Kind: plan.TargetGroup, ID: g.ARN}] = g.ARN
	}
}

// keeps reports whether a live load balancer is what a desired one is to be, or stays because of what is
// held. AWS cannot change a type or a scheme.
func (b *builder) keeps(lb *resolved.LoadBalancer, live *observed.LoadBalancer) bool {
	held := b.Want.Held.Everything
	if lb.IsFrontend() {
		held = held || lb.Desired != nil && b.Want.Held.Frontend
	} else {
		held = held || lb.Desired == nil && len(b.Want.Held.Members) > 0
	}
	return live.ResourceID == lb.ID &&
		(held || lb.Desired != nil && live.Type == lb.Desired.Type.String() && live.Scheme == lb.Desired.Scheme)
}

// pick chooses between two load balancers that both are what is desired, of which one must come
// from somewhere else: the one that listens on more ports. The other is left alone, since no rule can
// say who uses it.
func (b *builder) pick(first, second *observed.LoadBalancer) *observed.LoadBalancer {
	if first == nil {
		return second
	}
	if len(second.Listeners) > len(first.Listeners) {
		first, second = second, first
	}
	if !b.Want.Held.Everything && len(b.Want.Members) > 0 {
		b.Found.Add(finding.Finding{
			Object: b.Want.Members[0].Ref, Reason: finding.LoadBalancerDoubled, Severity: finding.Warning,
			Message: fmt.Sprintf("load balancers %s and %s both carry the tags of %s; the first is served, the second is left alone", first.ARN, second.ARN, b.Want.ID),
			Fix:     "delete the second, or take the tag " + naming.StackTag(b.Want.ID.Kind) + " off it",
		})
	}
	return first
}

// build plans towards a stack that wants a load balancer.
func (b *builder) build() {
	b.managed.Resolve()
	b.resolve()
	if b.Want.Held.Creation {
		b.release().all(b.Holders())
		b.addOns.Plan()
		b.WaitLater()
		return
	}
	first, claims := b.Holders(), len(b.Plan.Steps)
	sg := b.securityGroups.PlanManaged(first)
	backend := b.securityGroups.PlanBackend(first)
	lb := b.planLoadBalancers(append(slices.Clone(first), append(sg, backend...)...))
	if b.Live != nil {
		lb = first // nothing that is made for one member waits for what concerns all of them
	}
	groups := b.PlanTargetGroups(lb, append(sg, backend...))
	b.planListeners(&b.LoadBalancer, append(slices.Clone(lb), b.addOns.GuardFirst()...), groups)
	if len(b.Predecessors) > 0 {
		b.addOns.Plan() // the new load balancer has them before it serves
	}
	b.planSwitch(&b.LoadBalancer, b.Plan.Steps[claims:])
	b.planFrontend(append(slices.Clone(first), append(sg, backend...)...))
	b.planPredecessors()
	done := b.AllSteps()
	b.removeSurplusGroups()
	b.deletePostponed()
	b.managed.Remove(b.Listeners, done)
	b.securityGroups.RemoveSurplus(done)
	b.release().each()
	if len(b.Predecessors) == 0 {
		b.addOns.Plan()
	}
	b.WaitLater()
}

// resolve makes the choices that the desired state leaves open, and completes what is held.
func (b *builder) resolve() {
	loadbalancers.ResolveLoadBalancer(b.Draft, &b.LoadBalancer, nil)
	b.resolveListeners()
	b.addOns.Resolve()
	if b.frontend.Desired != nil && !b.Want.Held.Frontend {
		loadbalancers.ResolveLoadBalancer(b.Draft, &b.frontend.LoadBalancer, b.Groups)
		b.resolveFrontendListeners()
	}
	if b.Live == nil && !b.serves() {
		b.Want.Held.Creation = true
	}
}

// serves reports whether a new load balancer would have anything to serve: a rule or default action
// that is not held, or no rule at all. That of a Gateway is made before routes are attached to it.
func (b *builder) serves() bool {
	if b.Want.ID.Kind.OfGateway() {
		return true
	}
	held, made := 0, 0
	for _, l := range b.Listeners {
		if !l.Make {
			continue
		}
		made++
		if l.RedirectsAll {
			return true
		}
		for _, r := range l.Rules {
			if r.Held() {
				held++
				continue
			}
			return true
		}
		if l.OwnDefault {
			return true
		}
	}
	return made > 0 && held == 0
}

// retains reports whether the plan leaves something live that is not desired as it is: it is held, or waits for what
// takes its place. It errs on the side of yes.
func (b *builder) retains() bool {
	live := b.Live != nil || b.frontend.Live != nil || len(b.Have.LoadBalancers) > 0
	if !live {
		return false
	}
	held := b.Want.Held
	if held.Everything || b.Want.Empty() || held.Creation || held.Replacement || held.Frontend || held.Certificates ||
		len(held.Members) > 0 || len(b.Predecessors)+len(b.frontend.Predecessors)+len(b.surplus) > 0 {
		return true
	}
	for i := range b.Listeners {
		l := &b.Listeners[i]
		if l.Live != nil && (!l.Make || l.Holds() || l.Desired.DefaultHeld != 0 || l.Desired.OrderHeld != 0 ||
			len(l.Certs.Blocked) > 0 || l.Certs.Unavailable || l.Certs.AttachedUnavailable) {
			return true
		}
	}
	return slices.ContainsFunc(b.Plan.Steps, plan.Step.Waits)
}
