package service

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// stackOf returns the stack of an accepted Service: a stack for this Service alone, or the shared stack that its annotation
// names. If the annotation is not valid, it returns the stack whose finalizer the Service has, and the fault.
func (f *Frontend) stackOf(v *cluster.View, svc *corev1.Service) (model.StackID, *settings.Fault) {
	name, shares := svc.Annotations[cluster.LoadBalancerGroupAnnotation]
	if !shares {
		return singleServiceStack(svc), nil
	}
	namespace, name, _ := strings.Cut(cluster.QualifiedLoadBalancerName(svc.Namespace, name), "/")
	fault := naming.SharedNameFault(namespace, name)
	if namespace != svc.Namespace && fault == "" && !f.opt.CrossNamespaceGroups {
		fault = "Services of other namespaces are not allowed to share it; use a name without a namespace, or ask the operator for --cross-namespace-load-balancer-groups"
	}
	if fault == "" {
		return naming.SharedStack(namespace, name), nil
	}
	current := singleServiceStack(svc)
	if claims := ownership.ClaimedStacks(v, svc); len(claims) > 0 {
		current = claims[0]
	}
	return current, &settings.Fault{
		Origin: finding.Origin{Object: cluster.RefOf(svc), Field: cluster.LoadBalancerGroupAnnotation},
		Err:    fmt.Errorf("load balancer group %q is not valid: %s", finding.TruncateValue(svc.Annotations[cluster.LoadBalancerGroupAnnotation]), fault),
	}
}

// candidates returns the Services that may belong, or may have belonged, to a stack.
func candidates(v *cluster.View, id model.StackID) []*corev1.Service {
	name, shared := naming.SharedName(id)
	if !shared {
		if svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, id.Namespace, id.Name); ok {
			return []*corev1.Service{svc}
		}
		return nil
	}
	out := cluster.List[*corev1.Service](v, cluster.Query{Kind: cluster.KindService, Index: cluster.ServiceBySharedLoadBalancer, Value: id.Namespace + "/" + name})
	for _, ref := range v.ObjectsThatLeft(naming.Finalizer(id)) {
		if svc, ok := cluster.Get[*corev1.Service](v, ref.Kind, ref.Namespace, ref.Name); ok {
			out = append(out, svc)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Service) int { return cluster.RefOf(a).Compare(cluster.RefOf(b)) })
	return slices.CompactFunc(out, func(a, b *corev1.Service) bool {
		return a.UID == b.UID && a.Name == b.Name && a.Namespace == b.Namespace
	})
}

// removeForeignMembers makes members with isMemberOnlyByFinalizer leaving members, unless the existing load balancer serves
// them. Members that are served joined while sharing was permitted, so they stay members. The result reports whether there
// are members with isMemberOnlyByFinalizer.
func (g *stackServices) removeForeignMembers(v *cluster.View, id model.StackID, live *observed.Stack) bool {
	some := false
	g.members = slices.DeleteFunc(g.members, func(m *member) bool {
		if !m.isMemberOnlyByFinalizer {
			return false
		}
		some = true
		served := live != nil && slices.ContainsFunc(m.svc.Spec.Ports, func(p corev1.ServicePort) bool { return servesPort(live, m.svc, p.Port) })
		if !served {
			g.leaving = append(g.leaving, ownership.NewMember(v, m.svc, id))
		}
		return !served
	})
	return some
}

// sortMembers sorts the members by age, the oldest first, and the leaving members by name.
func (g *stackServices) sortMembers() {
	slices.SortFunc(g.members, func(a, b *member) int { return members.CompareAge(a.Member, b.Member) })
	slices.SortFunc(g.leaving, func(a, b model.Member) int { return a.Ref.Compare(b.Ref) })
}

// sharingResolver resolves conflicts between Services that share a load balancer, and finds Services that move to or from
// the load balancer.
type sharingResolver struct{ *translation }

// assignPorts assigns each port number to one Service: the Service that the existing listener serves, otherwise the oldest
// Service without a fault, otherwise the oldest Service. It returns the ports whose number is assigned to their Service.
func (t sharingResolver) assignPorts(ports []*port) []*port {
	byNumber := map[int32][]*port{}
	for _, p := range ports {
		byNumber[p.Number] = append(byNumber[p.Number], p)
	}
	for _, all := range byNumber {
		if len(all) < 2 {
			continue
		}
		t.Stack.Contested = true
		won := all[0]
		if valid := slices.IndexFunc(all, func(p *port) bool { return !p.owner.Blocked }); valid > 0 {
			won = all[valid]
		}
		if i := slices.IndexFunc(all, t.isServed); i >= 0 {
			won = all[i]
		}
		for _, p := range all {
			if p != won {
				t.removeReassignedPort(p, won)
			}
		}
	}
	return slices.DeleteFunc(ports, func(p *port) bool { return p.assignedElsewhere })
}

// isServed reports whether the existing listener of a port forwards to the target group of the Service of the port.
func (t sharingResolver) isServed(p *port) bool {
	return t.Live != nil && servesPort(t.Live, p.owner.svc, p.Number)
}

// servesPort reports whether the existing listener of a port forwards to the target group of a Service for that port.
func servesPort(live *observed.Stack, svc *corev1.Service, port int32) bool {
	t := members.Translation{Live: live}
	l := t.LiveLoadBalancer().ListenerOnPort(port)
	if l == nil {
		return false
	}
	id := naming.ServiceTargetGroupID(svc.Namespace, svc.Name, port)
	return slices.ContainsFunc(live.TargetGroups, func(g observed.TargetGroup) bool {
		return g.ResourceID == id && plan.ForwardsTo(l.Default, g.ARN)
	})
}

// removeReassignedPort removes port p from its Service and reports the conflict. The number of p is assigned to another
// Service, which has port to.
func (t sharingResolver) removeReassignedPort(p, to *port) {
	p.assignedElsewhere, p.owner.hasReassignedPort = true, true
	p.owner.ports = slices.DeleteFunc(slices.Clone(p.owner.ports), func(o *port) bool { return o == p })
	why := "is older"
	switch {
	case t.isServed(to):
		why = "already has the listener"
	case p.owner.Blocked && !to.owner.Blocked:
		why = "has no errors"
	}
	t.Found.Add(finding.Finding{
		Object: p.owner.Ref, Field: p.at.Field, Reason: finding.ListenerConflict, Severity: finding.Error,
		Message: fmt.Sprintf("port %d of the shared load balancer is used by %s, which %s; this port is not served", p.Number, to.owner.Ref, why),
		Fix:     "use another port, or another load balancer", Blocks: finding.BlocksListener,
	})
}

// setOwner sets Owner if Services of other namespaces share the load balancer. The owner is the namespace in the name of the
// stack. If this namespace has no Service, the namespace of the oldest Service is the owner. But if the load balancer exists
// and its Services belong to several namespaces, no namespace decides its settings.
func (t sharingResolver) setOwner() {
	isForeign := func(m *member) bool { return m.Ref.Namespace != t.ID.Namespace }
	if !t.shared || !slices.ContainsFunc(t.services, isForeign) {
		return
	}
	t.Stack.Contested = true // if no member decides, the values in AWS stay
	owner := t.services[0].Ref.Namespace
	switch other := func(m *member) bool { return m.Ref.Namespace != owner }; {
	case slices.ContainsFunc(t.services, func(m *member) bool { return !isForeign(m) }):
		owner = t.ID.Namespace
	case t.LiveLoadBalancer() != nil && slices.ContainsFunc(t.services, other):
		owner = ""
	}
	t.Owner = &owner
}

// retainScheme sets the scheme of the existing load balancer on members without a scheme, if another member sets a different
// scheme. Otherwise a single new member could change an internal load balancer of other members to internet-facing.
func (t sharingResolver) retainScheme() {
	live := t.LiveLoadBalancer()
	if !t.shared || live == nil || live.Scheme == "" {
		return
	}
	if !slices.ContainsFunc(t.services, func(m *member) bool { return m.Set.Scheme.Set && m.Set.Scheme.Value != live.Scheme }) {
		return
	}
	for _, m := range t.services {
		if !m.Set.Scheme.IsPresent() {
			m.Set.Scheme = settings.NewOpt(live.Scheme, finding.Origin{Object: m.Ref, Field: schemeAnnotation})
		}
	}
}

// retainPreviousScheme sets the scheme of members without a scheme that move to this stack from another one, if the load
// balancer of this stack does not exist yet. They get the scheme of the load balancer that serves them now, because the same
// clients must reach the new one. When the load balancer exists, retainScheme keeps its scheme.
func (t sharingResolver) retainPreviousScheme() {
	if t.LiveLoadBalancer() != nil {
		return
	}
	for _, m := range t.services {
		if m.movesToOtherStack || m.Set.Scheme.IsPresent() || t.IsFromOtherNamespace(m.Member) {
			continue
		}
		if scheme := t.previousScheme(m); scheme != "" && scheme != t.opt.DefaultScheme {
			m.Set.Scheme = settings.NewOpt(scheme, finding.Origin{Object: m.Ref, Field: schemeAnnotation})
			t.Found.Add(finding.Finding{
				Object: m.Ref, Field: schemeAnnotation, Reason: finding.SchemeKept, Severity: finding.Warning,
				Message: fmt.Sprintf("scheme of the load balancer is not set: using %q, the scheme of the load balancer that serves this Service now (default %q)", scheme, t.opt.DefaultScheme),
				Fix:     "set the annotation " + schemeAnnotation,
			})
		}
	}
}

// previousScheme returns the scheme of the load balancer in the status of a member, if that load balancer belongs to another
// stack; "" if it does not, or if the scheme is not known yet.
func (t sharingResolver) previousScheme(m *member) model.Scheme {
	for _, id := range ownership.ClaimedStacks(t.view, m.svc) {
		shown := m.statusHostname()
		if id == t.ID || shown == "" {
			continue
		}
		t.Stack.Contested = true
		if t.Live == nil {
			continue
		}
		q := model.AskScheme{Of: id, DNSName: shown}
		scheme, known := t.Live.Facts.Schemes[q.Key()]
		if t.RequireFact(q, known) && scheme != "" {
			return scheme
		}
	}
	return ""
}

// statusHostname returns the DNS name of the load balancer in the status of a Service; "" if there is none.
func (m *member) statusHostname() string {
	if at := m.svc.Status.LoadBalancer.Ingress; len(at) > 0 {
		return at[0].Hostname
	}
	return ""
}

// addMoves adds to the stack the MoveIn of each member that moves to it, and the MoveOut of each member that moves to
// another stack.
func (t sharingResolver) addMoves() {
	for _, m := range t.services {
		shown := m.statusHostname()
		hasOtherStack := slices.ContainsFunc(ownership.ClaimedStacks(t.view, m.svc), func(o model.StackID) bool { return o != t.ID })
		switch {
		case m.movesToOtherStack:
			t.Stack.Contested = true // the observed load balancers show which load balancer is in the status
			d := model.MoveOut{Member: m.Ref}
			if t.Live != nil && !t.isStackDNSName(shown) {
				d.Since = cluster.StatusEditedAt(m.svc)
				if d.Since.IsZero() || shown == "" {
					d.Since = time.Unix(0, 0)
				}
			}
			t.Stack.MovesOut = append(t.Stack.MovesOut, d)
		case hasOtherStack && shown != "" && !m.onlyHeld:
			t.Stack.Contested = true
			if t.Live != nil && !t.isStackDNSName(shown) {
				partial := m.hasReassignedPort || m.Blocked || slices.ContainsFunc(m.ports, func(p *port) bool { return p.held })
				t.Stack.MovesIn = append(t.Stack.MovesIn, model.MoveIn{Member: m.Ref, From: t.previousScheme(m), Partial: partial})
			}
		}
	}
}

// isStackDNSName reports whether name is the DNS name of a load balancer of the stack.
func (t sharingResolver) isStackDNSName(name string) bool {
	for _, lb := range t.Live.LoadBalancers {
		if name != "" && strings.EqualFold(name, lb.DNSName) {
			return true
		}
	}
	return false
}
