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
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// One load balancer for several Services: which Service belongs to it, who has a port, and how a Service moves to
// it and away.

// stackOf returns the stack that an accepted Service asks for: its own, or one that it shares. A Service whose annotation
// is not valid stays where it is.
func (f *Frontend) stackOf(v *cluster.View, svc *corev1.Service) (model.StackID, *settings.Fault) {
	name, shares := svc.Annotations[cluster.LoadBalancerGroupAnnotation]
	if !shares {
		return ownStack(svc), nil
	}
	namespace, name, _ := strings.Cut(cluster.QualifiedGroup(svc.Namespace, name), "/")
	fault := naming.SharedNameFault(namespace, name)
	if namespace != svc.Namespace && fault == "" && !f.opt.CrossNamespaceGroups {
		fault = "Services of other namespaces are not allowed to share it; use a name without a namespace, or ask the operator for --cross-namespace-load-balancer-groups"
	}
	if fault == "" {
		return naming.SharedStack(namespace, name), nil
	}
	stays := ownStack(svc)
	if claims := ownership.Claims(v, svc); len(claims) > 0 {
		stays = claims[0]
	}
	return stays, &settings.Fault{
		Origin: finding.Origin{Object: ownership.RefOf(svc), Field: cluster.LoadBalancerGroupAnnotation},
		Err:    fmt.Errorf("load balancer group %q is not valid: %s", finding.Cut(svc.Annotations[cluster.LoadBalancerGroupAnnotation]), fault),
	}
}

// candidates returns the Services that may belong to a stack, or did.
func candidates(v *cluster.View, id model.StackID) []*corev1.Service {
	name, shared := naming.SharedName(id)
	if !shared {
		if svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, id.Namespace, id.Name); ok {
			return []*corev1.Service{svc}
		}
		return nil
	}
	out := cluster.List[*corev1.Service](v, cluster.Query{Kind: cluster.KindService, Index: cluster.ServiceByGroup, Value: id.Namespace + "/" + name})
	for _, ref := range v.Left(naming.Finalizer(id)) {
		if svc, ok := cluster.Get[*corev1.Service](v, ref.Kind, ref.Namespace, ref.Name); ok {
			out = append(out, svc)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Service) int { return ownership.RefOf(a).Compare(ownership.RefOf(b)) })
	return slices.CompactFunc(out, func(a, b *corev1.Service) bool {
		return a.UID == b.UID && a.Name == b.Name && a.Namespace == b.Namespace
	})
}

// removeForeignMembers makes members of other namespaces leave that are not served. Those that are have joined while
// that was allowed, and stay. It reports whether there are any.
func (g *group) removeForeignMembers(v *cluster.View, id model.StackID, live *observed.Stack) bool {
	some := false
	g.members = slices.DeleteFunc(g.members, func(m *member) bool {
		if !m.uninvited {
			return false
		}
		some = true
		served := live != nil && slices.ContainsFunc(m.svc.Spec.Ports, func(p corev1.ServicePort) bool { return servesPort(live, m.svc, p.Port) })
		if !served {
			g.leaving = append(g.leaving, ownership.Member(v, m.svc, id))
		}
		return !served
	})
	return some
}

// sort puts the members of a shared load balancer in order: the oldest first.
func (g *group) sort() {
	slices.SortFunc(g.members, func(a, b *member) int {
		switch {
		case members.IsOlder(a.Member, b.Member):
			return -1
		case members.IsOlder(b.Member, a.Member):
			return 1
		}
		return 0
	})
	slices.SortFunc(g.leaving, func(a, b model.Member) int { return a.Ref.Compare(b.Ref) })
}

// sharedBuilder builds what Services that share a load balancer agree on, and which of them moves.
type sharedBuilder struct{ *translation }

// assignPorts leaves each number to one Service: the one that has the live listener, or else the oldest that asks for
// it.
func (t sharedBuilder) assignPorts(ports []*port) []*port {
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
		if valid := slices.IndexFunc(all, func(p *port) bool { return !p.of.Blocked }); valid > 0 {
			won = all[valid]
		}
		if i := slices.IndexFunc(all, t.isIncumbent); i >= 0 {
			won = all[i]
		}
		for _, p := range all {
			if p != won {
				t.reportLostPort(p, won)
			}
		}
	}
	return slices.DeleteFunc(ports, func(p *port) bool { return p.lost })
}

// isIncumbent reports whether the live listener of a port forwards to the target group of its Service for it.
func (t sharedBuilder) isIncumbent(p *port) bool {
	return t.Live != nil && servesPort(t.Live, p.of.svc, p.Number)
}

// servesPort reports whether a live listener forwards to the target group of a Service for the port.
func servesPort(live *observed.Stack, svc *corev1.Service, port int32) bool {
	t := members.Translation{Live: live}
	l := t.LiveLoadBalancer().OnPort(port)
	if l == nil {
		return false
	}
	id := naming.ServiceTargetGroupID(svc.Namespace, svc.Name, port)
	return slices.ContainsFunc(live.TargetGroups, func(g observed.TargetGroup) bool {
		return g.ResourceID == id && slices.ContainsFunc(l.Default, func(a model.Action) bool {
			to, ok := a.(model.Forward)
			return ok && slices.ContainsFunc(to.Groups, func(w model.WeightedGroup) bool { return w.Group.ARN == g.ARN })
		})
	})
}

func (t sharedBuilder) reportLostPort(p, to *port) {
	p.lost, p.of.lost = true, true
	p.of.ports = slices.DeleteFunc(slices.Clone(p.of.ports), func(o *port) bool { return o == p })
	why := "is older"
	if t.isIncumbent(to) {
		why = "has it already"
	}
	t.Found.Add(finding.Finding{
		Object: p.of.Ref, Field: p.at.Field, Reason: finding.ListenerConflict, Severity: finding.Error,
		Message: fmt.Sprintf("port %d of the shared load balancer is that of %s, which %s; this port is not served", p.Number, to.of.Ref, why),
		Fix:     "use another port, or another load balancer", Blocks: finding.BlocksListener,
	})
}

// findGuests finds the members that do not decide the load-balancer-wide settings, where Services of other namespaces
// share it: those of other namespaces than the one that it is named after. Where that has none, no one decides about a
// load balancer of several namespaces that is live, and the oldest Service about a new one.
func (t sharedBuilder) findGuests() {
	strange := func(m *member) bool { return m.Ref.Namespace != t.ID.Namespace }
	if !t.shared || !slices.ContainsFunc(t.services, strange) {
		return
	}
	t.Stack.Contested = true // what is live counts where no member decides
	host := t.services[0].Ref.Namespace
	switch other := func(m *member) bool { return m.Ref.Namespace != host }; {
	case slices.ContainsFunc(t.services, func(m *member) bool { return !strange(m) }):
		host = t.ID.Namespace
	case t.LiveLoadBalancer() != nil && slices.ContainsFunc(t.services, other):
		host = ""
	}
	t.Owner = &host
}

// keepScheme lets members that name no scheme ask for the live one. Otherwise one newcomer could open an internal load
// balancer of others to the internet.
func (t sharedBuilder) keepScheme() {
	live := t.LiveLoadBalancer()
	if !t.shared || live == nil || live.Scheme == "" {
		return
	}
	if !slices.ContainsFunc(t.services, func(m *member) bool { return m.Set.Scheme.Set && m.Set.Scheme.Value != live.Scheme }) {
		return
	}
	for _, m := range t.services {
		if !m.Set.Scheme.Present() {
			m.Set.Scheme = settings.NewOpt(live.Scheme, finding.Origin{Object: m.Ref, Field: schemeAnnotation})
		}
	}
}

// keepFormerScheme lets a member that names no scheme and comes from another stack ask for the one of the load balancer
// that serves it, where a new one is made for it: clients that reach it are to reach it there as well. Once made, the
// load balancer keeps its scheme as any does that names none.
func (t sharedBuilder) keepPreviousScheme() {
	if t.LiveLoadBalancer() != nil {
		return
	}
	for _, m := range t.services {
		if m.leavers || m.Set.Scheme.Present() || t.IsGuest(m.Member) {
			continue
		}
		if scheme := t.previousScheme(m); scheme != "" && scheme != t.opt.DefaultScheme {
			m.Set.Scheme = settings.NewOpt(scheme, finding.Origin{Object: m.Ref, Field: schemeAnnotation})
			t.Found.Add(finding.Finding{
				Object: m.Ref, Field: schemeAnnotation, Reason: finding.SchemeKept, Severity: finding.Warning,
				Message: fmt.Sprintf("scheme of the load balancer is not set; it gets %q, as the one that serves this Service now (default %q)", scheme, t.opt.DefaultScheme),
				Fix:     "set the annotation " + schemeAnnotation,
			})
		}
	}
}

// formerScheme is the scheme of the load balancer of another stack that the status of a member shows; "" if there is
// none, or if it is not known yet.
func (t sharedBuilder) previousScheme(m *member) model.Scheme {
	for _, id := range ownership.Claims(t.view, m.svc) {
		shows := m.statusLoadBalancer()
		if id == t.ID || shows == "" {
			continue
		}
		t.Stack.Contested = true
		if t.Live == nil {
			continue
		}
		q := model.AskScheme{Of: id, DNSName: shows}
		scheme, known := t.Live.Facts.Schemes[q.Key()]
		if t.Compare(q, known) && scheme != "" {
			return scheme
		}
	}
	return ""
}

// statusLoadBalancer returns the load balancer in the status of a Service, "" if there is none.
func (m *member) statusLoadBalancer() string {
	if at := m.svc.Status.LoadBalancer.Ingress; len(at) > 0 {
		return at[0].Hostname
	}
	return ""
}

// noteMoves notes the members that come from another stack, and those that go to one.
func (t sharedBuilder) noteMoves() {
	for _, m := range t.services {
		shows := m.statusLoadBalancer()
		elsewhere := slices.ContainsFunc(ownership.Claims(t.view, m.svc), func(o model.StackID) bool { return o != t.ID })
		switch {
		case m.leavers:
			t.Stack.Contested = true // which load balancer the status shows depends on what is live
			d := model.Departure{Member: m.Ref}
			if t.Live != nil && !t.isOurs(shows) {
				d.Since = cluster.ShownSince(m.svc)
				if d.Since.IsZero() || shows == "" {
					d.Since = time.Unix(0, 0)
				}
			}
			t.Stack.Leavers = append(t.Stack.Leavers, d)
		case elsewhere && shows != "":
			t.Stack.Contested = true
			if t.Live != nil && !t.isOurs(shows) {
				partial := m.lost || m.Blocked || slices.ContainsFunc(m.ports, func(p *port) bool { return p.held })
				t.Stack.Arriving = append(t.Stack.Arriving, model.Arrival{Member: m.Ref, From: t.previousScheme(m), Partial: partial})
			}
		}
	}
}

// isOurs reports whether a name in a status is that of a load balancer of the stack.
func (t sharedBuilder) isOurs(name string) bool {
	for _, lb := range t.Live.LoadBalancers {
		if name != "" && strings.EqualFold(name, lb.DNSName) {
			return true
		}
	}
	return false
}
