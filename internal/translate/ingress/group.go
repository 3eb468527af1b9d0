package ingress

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// placed holds where an Ingress belongs. With a fault that is not known.
type placed struct {
	classified
	id  model.StackID
	set settings.Ingress
}

const attributesAnnotation = settings.Prefix + "load-balancer-attributes"

var groupName = regexp.MustCompile(`^([a-z0-9][-a-z0-9.]*)?[a-z0-9]$`)

// findStack finds the stack of an Ingress that is not being deleted.
func (f *Frontend) findStack(v *cluster.View, ing *networkingv1.Ingress) placed {
	p := placed{classified: f.classify(v, ing), id: implicitStack(ing)}
	if p.fault == nil && !p.managed {
		return p
	}
	p.set = settings.ParseIngress(ing.Annotations, refOf(ing)).WithClass(p.params)
	if p.fault != nil && p.params == nil {
		p.set = p.set.WithoutClass()
	}
	if g := p.set.GroupName; p.fault == nil && g.Set {
		p.id = explicitStack(g.Value)
		if len(g.Value) > 63 || !groupName.MatchString(g.Value) {
			p.fault = &finding.Finding{
				Object: refOf(ing), Field: members.FieldOn(refOf(ing), g.Origin), Reason: finding.GroupNameInvalid, Severity: finding.Error,
				Message: fmt.Sprintf("group name %q is not made of lower-case letters, digits, dots and hyphens, at most 63 of them", g.Value),
				Fix:     "choose a valid group name", Blocks: finding.BlocksMember,
			}
		}
	}
	return p
}

// member is an Ingress that takes part in the stack.
type member struct {
	*members.Member
	ing   *networkingv1.Ingress
	set   settings.Ingress
	order int32
	// refused is set for a former one whose class does not admit its namespace, or gives it to another controller:
	// nothing of it stays. away reports the latter.
	refused, away bool
}

// group is what was found for a stack.
type group struct {
	members []*member // in group order
	// previous are Ingresses that carry the finalizer of the stack and are not accepted: their class is
	// missing, or does not admit them. A finalizer proves nothing; at most their own rules stay.
	previous []*member
	leaving  []model.Member
	found    finding.List
	// guarded are the leaving members that ask for deletion protection, guard is the finding about the first.
	guarded []*member
	guard   *finding.Finding
	// unprotected reports whether one of the leaving gives deletion protection up.
	unprotected bool
	// away are the members that the class gives to another controller, kept those of them that ask for deletion
	// protection.
	away, kept []*member
	// notAccepted reports whether an Ingress of the stack's name cannot be placed and was never claimed.
	notAccepted bool
}

// load finds the members of a stack by indexes.
func (f *Frontend) load(v *cluster.View, id model.StackID) group {
	var g group
	for _, ing := range f.candidates(v, id) {
		f.add(v, &g, id, ing)
	}
	g.leaving = append(g.leaving, ownership.DeletedMembers(v, id)...)
	slices.SortFunc(g.members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Ref.Namespace+"/"+a.Ref.Name, b.Ref.Namespace+"/"+b.Ref.Name))
	})
	g.releaseOthers()
	g.keepLoadBalancer(func(m *member) model.Member { return ownership.Member(v, m.ing, id) })
	slices.SortFunc(g.previous, func(a, b *member) int { return a.Ref.Compare(b.Ref) })
	slices.SortFunc(g.leaving, func(a, b model.Member) int { return a.Ref.Compare(b.Ref) })
	return g
}

// releaseOthers turns leaving members that ask for deletion protection into former ones where others leave
// with them: what they have stays, and the others need not wait until they give the protection up.
func (g *group) releaseOthers() {
	if len(g.members) > 0 || len(g.guarded) == 0 || len(g.guarded) == len(g.leaving) {
		return
	}
	for _, m := range g.guarded {
		g.leaving = slices.DeleteFunc(g.leaving, func(l model.Member) bool { return l.Ref == m.Ref })
	}
	g.previous = append(g.previous, g.guarded...)
	g.guard.Blocks = finding.BlocksMember
	g.found.Add(*g.guard)
	g.guard = nil
}

// keepLoadBalancer keeps the load balancer for Ingresses that ask for deletion protection, although their class gives them
// to another controller. None of their rules stays, and beside other members there is nothing to keep.
func (g *group) keepLoadBalancer(leaving func(*member) model.Member) {
	for _, m := range g.kept {
		if len(g.members) > 0 {
			g.leaving = append(g.leaving, leaving(m))
			continue
		}
		g.previous = append(g.previous, m)
		g.found.Add(finding.Finding{
			Object: m.Ref, Field: attributesAnnotation, Reason: finding.DeletionProtected, Severity: finding.Error,
			Message: "the class gives the Ingress to another controller while it asks for deletion protection of its load balancer; the load balancer stays, and nothing of the Ingress is served",
			Fix:     "restore the class, or set deletion_protection.enabled=false", Blocks: finding.BlocksMember,
		})
	}
}

// candidates returns the Ingresses that may belong to the stack, or did.
func (f *Frontend) candidates(v *cluster.View, id model.StackID) []*networkingv1.Ingress {
	if id.Namespace != "" {
		if ing, ok := cluster.Get[*networkingv1.Ingress](v, cluster.KindIngress, id.Namespace, id.Name); ok {
			return []*networkingv1.Ingress{ing}
		}
		return nil
	}
	by := func(index cluster.Index, value string) []*networkingv1.Ingress {
		return cluster.List[*networkingv1.Ingress](v, cluster.Query{Kind: cluster.KindIngress, Index: index, Value: value})
	}
	all := append(by(cluster.IngressByGroup, id.Name), by(cluster.ByFinalizer, naming.Finalizer(id))...)
	for _, ref := range v.Left(naming.Finalizer(id)) {
		if ing, ok := cluster.Get[*networkingv1.Ingress](v, ref.Kind, ref.Namespace, ref.Name); ok {
			all = append(all, ing)
		}
	}
	for _, p := range cluster.List[*v1beta1.IngressClassParams](v, cluster.Query{Kind: cluster.KindIngressClassParams, Index: cluster.ParamsByGroup, Value: id.Name}) {
		for _, c := range cluster.List[*networkingv1.IngressClass](v, cluster.Query{Kind: cluster.KindIngressClass, Index: cluster.ClassByParams, Value: p.Name}) {
			all = append(all, by(cluster.IngressByClass, c.Name)...)
			if c.Annotations[defaultAnnotation] == "true" {
				all = append(all, by(cluster.IngressByClass, "")...)
			}
		}
	}
	slices.SortFunc(all, func(a, b *networkingv1.Ingress) int { return refOf(a).Compare(refOf(b)) })
	return slices.CompactFunc(all, func(a, b *networkingv1.Ingress) bool { return refOf(a) == refOf(b) })
}

// add sorts one candidate in: a member, one that leaves, or unrelated.
func (f *Frontend) add(v *cluster.View, g *group, id model.StackID, ing *networkingv1.Ingress) {
	claimed, leave := ownership.ClaimOn(v, ing, id).Known, ownership.Member(v, ing, id)
	if ing.DeletionTimestamp != nil && !claimed {
		return
	}
	p := f.findStack(v, ing)
	if claimed && p.fault == nil && !p.managed {
		if p.fault = f.massRemoval(v, ing); p.fault == nil {
			f.addMovedAway(g, ing, p, leave)
			return
		}
	}
	if ing.DeletionTimestamp != nil {
		g.leaving = append(g.leaving, leave)
		if p.fault == nil && p.managed && p.id == id {
			g.unprotected = g.unprotected || members.Unprotected(ing.Annotations, attributesAnnotation)
			if guard := members.DeletionGuard(refOf(ing), ing.Annotations, attributesAnnotation); guard != nil {
				m := newMember(ing, p)
				m.Guarded = true
				g.guarded, g.guard = append(g.guarded, m), cmp.Or(g.guard, guard)
			}
		}
		return
	}
	switch {
	case p.fault != nil && claimed:
		// The rules that it had stay: a class deleted by accident must not tear them down.
		g.found.Add(*p.fault)
		m := newMember(ing, p)
		m.Blocked, m.Undetermined, m.ClassMissing = true, true, p.fault.Reason == finding.IngressClassInvalid
		m.refused = p.refused
		g.previous = append(g.previous, m)
	case p.fault != nil:
		if id == implicitStack(ing) && len(ownership.Claims(v, ing)) == 0 {
			g.found.Add(*p.fault)
			g.notAccepted = true
		}
	case p.managed && p.id == id:
		m := newMember(ing, p)
		if o := p.set.GroupOrder.Check(); o != nil {
			// Its live rules keep their place. What is new gets none among the others by guess, nor does
			// its 503, which might come before rules of others.
			m.Blocked, m.Undetermined = true, true
			fault := o.Finding(finding.BlocksMember)
			fault.Reason = finding.GroupOrderInvalid
			g.found.Add(fault)
		}
		g.members = append(g.members, m)
	case claimed:
		g.leaving = append(g.leaving, leave)
	}
}

// addMovedAway sorts in an Ingress that the class gives to another controller.
func (f *Frontend) addMovedAway(g *group, ing *networkingv1.Ingress, p placed, leave model.Member) {
	p.set = settings.ParseIngress(ing.Annotations, refOf(ing)).WithoutClass()
	m := newMember(ing, p)
	m.Blocked, m.Undetermined, m.refused, m.away = true, true, true, true
	g.away = append(g.away, m)
	g.unprotected = g.unprotected || members.Unprotected(ing.Annotations, attributesAnnotation)
	if members.DeletionGuard(refOf(ing), ing.Annotations, attributesAnnotation) != nil {
		g.kept = append(g.kept, m)
		return
	}
	g.leaving = append(g.leaving, leave)
}

func newMember(ing *networkingv1.Ingress, p placed) *member {
	m := &members.Member{
		Ref: refOf(ing), Created: ing.CreationTimestamp.Time, ClaimedAt: ing.CreationTimestamp.Time,
		NamedByClass: p.set.GroupName.Origin.Object.Kind == paramsKind,
		Set:          p.set.Shared, OwnTags: p.set.Tags, Faults: p.set.MemberFaults(),
	}
	if m.NamedByClass && p.params.CreationTimestamp.Before(&ing.CreationTimestamp) {
		m.ClaimedAt = p.params.CreationTimestamp.Time
	}
	return &member{Member: m, ing: ing, set: p.set, order: p.set.GroupOrder.Or(0)}
}
