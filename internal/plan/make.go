package plan

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Make computes what has to be done to reach the desired state, in an order in which every
// prefix leaves a working load balancer. Findings are faults that only AWS facts could show. A
// plan with Asks is preliminary: answer them and make it again.
func Make(want model.Stack, have observed.Stack, opt Options, memory Memory) (Plan, finding.List) {
	b := makePlan(want, have, opt, memory)
	return b.plan, b.found
}

// makePlan is Make with all that the plan was made of.
func makePlan(want model.Stack, have observed.Stack, opt Options, memory Memory) *builder {
	have, withdrawn := revoke(have)
	want, again := departed(want, have, opt)
	b := planOf(want, have, opt, memory)
	if why := b.irreplaceable(); why != "" && len(b.plan.Asks) == 0 {
		b = b.heldReplacement(want, have, why)
	} else if want.Held.Replacement {
		b.reportReplacementHeld(want.LoadBalancer, "the new one cannot be made, as another finding says")
	}
	b.reportDepartures()
	if again > 0 && (b.plan.Again == 0 || again < b.plan.Again) {
		b.plan.Again = again
	}
	b.plan.Retains = b.retains()
	withdrawn.first(&b.plan)
	b.found.Add(withdrawn.found...)
	return b
}

// planOf is a builder with its plan.
func planOf(want model.Stack, have observed.Stack, opt Options, memory Memory) *builder {
	b := newBuilder(want, have, opt, memory)
	b.claim(b.steps)
	switch {
	case want.Held.Everything || b.guarded():
		// What is live stays; nothing is made. Members that left need not wait for the others.
		if len(want.Members) > 0 {
			b.release().all(b.holders())
		}
	case want.Empty():
		if !b.keepRetained() {
			b.giveUp()
			b.tearDown()
		}
	default:
		reportScheme(b.draft, want)
		b.build()
		b.planArrivals()
		b.reportProtected()
		b.awaitActive()
	}
	b.plan.Known = b.known
	b.plan.Shown = map[Address]string{}
	for _, lb := range []*loadBalancerPlan{&b.loadBalancerPlan, &b.frontend.loadBalancerPlan} {
		if arn := lb.shows(have); arn != "" {
			b.plan.Shown[lb.address()] = arn
		}
	}
	if old := b.loadBalancerPlan.serving(have); old != nil && !b.switched {
		b.plan.Ports = nil
		for _, l := range old.Listeners {
			b.plan.Ports = append(b.plan.Ports, l.Port)
		}
	}
	if lb := have.Live(model.LoadBalancerID); lb != nil || !want.Empty() && !want.Held.Everything && !b.want.Held.Creation {
		b.plan.LoadBalancers = append(b.plan.LoadBalancers, b.address())
	}
	if b.showsFrontend() {
		b.plan.LoadBalancers = append(b.plan.LoadBalancers, b.frontend.address())
	}
	return b
}

var (
	loadBalancerAddress = Address{Kind: LoadBalancer, ID: model.LoadBalancerID}
	managedGroupAddress = Address{Kind: SecurityGroup, ID: model.ManagedGroupID}
	backendGroupAddress = Address{Kind: BackendGroup, ID: model.BackendGroupTag}
)

// builder makes the plan of one stack out of its parts. It lives for one call.
type builder struct {
	*draft
	*finalizers
	*targetGroups
	*groupPlanner
	*usage
	*attachments
	loadBalancerSettings
	traffic *traffic
	keys    liveKeys
	held    *retention

	// loadBalancerPlan is the load balancer of the stack, front that in front of it.
	loadBalancerPlan
	frontend frontendNLB
	// surplus are load balancers that the desired state does not keep.
	surplus []observed.LoadBalancer

	managed        *managedCertificates
	addOns         *addOns
	securityGroups *securityGroups
}

func newBuilder(want model.Stack, have observed.Stack, opt Options, memory Memory) *builder {
	have.Bindings = ownBindings(want, have)
	d := &draft{
		steps: newSteps(want.ID, memory.Waited),
		want:  holdReplacements(withLiveSchemes(want, have), have), have: have, opt: opt, memory: memory,
		known: Known{},
	}
	b := &builder{
		draft: d, finalizers: newFinalizers(d.want.Members), targetGroups: newTargetGroups(d),
		usage: newUsage(), attachments: newAttachments(d), loadBalancerSettings: loadBalancerSettings{d}, keys: liveKeys{},
	}
	b.groupPlanner = &groupPlanner{newLookups(d), b.targetGroups, b.finalizers, b.attachments, &b.loadBalancerPlan, &b.frontend.loadBalancerPlan}
	b.traffic = &traffic{b.targetGroups}
	b.held = newRetention(b.targetGroups, b.keys)
	b.loadBalancerPlan = loadBalancerPlan{id: model.LoadBalancerID, desired: b.want.LoadBalancer}
	b.frontend.loadBalancerPlan = loadBalancerPlan{id: model.FrontendNLBID, desired: b.want.FrontendNLB}
	b.managed = newManagedCertificates(d, b.finalizers)
	b.matchLive()
	b.addOns = &addOns{draft: d, live: b.live}
	b.securityGroups = &securityGroups{draft: d, lb: &b.loadBalancerPlan, frontend: &b.frontend.loadBalancerPlan}
	return b
}

// matchLive decides which live resources the desired state keeps.
func (b *builder) matchLive() {
	for i := range b.have.LoadBalancers {
		lb := &b.have.LoadBalancers[i]
		switch {
		case b.keeps(&b.frontend.loadBalancerPlan, lb):
			b.frontend.live = b.pick(b.frontend.live, lb)
		case b.keeps(&b.loadBalancerPlan, lb):
			b.live = b.pick(b.live, lb)
		default:
			b.surplus = append(b.surplus, *lb)
		}
	}
	if b.opt.CreateFirst && !b.want.Empty() {
		b.surplus = slices.DeleteFunc(b.surplus, func(lb observed.LoadBalancer) bool {
			return b.precede(b.have, lb) || b.frontend.precede(b.have, lb) || b.retainBlocked(lb)
		})
	}
	for _, lb := range []*loadBalancerPlan{&b.loadBalancerPlan, &b.frontend.loadBalancerPlan} {
		if lb.live == nil {
			continue
		}
		b.known[lb.address()] = lb.live.ARN
		for _, l := range lb.live.Listeners {
			b.known[lb.listenerAddress(l.Port)] = l.ARN
		}
	}
	b.matchGroups()
	if g := managedGroup(b.have.SecurityGroups, b.live); g != nil {
		b.known[managedGroupAddress] = g.ID
	}
	if id := b.want.BackendGroup.Given; id != "" {
		b.known[backendGroupAddress] = id
	} else if g := b.have.Facts.BackendGroup; g != nil {
		b.known[backendGroupAddress] = g.ID
	}
	for _, lb := range b.have.LoadBalancers {
		b.known[Address{Kind: LoadBalancer, ID: lb.ARN}] = lb.ARN
		for _, l := range lb.Listeners {
			b.known[Address{Kind: Listener, ID: l.ARN}] = l.ARN
			for _, r := range l.Rules {
				b.known[ruleAddress(r.ARN)] = r.ARN
			}
		}
	}
	for _, g := range b.have.TargetGroups {
		b.known[Address{Kind: TargetGroup, ID: g.ARN}] = g.ARN
	}
}

// keeps reports whether a live load balancer is what a desired one is to be, or stays because of what is
// held. AWS cannot change a type or a scheme.
func (b *builder) keeps(lb *loadBalancerPlan, live *observed.LoadBalancer) bool {
	held := b.want.Held.Everything
	if lb.isFrontend() {
		held = held || lb.desired != nil && b.want.Held.Frontend
	} else {
		held = held || lb.desired == nil && len(b.want.Held.Members) > 0
	}
	return live.ResourceID == lb.id &&
		(held || lb.desired != nil && live.Type == lb.desired.Type.String() && live.Scheme == lb.desired.Scheme)
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
	if !b.want.Held.Everything && len(b.want.Members) > 0 {
		b.found.Add(finding.Finding{
			Object: b.want.Members[0].Ref, Reason: finding.LoadBalancerDoubled, Severity: finding.Warning,
			Message: fmt.Sprintf("load balancers %s and %s both carry the tags of %s; the first is served, the second is left alone", first.ARN, second.ARN, b.want.ID),
			Fix:     "delete the second, or take the tag " + naming.StackTag(b.want.ID.Kind) + " off it",
		})
	}
	return first
}

// sameGroup reports whether a live target group can serve the desired one, or has to be replaced because
// of something that AWS cannot change.
func sameGroup(w model.TargetGroup, h observed.TargetGroup) bool {
	control := func(p *int32) int32 {
		if p == nil {
			return 0
		}
		return *p
	}
	return w.Type == h.Type && w.Protocol == h.Protocol &&
		(w.ProtocolVersion == "" || w.ProtocolVersion == h.ProtocolVersion) &&
		control(w.ControlPort) == control(h.ControlPort) &&
		(w.AddressType == "" || h.AddressType == "" || w.AddressType == h.AddressType)
}

// sameFixedChecks reports whether a live target group of a network load balancer has what AWS once could not change of
// the health check.
func sameFixedChecks(w model.TargetGroup, h observed.TargetGroup) bool {
	switch w.Protocol {
	case "HTTP", "HTTPS":
		return true
	}
	a, b := w.HealthCheck, h.HealthCheck
	return (a.Protocol == "" || a.Protocol == b.Protocol) && (a.HTTPCodes == "" || a.HTTPCodes == b.HTTPCodes) &&
		(a.IntervalSeconds == 0 || a.IntervalSeconds == b.IntervalSeconds) && (a.TimeoutSeconds == 0 || a.TimeoutSeconds == b.TimeoutSeconds)
}

// ruleAddress names a live rule; rules that are yet to be made are named by port and priority.
func ruleAddress(arn string) Address { return Address{Kind: Rule, ID: arn} }

// build plans towards a stack that wants a load balancer.
func (b *builder) build() {
	b.managed.resolve()
	b.resolve()
	if b.want.Held.Creation {
		b.release().all(b.holders())
		b.addOns.plan()
		b.waitLater()
		return
	}
	first, claims := b.holders(), len(b.plan.Steps)
	sg := b.securityGroups.planManaged(first)
	backend := b.securityGroups.planBackend(first)
	lb := b.planLoadBalancers(append(slices.Clone(first), append(sg, backend...)...))
	if b.live != nil {
		lb = first // nothing that is made for one member waits for what concerns all of them
	}
	groups := b.planTargetGroups(lb, append(sg, backend...))
	b.planListeners(&b.loadBalancerPlan, append(slices.Clone(lb), b.addOns.guardFirst()...), groups)
	if len(b.predecessors) > 0 {
		b.addOns.plan() // the new load balancer has them before it serves
	}
	b.planSwitch(&b.loadBalancerPlan, b.plan.Steps[claims:])
	b.planFrontend(append(slices.Clone(first), append(sg, backend...)...))
	b.planPredecessors()
	done := b.allSteps()
	b.removeSurplusGroups()
	b.deletePostponed()
	b.managed.remove(b.listeners, done)
	b.securityGroups.removeSurplus(done)
	b.release().each()
	if len(b.predecessors) == 0 {
		b.addOns.plan()
	}
	b.waitLater()
}

// resolve makes the choices that the desired state leaves open, and completes what is held.
func (b *builder) resolve() {
	resolveLoadBalancer(b.draft, &b.loadBalancerPlan, nil)
	b.resolveListeners()
	b.addOns.resolve()
	if b.frontend.desired != nil && !b.want.Held.Frontend {
		resolveLoadBalancer(b.draft, &b.frontend.loadBalancerPlan, b.groups)
		b.resolveFrontendListeners()
	}
	if b.live == nil && !b.serves() {
		b.want.Held.Creation = true
	}
}

// serves reports whether a new load balancer would have anything to serve: a rule or default action
// that is not held, or no rule at all. That of a Gateway is made before routes are attached to it.
func (b *builder) serves() bool {
	if b.want.ID.Kind.OfGateway() {
		return true
	}
	held, made := 0, 0
	for _, l := range b.listeners {
		if !l.make {
			continue
		}
		made++
		if l.redirectsAll {
			return true
		}
		for _, r := range l.rules {
			if r.held() {
				held++
				continue
			}
			return true
		}
		if l.ownDefault {
			return true
		}
	}
	return made > 0 && held == 0
}

func describe(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
