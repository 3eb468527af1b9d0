package service

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// What one Service can make of a load balancer. Listeners times client ranges, and target groups times
// attributes, grow as products, so that a small object could ask for more than fits into memory.
const (
	// defaultListeners is how many ports a Service may have. AWS allows 50 listeners unless the quota is raised.
	defaultListeners = 100
	// mostRules is how many rules AWS takes in a security group, whatever the quotas.
	mostRules = 1000
	// mostAttributes is far more than target groups and listeners have.
	mostAttributes = 100
)

// limitSize holds a Service that asks for more than AWS accepts, before any of it is made.
func (t *translation) limitSize(m *member) {
	ports := len(m.svc.Spec.Ports)
	clients := ports * (len(m.set.InboundCIDRs.Value) + len(m.set.PrefixLists.Value))
	f := finding.Finding{Object: m.Ref, Reason: finding.ServiceTooLarge, Blocks: finding.BlocksMember}
	const now = "; what is live of the load balancer stays"
	switch attributes := m.set.Target.Attributes; {
	case ports > t.opt.MaxListeners:
		f.Field = "spec.ports"
		f.Message = fmt.Sprintf("%d ports are more than the %d that one Service may have", ports, t.opt.MaxListeners) + now
		f.Fix = "use several Services"
	case clients > mostRules:
		f.Field = sourceRanges
		f.Message = fmt.Sprintf("the client ranges on %d ports make %d rules, and a security group takes at most %d", ports, clients, mostRules) + now
		f.Fix = "give fewer ranges, or name a prefix list"
	case len(attributes.Value) > mostAttributes:
		f.Field = attributes.Origin.Field
		f.Message = fmt.Sprintf("%d attributes are more than target groups have", len(attributes.Value)) + now
		f.Fix = "name fewer attributes"
	default:
		return
	}
	t.Found.Add(f)
	m.Blocked, m.Oversized = true, true
	m.Set.InboundCIDRs, m.Set.PrefixLists = settings.Opt[[]string]{}, settings.Opt[[]string]{}
}

// tooManyClients reports the client ranges of a target group, each of which needs a rule on nodes and pods. Those of
// the Service itself are reported by limitSize.
func (t *translation) tooManyClients(a target, n int) {
	if a.svc == a.port.of.svc {
		return
	}
	t.fault(a.port, a.at.Field, finding.ServiceTooLarge,
		fmt.Sprintf("the %d client ranges of Service %s/%s make more rules than the %d that a security group takes", n, a.svc.Namespace, a.svc.Name, mostRules),
		"give that Service fewer ranges, or name another one")
}
