package service

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Translate builds the desired state of a stack and the findings about its objects, sorted and without duplicates. If
// the view has an error, the result must not be used. live is the observed state of the stack; nil if it is not known yet.
func (f *Frontend) Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	g := f.loadServices(v, id)
	hasForeignMembers := g.removeForeignMembers(v, id, live)
	g.addHeldMembers() // may add members with isMemberOnlyByFinalizer, so removeForeignMembers is called again
	hasForeignMembers = g.removeForeignMembers(v, id, live) || hasForeignMembers
	g.sortMembers()
	t := &translation{
		Builder: assemble.Builder{
			Translation: members.Translation{ID: id, Live: live, BackendSecurityGroup: f.opt.BackendSecurityGroup},
			Options:     f.opt.Options, Type: model.Network,
		},
		opt: f.opt, view: v, firstProtocols: map[assemble.TargetGroupKey]string{},
	}
	t.Found = g.found
	t.Stack.ID, t.Stack.Leaving, t.Stack.DeletionGuard, t.Stack.Unprotected = id, g.leaving, g.deletionProtectionFinding, g.unprotected
	t.Stack.Adopters = ownership.Adopters(v, id)
	t.Stack.Contested = hasForeignMembers // the observed load balancer shows whether these members are served
	t.Stack.BackendSecurityGroup = model.BackendSecurityGroupUse{Given: f.opt.BackendSecurityGroup, Tags: f.opt.DefaultTags, MayBeNeededByOthers: true}
	if len(g.members) == 0 {
		t.Stack.Held.AllResources = len(g.excluded) > 0
		t.Stack.BackendSecurityGroup.MayBeNeededByOthers = ownership.HasObjectOfOtherStack(v, id)
		return t.Stack, t.Found.Sorted()
	}
	t.services = g.members
	for _, m := range g.members {
		t.Members = append(t.Members, m.Member)
	}
	if _, t.shared = naming.SharedName(id); !t.shared {
		t.OwnerUID = string(g.members[0].svc.UID)
	}
	t.build()
	return t.Stack, t.Found.Sorted()
}

// translation is the state of one call of Translate for a stack with members.
type translation struct {
	assemble.Builder
	opt  Options
	view *cluster.View
	// services has an entry for each of Members, with its Service.
	services []*member
	// shared reports whether several Services can share the load balancer of the stack.
	shared       bool
	targetGroups assemble.TargetGroups
	// firstProtocols has the protocol of the first target group of each backend, by its key without Variant.
	firstProtocols map[assemble.TargetGroupKey]string
}

func (t *translation) build() {
	var ports []*port
	for _, m := range t.services {
		t.SetMemberTags(m.Member)
		t.Stack.Held.Tags = t.Stack.Held.Tags || m.OwnTags.Fault != nil
		t.enforceSizeLimits(m)
		m.ports = t.listenerPorts(m)
		t.holdTCPPortsIfTLSPortUnknown(m)
		t.Found.Add(settings.ServiceAnnotations.FindProbableMistakes(m.svc.Annotations, m.Ref)...)
		ports = append(ports, m.ports...)
	}
	slices.SortStableFunc(ports, func(a, b *port) int { return cmp.Compare(a.Number, b.Number) })
	ports = sharingResolver{t}.assignPorts(ports)
	for _, p := range ports {
		t.Ports = append(append(t.Ports, p.unmerged...), p.Port)
	}
	sharingResolver{t}.setOwner()
	sharingResolver{t}.retainScheme()
	sharingResolver{t}.retainPreviousScheme()
	lb := t.BuildLoadBalancer()
	t.ReportMemberFaults()
	t.reportUnusedIPv6Ranges(lb)
	t.Stack.LoadBalancer = lb
	// The first port in spec.ports decides which target group of a backend gets the usual resource ID, as with AWS Load
	// Balancer Controller.
	slices.SortStableFunc(ports, func(a, b *port) int { return cmp.Compare(a.index, b.index) })
	for _, p := range ports {
		lb.Listeners = append(lb.Listeners, t.buildListener(p))
	}
	slices.SortFunc(lb.Listeners, func(a, b model.Listener) int { return cmp.Compare(a.Port, b.Port) })
	t.targetGroups.AddToStack(&t.Stack)
	t.removeUnusedTargetGroups()
	sharingResolver{t}.addMoves()
	var blocked bool
	t.Stack.Members, blocked = ownership.NewMembers(t.view, t.ID, t.services, func(m *member) (cluster.Object, bool) { return m.svc, m.Blocked })
	// While all members are only held, other Services may leave the load balancer.
	onlyHeld := !slices.ContainsFunc(t.services, func(m *member) bool { return !m.onlyHeld })
	t.Stack.Held.AllResources = blocked && !onlyHeld || t.Found.HoldsStack(t.opt.StrictGroups)
}

// removeUnusedTargetGroups removes from the stack the target groups that no listener uses, because their listener is held.
// So new target groups are not created; existing target groups of a held listener stay.
func (t *translation) removeUnusedTargetGroups() {
	used := map[string]bool{}
	for _, l := range t.Stack.LoadBalancer.Listeners {
		for _, g := range model.ForwardedTargetGroups(l.Default) {
			used[g.Group.ID] = true
		}
	}
	t.Stack.TargetGroups = slices.DeleteFunc(t.Stack.TargetGroups, func(g model.TargetGroup) bool { return !used[g.ID] })
}

// reportUnusedIPv6Ranges reports IPv6 client ranges if the load balancer has only IPv4 addresses. Such ranges are left out
// of the security group.
func (t *translation) reportUnusedIPv6Ranges(lb *model.LoadBalancer) {
	if _, managed := lb.SecurityGroups.(model.SecurityGroupsManaged); !managed || lb.AddressType.HasIPv6() {
		return
	}
	for _, m := range t.services {
		ranges := m.set.InboundCIDRs
		i := slices.IndexFunc(ranges.Value, assemble.IsIPv6)
		if i < 0 {
			continue
		}
		now := "IPv6 ranges are left out"
		if !slices.ContainsFunc(ranges.Value, func(c string) bool { return !assemble.IsIPv6(c) }) {
			now = "the admitted clients stay unchanged, and a new port admits none"
		}
		t.Found.Add(finding.Finding{
			Object: m.Ref, Field: ranges.Origin.Field, Reason: finding.AnnotationInvalid, Severity: finding.Error,
			Message: fmt.Sprintf("range %q is IPv6, and the load balancer has the address type %s; %s", ranges.Value[i], lb.AddressType, now),
			Fix:     "set " + addressTypeAnnotation + " to dualstack, or remove the range",
		})
	}
}
