package ingress

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// Translate builds the desired state of a stack and what is wrong with it. Findings are sorted and
// without repeats. A view with an error makes the result meaningless. live is what is observed of the
// stack; nil: it is not known yet, and what members disagree on is decided as for a new load balancer,
// with Contested set.
func (f *Frontend) Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	g := f.load(v, id)
	t := newTranslation(f.opt, v, id, live)
	t.members, t.former, t.found = g.members, g.former, g.found
	t.stack.ID, t.stack.Leaving, t.stack.DeletionGuard = id, g.leaving, g.guard
	t.stack.BackendGroup = model.BackendGroupUse{Given: f.opt.BackendGroup, Tags: f.opt.DefaultTags, OthersLive: true}
	t.findMissingClass()
	if len(t.members) == 0 {
		t.retainFormer()
		// A load balancer of one Ingress alone stays as it is while that cannot be placed.
		t.stack.Held.Everything = g.astray || len(t.former) > 0 && id.Namespace != ""
		t.stack.BackendGroup.OthersLive = f.othersLive(v, id)
		return t.stack, t.found.Sorted()
	}
	t.stack.Describe = f.opt.DescribePlan
	t.build()
	return t.stack, t.found.Sorted()
}

// translation is one run of Translate over a stack with members.
type translation struct {
	opt  Options
	view *cluster.View
	id   model.StackID
	live *observed.Stack // nil: not known
	// unanswered counts what could not be compared with what is live, because AWS gives no answer.
	unanswered int
	members    []*member
	former     []*member
	found      finding.List
	stack      model.Stack

	// missingClass is a former member whose class cannot be read and whose rules are live. It, or its class,
	// may have asked for all that is live.
	missingClass *member
	ports        []*port
	redirect     settings.Opt[int32]
	// owners is who owns which host in isolated tenancy; nil in cooperative tenancy.
	owners *hostOwners
	// decider are the class parameters that decide alone in isolated tenancy, found when first needed.
	decider *finding.Ref
	// rules counts the rules of each namespace.
	rules map[string]int
	// named are the target groups of others that each namespace names.
	named    map[string]map[string]bool
	peer     *model.Peer
	groups   map[groupKey]*targetGroup
	backends map[finding.Ref]settings.Backend
}

func newTranslation(opt Options, v *cluster.View, id model.StackID, live *observed.Stack) *translation {
	return &translation{
		opt: opt, view: v, id: id, live: live,
		rules: map[string]int{}, named: map[string]map[string]bool{}, groups: map[groupKey]*targetGroup{}, backends: map[finding.Ref]settings.Backend{},
	}
}

func (t *translation) build() {
	for _, m := range t.members {
		t.prepare(m)
		t.partial(m)
	}
	t.mergePorts()
	t.assignHosts()
	alb := t.loadBalancer()
	t.redirect = t.sslRedirect()
	t.memberFaults()
	t.unguarded()
	t.addOns(alb)
	t.unknown()
	t.stack.LoadBalancer = alb
	t.stack.FrontendNLB = t.front(alb)
	t.frontSources(alb, t.stack.FrontendNLB)
	for _, p := range t.ports {
		alb.Listeners = append(alb.Listeners, t.listener(p))
	}
	t.retainFormer()
	t.retainLost()
	t.finishGroups()
	t.requested()
	blocked := 0
	for _, m := range t.members {
		if m.blocked {
			blocked++
		}
		t.stack.Members = append(t.stack.Members, model.Member{
			Ref: m.ref, Finalizer: naming.Finalizer(t.id), Blocked: m.blocked,
			Claimed: t.claimed(m),
		})
	}
	strict := t.opt.StrictGroups && slices.ContainsFunc(t.found, func(f finding.Finding) bool { return f.Severity == finding.Error })
	t.stack.Held.Everything = blocked == len(t.members) || t.found.Reach() == finding.BlocksStack || strict
}

func (t *translation) claimed(m *member) bool {
	return slices.Contains(m.ing.Finalizers, naming.Finalizer(t.id))
}

// prepare settles what a member says by itself.
func (t *translation) prepare(m *member) {
	if len(m.set.MemberFaults()) > 0 {
		m.blocked = true
	}
	t.memberTags(m)
	t.requestCertificate(m)
	switch p := m.set.ListenPorts; {
	case m.lost:
	case p.Fault != nil:
		m.lost = true
	case p.Set:
		m.ports = p.Value
	default:
		m.ports = defaultPorts(m)
	}
	t.limitSize(m)
	for _, key := range sortedKeys(m.set.ListenerAttributes) {
		used := slices.ContainsFunc(m.ports, func(p settings.ListenPort) bool { return p.Key() == key })
		t.block(m, m.set.ListenerAttributes[key].Check(), used)
	}
}

// partial notes what a member leaves open that may have had its part in what is live.
func (t *translation) partial(m *member) {
	t.stack.Held.Tags = t.stack.Held.Tags || m.lost || m.set.Tags.Fault != nil
}

// memberFaults reports faults that hold whole members.
func (t *translation) memberFaults() {
	for _, m := range t.members {
		for _, f := range m.set.MemberFaults() {
			t.fault(m, f, finding.BlocksMember)
		}
	}
}

// fault reports what a member, or its class parameters, wrote wrong.
func (t *translation) fault(m *member, f settings.Fault, reach finding.Reach) {
	x := f.Finding(reach)
	if x.Object.Kind == paramsKind {
		x.Object, x.Field = m.ref, fieldOn(m.ref, f.Origin)
	}
	t.found.Add(x)
}

// block holds everything of a member for a setting that cannot be read, if it is used at all.
func (t *translation) block(m *member, f *settings.Fault, used bool) {
	switch {
	case f == nil:
	case used:
		m.blocked = true
		t.fault(m, *f, finding.BlocksMember)
	default:
		x := f.Finding(finding.BlocksNothing)
		x.Severity = finding.Warning
		t.found.Add(x)
	}
}

func (t *translation) redirects(l model.Listener) bool { return t.redirect.Set && l.TLS == nil }

// othersLive says whether an Ingress outside the stack may still need the shared backend group.
func (f *Frontend) othersLive(v *cluster.View, id model.StackID) bool {
	for _, ing := range cluster.List[*networkingv1.Ingress](v, cluster.Query{Kind: cluster.KindIngress}) {
		if ing.DeletionTimestamp == nil && slices.ContainsFunc(claimedBy(v, ing), func(o model.StackID) bool { return o != id }) {
			return true
		}
	}
	return false
}
