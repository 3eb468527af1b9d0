package ingress

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// Translate builds the wish for a stack and what is wrong with it. Findings are sorted and without
// repeats. A view with an error makes the result meaningless.
func (f *Frontend) Translate(v *cluster.View, id model.StackID) (model.Stack, finding.List) {
	g := f.load(v, id)
	t := &translation{
		opt: f.opt, view: v, id: id, members: g.members, found: g.found,
		groups: map[groupKey]*targetGroup{}, backends: map[finding.Ref]settings.Backend{},
	}
	t.stack.ID, t.stack.Leaving, t.stack.DeletionGuard = id, g.leaving, g.guard
	t.stack.BackendGroup = model.BackendGroupUse{Given: f.opt.BackendGroup, Tags: f.opt.DefaultTags, OthersLive: true}
	if len(t.members) == 0 {
		t.stack.Hold = g.astray
		t.stack.BackendGroup.OthersLive = f.othersLive(v, id)
		return t.stack, t.found.Sorted()
	}
	t.stack.Describe = f.opt.DescribePlan
	t.build()
	return t.stack, t.found.Sorted()
}

// translation is one run of Translate over a stack with members.
type translation struct {
	opt     Options
	view    *cluster.View
	id      model.StackID
	members []*member
	found   finding.List
	stack   model.Stack

	ports    []*port
	redirect settings.Opt[int32]
	// unsureRedirect says that members who decide the redirect cannot be read.
	unsureRedirect bool
	peer           *model.Peer
	groups         map[groupKey]*targetGroup
	backends       map[finding.Ref]settings.Backend
}

func (t *translation) build() {
	for _, m := range t.members {
		t.prepare(m)
		t.partial(m)
	}
	t.mergePorts()
	alb := t.loadBalancer()
	t.redirect, t.unsureRedirect = t.sslRedirect()
	t.memberFaults()
	t.addOns(alb)
	t.unknown()
	t.stack.ALB = alb
	t.stack.Front = t.front(alb)
	t.frontSources(alb, t.stack.Front)
	for _, p := range t.ports {
		alb.Listeners = append(alb.Listeners, t.listener(p))
	}
	t.holdLost()
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
	t.stack.Hold = blocked == len(t.members) || t.found.Reach() == finding.BlocksStack || strict
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
	for _, key := range sortedKeys(m.set.ListenerAttributes) {
		used := slices.ContainsFunc(m.ports, func(p settings.ListenPort) bool { return p.Key() == key })
		t.block(m, m.set.ListenerAttributes[key].Check(), used)
	}
}

// partial notes what a member leaves open that may have had its part in what is live.
func (t *translation) partial(m *member) {
	p := &t.stack.Partial
	p.Ports = p.Ports || m.lost && t.claimed(m)
	p.Tags = p.Tags || m.lost || m.set.Tags.Fault != nil
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

// conflict reports that a member disagrees with an earlier one, which wins.
func (t *translation) conflict(m *member, o finding.Origin, reason finding.Reason, what string, winner finding.Ref) {
	t.found.Add(finding.Finding{
		Object: m.ref, Field: fieldOn(m.ref, o), Reason: reason, Severity: finding.Error,
		Message: fmt.Sprintf("%s disagrees with %s, which comes first in the group and wins", what, winner),
		Fix:     "give both the same value, or remove it from one",
	})
}

// holdLost keeps live rules of members whose ports are not known.
func (t *translation) holdLost() {
	for _, m := range t.members {
		if !m.lost {
			continue
		}
		for _, path := range pathsOf(m.ing) {
			t.holdUnplaced(m, path)
		}
		if m.ing.Spec.DefaultBackend != nil {
			for i := range t.stack.ALB.Listeners {
				l := &t.stack.ALB.Listeners[i]
				l.DefaultHeld = l.DefaultHeld || l.DefaultOf.Object.IsZero() && !t.redirects(*l)
			}
		}
	}
}

func (t *translation) redirects(l model.Listener) bool { return t.redirect.Set && l.TLS == nil }

// holdUnplaced keeps whatever live rule there is of a path.
func (t *translation) holdUnplaced(m *member, path rulePath) {
	c, _ := t.conditions(m, path)
	r := model.Rule{Conditions: c}
	t.stack.Held = append(t.stack.Held, model.HeldRule{Member: m.ref, Hosts: r.Hosts(), Paths: r.Paths()})
}

// othersLive says whether an Ingress outside the stack may still need the shared backend group.
func (f *Frontend) othersLive(v *cluster.View, id model.StackID) bool {
	for _, ing := range cluster.List[*networkingv1.Ingress](v, cluster.Query{Kind: cluster.KindIngress}) {
		if ing.DeletionTimestamp == nil && slices.ContainsFunc(claimedBy(ing), func(o model.StackID) bool { return o != id }) {
			return true
		}
	}
	return false
}
