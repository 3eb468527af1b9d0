package service

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Limits of what one Service can have on a load balancer. Rules are a product of listeners and client ranges, so that
// without limits a small object could take more memory than there is.
const (
	// defaultMaxListeners is the maximum number of ports of a Service. AWS allows 50 listeners unless the quota is raised.
	defaultMaxListeners = 100
	// maxSecurityGroupRules is the maximum number of rules of a security group in AWS, which no quota can raise.
	maxSecurityGroupRules = 1000
	// maxAttributes is the maximum number of attributes in an annotation, far more than target groups and listeners have.
	maxAttributes = 100
)

// limitSize holds a Service that exceeds a limit, before anything of it is built.
func (t *translation) limitSize(m *member) {
	ports := len(m.svc.Spec.Ports)
	clients := ports * (len(m.set.InboundCIDRs.Value) + len(m.set.PrefixLists.Value))
	f := finding.Finding{Object: m.Ref, Reason: finding.ServiceTooLarge, Blocks: finding.BlocksMember}
	const now = "; the live load balancer is not changed"
	switch attributes := m.set.Target.Attributes; {
	case ports > t.opt.MaxListeners:
		f.Field = "spec.ports"
		f.Message = fmt.Sprintf("%d ports are more than the %d that one Service may have", ports, t.opt.MaxListeners) + now
		f.Fix = "use several Services"
	case clients > maxSecurityGroupRules:
		f.Field = sourceRangesField
		f.Message = fmt.Sprintf("the client ranges on %d ports make %d rules, and a security group takes at most %d", ports, clients, maxSecurityGroupRules) + now
		f.Fix = "give fewer ranges, or name a prefix list"
	case len(attributes.Value) > maxAttributes:
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

// tooManyClients reports a Service that is a weighted backend and has too many client ranges, each of which needs a rule on
// nodes and pods. Ranges of the Service itself are reported by limitSize.
func (t *translation) tooManyClients(a target, n int) {
	if a.svc == a.port.of.svc {
		return
	}
	t.fault(a.port, a.at.Field, finding.ServiceTooLarge,
		fmt.Sprintf("the %d client ranges of Service %s/%s make more rules than the %d that a security group takes", n, a.svc.Namespace, a.svc.Name, maxSecurityGroupRules),
		"give that Service fewer ranges, or name another one")
}
