package service

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// member is a Service that contributes to a stack.
type member struct {
	*members.Member
	svc   *corev1.Service
	set   settings.LoadBalancerService
	ports []*port
	// onlyHeld reports whether the Service is a member only because its listeners are held: see addHeldMembers.
	onlyHeld bool
	// movesToOtherStack reports whether the annotation of the Service names another stack, and this stack serves the Service
	// until clients use the load balancer of the other stack.
	movesToOtherStack bool
	// hasReassignedPort reports whether a port number of this Service is assigned to another Service.
	hasReassignedPort bool
	// isMemberOnlyByFinalizer reports whether the Service is a member of a load balancer of another namespace only because
	// of its finalizer. The finalizer is not sufficient, because every user of the namespace of the Service can write it.
	isMemberOnlyByFinalizer bool
}

// stackServices has the Services of a stack.
type stackServices struct {
	members                   []*member
	leaving                   []model.Member
	deletionProtectionFinding *finding.Finding
	// unprotected reports whether a leaving Service explicitly disables deletion protection.
	unprotected bool
	found       finding.List
	// excluded are the Services that have a load balancer and that the flags of the controller exclude. deletionProtected
	// are the leaving Services that set deletion protection.
	excluded, deletionProtected []*member
}

func (f *Frontend) loadServices(v *cluster.View, id model.StackID) stackServices {
	var g stackServices
	for _, svc := range candidates(v, id) {
		f.addCandidate(v, &g, id, svc)
	}
	g.leaving = append(g.leaving, ownership.DeletedMembers(v, id)...)
	return g
}

// addHeldMembers turns excluded Services into members whose listeners are held, if the load balancer has other members or if
// other Services leave it. If there are no other members, it also turns leaving Services that set deletion protection into
// members. So the other Services can leave before the protection is disabled. It does nothing if all leaving Services set
// deletion protection, and there are no other members.
func (g *stackServices) addHeldMembers() {
	protected := g.deletionProtected
	if len(g.members) > 0 {
		protected = nil
	}
	if len(g.members) == 0 && len(g.leaving) == len(protected) {
		return
	}
	g.members = append(g.members, g.excluded...)
	g.excluded = nil
	if len(protected) == 0 {
		return
	}
	for _, m := range protected {
		g.leaving = slices.DeleteFunc(g.leaving, func(l model.Member) bool { return l.Ref == m.Ref })
	}
	g.members = append(g.members, protected...)
	g.deletionProtectionFinding.Blocks = finding.BlocksMember
	g.found.Add(*g.deletionProtectionFinding)
	g.deletionProtectionFinding = nil
}

// addCandidate adds a Service to the members or the leaving members of g. It adds nothing if the Service is none of these.
func (f *Frontend) addCandidate(v *cluster.View, g *stackServices, id model.StackID, svc *corev1.Service) {
	claim := ownership.ClaimOn(v, svc, id)
	claimed := claim.HasOrHadFinalizer
	if f.isAccepted(svc) {
		at, fault := f.stackOf(v, svc)
		if at == id || claim.HasFinalizer {
			m := f.newMember(svc, id)
			m.movesToOtherStack = at != id
			if fault != nil {
				m.Faults, m.Blocked = append(m.Faults, *fault), true
			}
			g.members = append(g.members, m)
			return
		}
		if claimed {
			g.leaving = append(g.leaving, ownership.NewMember(v, svc, id))
		}
		return
	}
	switch {
	case !claimed:
	case svc.DeletionTimestamp == nil && !f.opt.AllowMassRemoval && !isControllerChangedByUser(svc):
		m := f.newMember(svc, id)
		m.Blocked, m.onlyHeld = true, true
		g.excluded = append(g.excluded, m)
		g.found.Add(excludedServiceFinding(svc))
	default:
		g.leaving = append(g.leaving, ownership.NewMember(v, svc, id))
		guard := members.DeletionProtectionFinding(cluster.RefOf(svc), svc.Annotations, attributesAnnotation)
		if guard != nil && svc.DeletionTimestamp == nil {
			guard.Message = "the Service releases its load balancer, but it enables deletion protection; the load balancer stays"
		}
		if guard != nil {
			m := f.newMember(svc, id)
			m.Blocked, m.onlyHeld = true, true
			g.deletionProtected, g.deletionProtectionFinding = append(g.deletionProtected, m), cmp.Or(g.deletionProtectionFinding, guard)
		}
		g.unprotected = g.unprotected || members.DisablesDeletionProtection(svc.Annotations, attributesAnnotation)
	}
}

// The field and the annotation with the address ranges of clients. The annotation is read only if the field is empty.
const (
	sourceRangesField      = "spec.loadBalancerSourceRanges"
	sourceRangesAnnotation = settings.ServicePrefix + "load-balancer-source-ranges"
)

// newMember returns a Service as a member of a stack, with its settings.
func (f *Frontend) newMember(svc *corev1.Service, id model.StackID) *member {
	ref := cluster.RefOf(svc)
	m := &member{svc: svc, set: settings.ParseLoadBalancerService(svc.Annotations, ref)}
	m.isMemberOnlyByFinalizer = id.Namespace != svc.Namespace && !f.opt.CrossNamespaceGroups
	faults := m.set.MemberFaults()
	if of := svc.Spec.LoadBalancerSourceRanges; len(of) > 0 {
		faults = slices.DeleteFunc(slices.Clone(faults), func(f settings.Fault) bool { return f.Origin.Field == sourceRangesAnnotation })
		ranges, err := settings.ParseCIDRValues(of)
		m.set.InboundCIDRs = settings.Opt[[]string]{Value: ranges, Set: err == nil, Fault: err, Origin: finding.Origin{Object: ref, Field: sourceRangesField}}
		faults = append(faults, settings.NonNilFaults(m.set.InboundCIDRs.Check())...)
	}
	m.Member = &members.Member{
		Ref: ref, Created: svc.CreationTimestamp.Time, ClaimedAt: svc.CreationTimestamp.Time,
		Set: m.set.Shared, OwnTags: m.set.Tags, Faults: faults,
	}
	m.Blocked = len(m.Faults) > 0
	return m
}
