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

// stackAssignment is the stack to which an Ingress belongs, with the class and the settings of the Ingress. If there is a
// fault, the stack is not known.
type stackAssignment struct {
	classification
	id  model.StackID
	set settings.Ingress
}

const attributesAnnotation = settings.Prefix + "load-balancer-attributes"

var ingressGroupNamePattern = regexp.MustCompile(`^([a-z0-9][-a-z0-9.]*)?[a-z0-9]$`)

// findStack determines the stack of an Ingress that is not being deleted.
func (f *Frontend) findStack(v *cluster.View, ing *networkingv1.Ingress) stackAssignment {
	p := stackAssignment{classification: f.classify(v, ing), id: singleIngressStack(ing)}
	if p.fault == nil && !p.managed {
		return p
	}
	p.set = settings.ParseIngress(ing.Annotations, cluster.RefOf(ing)).WithClass(p.params)
	if p.fault != nil && p.params == nil {
		p.set = p.set.WithoutClassSettings()
	}
	if g := p.set.GroupName; p.fault == nil && g.Set {
		p.id = ingressGroupStack(g.Value)
		if len(g.Value) > 63 || !ingressGroupNamePattern.MatchString(g.Value) {
			p.fault = &finding.Finding{
				Object: cluster.RefOf(ing), Field: members.FieldForObject(cluster.RefOf(ing), g.Origin), Reason: finding.GroupNameInvalid, Severity: finding.Error,
				Message: fmt.Sprintf("group name %q is not made of lower-case letters, digits, dots and hyphens, at most 63 of them%s", g.Value, classHeldText),
				Fix:     "choose a valid group name", Blocks: finding.BlocksMember,
			}
		}
	}
	return p
}

// member is an Ingress that contributes to a stack.
type member struct {
	*members.Member
	ing   *networkingv1.Ingress
	set   settings.Ingress
	order int32
	// withdrawn reports whether existing rules of a previous member are deleted because they are no longer permitted: its
	// class does not admit its namespace, or belongs to another controller. ingressesOfOtherController reports whether the
	// class belongs to another controller.
	withdrawn, hasOtherController bool
	// missingActions is the number of backends whose annotation does not exist.
	missingActions int
}

// stackIngresses has the Ingresses of a stack.
type stackIngresses struct {
	members []*member // in order of precedence
	// previous are Ingresses that have the finalizer of the stack but are not accepted, because their class is missing or
	// does not admit them. The finalizer gives no permission, because users can edit it. At most the existing rules of these
	// Ingresses are held.
	previous []*member
	leaving  []model.Member
	found    finding.List
	// deletionProtected are the leaving members that set deletion protection. deletionProtectionFinding is the finding about
	// the first of them; nil if there is none.
	deletionProtected         []*member
	deletionProtectionFinding *finding.Finding
	// unprotected reports whether a leaving member explicitly disables deletion protection.
	unprotected bool
	// hasOtherController are the members whose class now belongs to another controller. protectedOfOtherController are the
	// members among them that set deletion protection.
	ingressesOfOtherController, protectedOfOtherController []*member
	// notAccepted reports whether the Ingress with the name of the stack has a class with a fault, and no finalizer.
	notAccepted bool
}

// loadIngresses returns the Ingresses of a stack. It finds them by indexes, not by a list of all Ingresses.
func (f *Frontend) loadIngresses(v *cluster.View, id model.StackID) stackIngresses {
	var g stackIngresses
	for _, ing := range f.candidates(v, id) {
		f.addCandidate(v, &g, id, ing)
	}
	g.leaving = append(g.leaving, ownership.DeletedMembers(v, id)...)
	slices.SortFunc(g.members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Ref.Namespace+"/"+a.Ref.Name, b.Ref.Namespace+"/"+b.Ref.Name))
	})
	g.retainProtectedMembers()
	g.retainProtectedOfOtherController(func(m *member) model.Member { return ownership.NewMember(v, m.ing, id) })
	slices.SortFunc(g.previous, func(a, b *member) int { return a.Ref.Compare(b.Ref) })
	slices.SortFunc(g.leaving, func(a, b model.Member) int { return a.Ref.Compare(b.Ref) })
	return g
}

// retainProtectedMembers makes leaving members that set deletion protection previous members, if the stack has no other
// members and other Ingresses leave at the same time. So the rules of the protected members are held, and the other
// Ingresses can leave before the protection is disabled.
func (g *stackIngresses) retainProtectedMembers() {
	if len(g.members) > 0 || len(g.deletionProtected) == 0 || len(g.deletionProtected) == len(g.leaving) {
		return
	}
	for _, m := range g.deletionProtected {
		g.leaving = slices.DeleteFunc(g.leaving, func(l model.Member) bool { return l.Ref == m.Ref })
	}
	g.previous = append(g.previous, g.deletionProtected...)
	g.deletionProtectionFinding.Blocks = finding.BlocksMember
	g.found.Add(*g.deletionProtectionFinding)
	g.deletionProtectionFinding = nil
}

// retainProtectedOfOtherController handles Ingresses that set deletion protection, and whose class now belongs to another
// controller. If the stack has no members, they become previous members, so that the load balancer stays, without the rules
// of these Ingresses. If the stack has members, these Ingresses leave the stack.
func (g *stackIngresses) retainProtectedOfOtherController(leaving func(*member) model.Member) {
	for _, m := range g.protectedOfOtherController {
		if len(g.members) > 0 {
			g.leaving = append(g.leaving, leaving(m))
			continue
		}
		g.previous = append(g.previous, m)
		g.found.Add(finding.Finding{
			Object: m.Ref, Field: attributesAnnotation, Reason: finding.DeletionProtected, Severity: finding.Error,
			Message: "the class assigns the Ingress to another controller, but the Ingress enables deletion protection; the load balancer stays, and no rule of the Ingress is served",
			Fix:     "restore the class, or set deletion_protection.enabled=false in annotation " + attributesAnnotation, Blocks: finding.BlocksMember,
		})
	}
}

// candidates returns the Ingresses that may belong, or may have belonged, to the stack.
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
	all := append(by(cluster.IngressByGroupName, id.Name), by(cluster.ByFinalizer, naming.Finalizer(id))...)
	for _, ref := range v.ObjectsThatLeft(naming.Finalizer(id)) {
		if ing, ok := cluster.Get[*networkingv1.Ingress](v, ref.Kind, ref.Namespace, ref.Name); ok {
			all = append(all, ing)
		}
	}
	for _, p := range cluster.List[*v1beta1.IngressClassParams](v, cluster.Query{Kind: cluster.KindIngressClassParams, Index: cluster.ParamsByGroupName, Value: id.Name}) {
		for _, c := range cluster.List[*networkingv1.IngressClass](v, cluster.Query{Kind: cluster.KindIngressClass, Index: cluster.ClassByParams, Value: p.Name}) {
			all = append(all, by(cluster.IngressByClass, c.Name)...)
			if c.Annotations[cluster.DefaultClassAnnotation] == "true" {
				all = append(all, by(cluster.IngressByClass, "")...)
			}
		}
	}
	slices.SortFunc(all, func(a, b *networkingv1.Ingress) int {
		return cluster.RefOf(a).Compare(cluster.RefOf(b))
	})
	return slices.CompactFunc(all, func(a, b *networkingv1.Ingress) bool { return cluster.RefOf(a) == cluster.RefOf(b) })
}

// addCandidate adds an Ingress to the members, the previous members or the leaving members of g. It adds nothing if the
// Ingress is none of these.
func (f *Frontend) addCandidate(v *cluster.View, g *stackIngresses, id model.StackID, ing *networkingv1.Ingress) {
	claimed, leave := ownership.ClaimOn(v, ing, id).HasOrHadFinalizer, ownership.NewMember(v, ing, id)
	if ing.DeletionTimestamp != nil && !claimed {
		return
	}
	p := f.findStack(v, ing)
	if claimed && p.fault == nil && !p.managed {
		if p.fault = f.massRemovalFinding(v, ing); p.fault != nil {
			p.set = settings.ParseIngress(ing.Annotations, cluster.RefOf(ing)).WithoutClassSettings()
		} else {
			f.addIngressOfOtherController(g, ing, p, leave)
			return
		}
	}
	if ing.DeletionTimestamp != nil {
		g.leaving = append(g.leaving, leave)
		if p.fault == nil && p.managed && p.id == id {
			g.unprotected = g.unprotected || members.DisablesDeletionProtection(ing.Annotations, attributesAnnotation)
			if guard := members.DeletionProtectionFinding(cluster.RefOf(ing), ing.Annotations, attributesAnnotation); guard != nil {
				m := newMember(ing, p)
				m.DeletionProtected = true
				g.deletionProtected, g.deletionProtectionFinding = append(g.deletionProtected, m), cmp.Or(g.deletionProtectionFinding, guard)
			}
		}
		return
	}
	switch {
	case p.fault != nil && claimed:
		// The existing rules of the Ingress are held: they must not be deleted if its class was deleted by mistake.
		g.found.Add(*p.fault)
		m := newMember(ing, p)
		m.Blocked, m.Undetermined, m.RetainsRights = true, true, !p.namespaceRefused
		m.withdrawn = p.namespaceRefused
		g.previous = append(g.previous, m)
	case p.fault != nil:
		if id == singleIngressStack(ing) && len(ownership.ClaimedStacks(v, ing)) == 0 {
			g.found.Add(*p.fault)
			g.notAccepted = true
		}
	case p.managed && p.id == id:
		m := newMember(ing, p)
		if o := p.set.GroupOrder.Check(); o != nil {
			// The existing rules of the Ingress keep their priorities. No new rules are created for it, not even rules with
			// status 503: their position is not known, and they could precede rules of other members.
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

// addIngressOfOtherController adds an Ingress whose class now belongs to another controller to ingressesOfOtherController,
// and to the leaving members. If the Ingress sets deletion protection, it is added to protectedOfOtherController instead of
// the leaving members.
func (f *Frontend) addIngressOfOtherController(g *stackIngresses, ing *networkingv1.Ingress, p stackAssignment, leave model.Member) {
	p.set = settings.ParseIngress(ing.Annotations, cluster.RefOf(ing)).WithoutClassSettings()
	m := newMember(ing, p)
	m.Blocked, m.Undetermined, m.withdrawn, m.hasOtherController = true, true, true, true
	g.ingressesOfOtherController = append(g.ingressesOfOtherController, m)
	g.unprotected = g.unprotected || members.DisablesDeletionProtection(ing.Annotations, attributesAnnotation)
	if members.DeletionProtectionFinding(cluster.RefOf(ing), ing.Annotations, attributesAnnotation) != nil {
		g.protectedOfOtherController = append(g.protectedOfOtherController, m)
		return
	}
	g.leaving = append(g.leaving, leave)
}

func newMember(ing *networkingv1.Ingress, p stackAssignment) *member {
	m := &members.Member{
		Ref: cluster.RefOf(ing), Created: ing.CreationTimestamp.Time, ClaimedAt: ing.CreationTimestamp.Time,
		StackNamedByClass: p.set.GroupName.Origin.Object.Kind == paramsKind,
		Set:               p.set.Shared, OwnTags: p.set.Tags, Faults: p.set.MemberFaults(),
	}
	if m.StackNamedByClass && p.params.CreationTimestamp.Before(&ing.CreationTimestamp) {
		m.ClaimedAt = p.params.CreationTimestamp.Time
	}
	return &member{Member: m, ing: ing, set: p.set, order: p.set.GroupOrder.ValueOr(0)}
}
