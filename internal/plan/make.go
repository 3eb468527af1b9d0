package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Make computes what has to be done so that the wish comes true, in an order in which every
// prefix leaves a working load balancer. Findings are faults that only AWS facts could show. A
// plan with Asks is preliminary: answer them and make it again.
func Make(want model.Stack, have observed.Stack, opt Options) (Plan, finding.List) {
	b := newBuilder(want, have, opt)
	b.claim()
	switch {
	case want.Held.Everything || b.guarded():
		// What is live stays; nothing is made. Members that left need not wait for the others.
		if len(want.Members) > 0 {
			b.releaseAll(b.holders())
		}
	case want.Empty():
		if !b.keepRetained() {
			b.giveUp()
			b.tearDown()
		}
	default:
		b.tellScheme(want)
		b.build()
	}
	b.plan.Known = b.known
	if lb := have.Live(model.LoadBalancerID); lb != nil || !want.Empty() && !want.Held.Everything && !b.want.Held.Creation {
		b.plan.LoadBalancers = append(b.plan.LoadBalancers, b.address())
	}
	if b.showsFront() {
		b.plan.LoadBalancers = append(b.plan.LoadBalancers, b.front.address())
	}
	return b.plan, b.found
}

var (
	loadBalancerAddress = Address{Kind: LoadBalancer, ID: model.LoadBalancerID}
	managedGroupAddress = Address{Kind: SecurityGroup, ID: model.ManagedGroupID}
	backendGroupAddress = Address{Kind: BackendGroup, ID: model.BackendGroupTag}
)

// builder carries what the parts of Make share. It lives for one call.
type builder struct {
	lookups
	want  model.Stack
	have  observed.Stack
	opt   Options
	plan  Plan
	found finding.List
	known Known

	// loadBalancerPlan is the load balancer of the stack, front that in front of it.
	loadBalancerPlan
	front front
	// surplus are load balancers that the wish does not keep.
	surplus []observed.LoadBalancer
	// groupARN maps logical ids of target groups to the live groups that stay.
	groupARN map[string]string
	// liveGroups are those groups by ARN.
	liveGroups map[string]observed.TargetGroup
	// kept are ARNs of target groups that held rules use, and so must not be deleted.
	kept map[string]bool

	webACL     *string             // resolved; nil: left as it is
	aclFault   *observed.Fault     // why the wished web ACL is not known
	guardsMade bool                // its web ACLs are planned
	own        map[string]string   // ARNs of managed certificates that serve, by id
	ownKept    map[string]bool     // ARNs of those that must not be deleted
	records    map[string]bool     // names of DNS records that the plan makes or removes
	opened     map[int32]StepID    // steps that open and shut ports of the managed group
	later      []Step              // that wait for something, and that nothing depends on
	freedBy    map[string][]StepID // steps after which nothing forwards to a target group, by its ARN
	retained   *retention
	waiting    map[string]bool          // keys of waits
	owners     map[string][]finding.Ref // of live target groups, by ARN
	ruleOwners map[string][]finding.Ref // of live rules that go, by ARN
}

func newBuilder(want model.Stack, have observed.Stack, opt Options) *builder {
	b := &builder{
		want: withLiveSchemes(want, have), have: have, opt: opt,
		known:      Known{},
		groupARN:   map[string]string{},
		kept:       map[string]bool{},
		records:    map[string]bool{},
		freedBy:    map[string][]StepID{},
		ruleOwners: map[string][]finding.Ref{},
		waiting:    map[string]bool{},
	}
	b.loadBalancerPlan = loadBalancerPlan{id: model.LoadBalancerID, wish: b.want.LoadBalancer}
	b.front.loadBalancerPlan = loadBalancerPlan{id: model.FrontendNLBID, wish: b.want.FrontendNLB}
	b.have.Bindings = ownBindings(want, have)
	b.plan.Stack = want.ID
	b.makeLookups()
	b.matchLive()
	return b
}

func (b *builder) add(s Step) StepID {
	if s.Impact == "" {
		s.Impact = NoImpact
	}
	if slices.Contains(s.After, "") {
		s.After = slices.DeleteFunc(slices.Clone(s.After), func(id StepID) bool { return id == "" })
	}
	b.plan.Steps = append(b.plan.Steps, s)
	b.stepIDs[s.ID] = true
	return s.ID
}

func (b *builder) ask(q model.Question) {
	if key := q.Key(); !b.asked[key] {
		b.asked[key] = true
		b.plan.Asks = append(b.plan.Asks, q)
	}
}

// tags are the complete tags of a resource of the stack.
func (b *builder) tags(resourceID string, user map[string]string) Tags {
	return naming.ResourceTags(b.opt.Cluster, b.want.ID, resourceID, user)
}

// members are the objects that wish for the stack, to be blamed for what concerns all of it.
// members are those whose wish the whole is: the objects of the stack, or, once it has none, those
// that are leaving it.
func (b *builder) members() []finding.Ref {
	all := b.want.Members
	if len(all) == 0 {
		all = b.want.Leaving
	}
	var out []finding.Ref
	for _, m := range all {
		out = append(out, m.Ref)
	}
	return out
}

// matchLive decides which live resources the wish keeps.
func (b *builder) matchLive() {
	for i := range b.have.LoadBalancers {
		lb := &b.have.LoadBalancers[i]
		switch {
		case b.keeps(&b.front.loadBalancerPlan, lb):
			b.front.live = b.pick(b.front.live, lb)
		case b.keeps(&b.loadBalancerPlan, lb):
			b.live = b.pick(b.live, lb)
		default:
			b.surplus = append(b.surplus, *lb)
		}
	}
	for _, lb := range []*loadBalancerPlan{&b.loadBalancerPlan, &b.front.loadBalancerPlan} {
		if lb.live == nil {
			continue
		}
		b.known[lb.address()] = lb.live.ARN
		for _, l := range lb.live.Listeners {
			b.known[lb.listenerAddress(l.Port)] = l.ARN
		}
	}
	b.matchGroups()
	if g := b.managedGroup(); g != nil {
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
		held = held || lb.wish != nil && b.want.Held.Frontend
	} else {
		held = held || lb.wish == nil && len(b.want.Held.Members) > 0
	}
	return live.ResourceID == lb.id &&
		(held || lb.wish != nil && live.Type == lb.wish.Type.String() && live.Scheme == lb.wish.Scheme)
}

// pick chooses between two load balancers that both are what the wish wants, of which one must come
// from somewhere else: the one that listens on more ports. The other is left alone, since nobody can
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

// sameGroup says whether a live target group can serve the wish, or has to be replaced because
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

// ruleAddress names a live rule; rules that are yet to be made are named by port and priority.
func ruleAddress(arn string) Address { return Address{Kind: Rule, ID: arn} }

// arn resolves a forward action's group.
func (b *builder) arn(r model.GroupRef) string {
	switch {
	case r.ARN != "":
		return r.ARN
	case r.Name != "":
		return b.have.Facts.TargetGroups[r.Name]
	}
	return b.groupARN[r.ID]
}

// claim makes the members carry the finalizer before anything is made for them.
func (b *builder) claim() {
	for _, m := range b.want.Members {
		if m.Claimed || m.Deleting {
			continue
		}
		a := Address{Kind: Finalizer, ID: m.Ref.String()}
		b.claimOf[m.Ref] = b.add(Step{
			ID: stepID("claim", a), Address: a, Verb: Create,
			Do:  ClaimFinalizer{Ref: m.Ref, Finalizer: m.Finalizer},
			Why: "so that what is made for it is removed with it", Blames: []finding.Ref{m.Ref},
		})
	}
}

func (b *builder) claims() []StepID {
	var out []StepID
	for _, m := range b.want.Members {
		if id, ok := b.claimOf[m.Ref]; ok {
			out = append(out, id)
		}
	}
	return out
}

// claimsOf are the steps after which something may be made for members.
func (b *builder) claimsOf(members ...finding.Ref) []StepID {
	var out []StepID
	for _, m := range members {
		if id, ok := b.claimOf[m]; ok {
			out = append(out, id)
		}
	}
	return out
}

// build plans towards a stack that wants a load balancer.
func (b *builder) build() {
	b.resolveOwnCertificates()
	b.resolve()
	if b.want.Held.Creation {
		b.releaseAll(b.holders())
		b.planAddOns()
		b.waitLater()
		return
	}
	first := b.holders()
	sg := b.planManagedGroup(first)
	backend := b.planBackendGroup(first)
	lb := b.planLoadBalancers(append(slices.Clone(first), append(sg, backend...)...))
	if b.live != nil {
		lb = first // nothing that is made for one member waits for what concerns all of them
	}
	groups := b.planTargetGroups(lb, append(sg, backend...))
	b.planListeners(&b.loadBalancerPlan, append(slices.Clone(lb), b.guardFirst()...), groups)
	b.planFront(append(slices.Clone(first), append(sg, backend...)...))
	done := b.allSteps()
	b.removeSurplusGroups()
	b.deletePostponed()
	b.removeOwnCertificates(done)
	b.removeSurplusSecurityGroups(done)
	b.releaseEach()
	b.planAddOns()
	b.waitLater()
}

// resolve makes the choices that the wish leaves open, and completes what is held.
func (b *builder) resolve() {
	b.resolveLoadBalancer(&b.loadBalancerPlan)
	b.resolveListeners()
	b.resolveAddOns()
	if b.front.wish != nil && !b.want.Held.Frontend {
		b.resolveLoadBalancer(&b.front.loadBalancerPlan)
		b.resolveFrontListeners()
	}
	if b.live == nil && !b.serves() {
		b.want.Held.Creation = true
	}
}

// serves says whether a new load balancer would have anything to serve: a rule or default action
// that is not held, or no rule at all.
func (b *builder) serves() bool {
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

// waitLater adds what is looked at again, after everything that could otherwise wait for it.
func (b *builder) waitLater() {
	for _, s := range b.later {
		b.add(s)
	}
}

// planned says whether a step is part of the plan so far.
func (b *builder) planned(id StepID) bool {
	return b.stepIDs[id]
}

// allSteps are those that later ones may have to wait for. A record that cannot be made only keeps
// its certificate waiting.
func (b *builder) allSteps() []StepID {
	var out []StepID
	for _, s := range b.plan.Steps {
		if _, ok := s.Do.(CreateRecord); !ok {
			out = append(out, s.ID)
		}
	}
	return out
}

// changesOf lists differences of two maps for people.
func changesOf(prefix string, put map[string]string, have map[string]string) []Change {
	var out []Change
	for _, k := range slices.Sorted(maps.Keys(put)) {
		out = append(out, Change{Path: prefix + k, From: have[k], To: put[k]})
	}
	return out
}

// retag plans the change of a resource's tags, if there is one.
func (b *builder) retag(a Address, want Tags, have map[string]string, legacy bool, after []StepID, blames []finding.Ref) StepID {
	put, remove := b.tagDrift(want, have, legacy)
	if b.want.Held.Tags {
		remove = remove[:min(len(remove), tagsOverLimit(put, have))]
	}
	if len(put) == 0 && len(remove) == 0 {
		return ""
	}
	changes := changesOf("tags.", put, have)
	for _, k := range remove {
		changes = append(changes, Change{Path: "tags." + k, From: have[k]})
	}
	return b.add(Step{
		ID: stepID("tag", a), Address: a, Verb: Update, Changes: changes,
		Do:  SetTags{Of: a, Put: put, Remove: remove, RemoveFirst: len(have)+len(put) > naming.MaxTags},
		Why: "tags differ", After: after, Blames: blames,
	})
}

// tagsOverLimit is how many tags a resource has too many after put. Held tags leave as many: a new tag of
// one member does not fail because another cannot be read.
func tagsOverLimit(put Tags, have map[string]string) int {
	n := 0
	for k := range have {
		if _, also := put[k]; !also && !strings.HasPrefix(k, "aws:") {
			n++
		}
	}
	return max(0, n+len(put)-naming.MaxTags)
}

// retagBelow plans the change of the tags of a listener or rule of a load balancer.
func (b *builder) retagBelow(lb string, a Address, want Tags, have map[string]string, after []StepID, blames []finding.Ref) {
	if f := b.unread(model.AskRuleTags{ARN: lb}); f != nil {
		b.tellUnread(*f, "listeners and rules keep their tags", finding.BlocksNothing)
		return
	}
	b.retag(a, want, have, false, after, blames)
}

// tagDrift says which tags to put and which to remove. Keys of AWS, keys that somebody else
// manages and, for removal, keys of the older controller are left alone.
func (b *builder) tagDrift(want Tags, have map[string]string, legacy bool) (Tags, []string) {
	ignored := func(k string) bool {
		return strings.HasPrefix(k, "aws:") || slices.Contains(b.opt.ExternalTags, k)
	}
	put := Tags{}
	for k, v := range want {
		if h, ok := have[k]; !ignored(k) && (!ok || h != v) {
			put[k] = v
		}
	}
	var remove []string
	for _, k := range slices.Sorted(maps.Keys(have)) {
		if _, wanted := want[k]; !wanted && !ignored(k) && !(legacy && naming.LegacyTag(b.opt.Cluster, k)) {
			remove = append(remove, k)
		}
	}
	return put, remove
}

func describe(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
