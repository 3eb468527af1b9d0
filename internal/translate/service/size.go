package service

import (
	"errors"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Limits for the resources of one Service on a load balancer. The number of rules is the product of listeners and client
// ranges, so without limits a small object could exhaust the memory.
const (
	// defaultMaxListeners is the maximum number of ports of a Service. AWS allows 50 listeners unless the quota is raised.
	defaultMaxListeners = 100
	// maxSecurityGroupRules is the maximum number of rules of a security group in AWS, which no quota can raise.
	maxSecurityGroupRules = 1000
	// maxAttributes is the maximum number of attributes in annotation aws-load-balancer-target-group-attributes, which apply
	// to each port. It is far above the number of attributes that a target group has.
	maxAttributes = 100
	// maxCertificates is the maximum number of certificates of a Service, counted for each of its ports. It is far above the
	// quota of certificates of a load balancer, which is 25 unless it is raised.
	maxCertificates = 4000
)

// limitSize holds a Service that exceeds a limit, before any of its resources is built.
func (t *translation) limitSize(m *member) {
	ports := len(m.svc.Spec.Ports)
	clients := ports * (len(m.set.InboundCIDRs.Value) + len(m.set.PrefixLists.Value))
	f := finding.Finding{Object: m.Ref, Reason: finding.ServiceTooLarge, Blocks: finding.BlocksMember}
	const now = "; what exists in AWS for this Service stays unchanged"
	switch attributes, certificates := m.set.Target.Attributes, m.set.Certificates; {
	case ports > t.opt.MaxListeners:
		f.Field = "spec.ports"
		f.Message = fmt.Sprintf("%d ports exceed the limit of %d ports for one Service", ports, t.opt.MaxListeners) + now
		f.Fix = "use several Services"
	case clients > maxSecurityGroupRules:
		f.Field = sourceRangesField
		f.Message = fmt.Sprintf("the client ranges (ports: %d) need %d rules, but a security group can have at most %d", ports, clients, maxSecurityGroupRules) + now
		f.Fix = "use fewer ranges, or a prefix list"
	case len(attributes.Value) > maxAttributes:
		f.Field = attributes.Origin.Field
		f.Message = fmt.Sprintf("the annotation has %d attributes, more than target groups have", len(attributes.Value)) + now
		f.Fix = "name fewer attributes"
	case ports*len(certificates.Value) > maxCertificates:
		f.Field = certificates.Origin.Field
		f.Message = fmt.Sprintf("%d certificates for %d ports exceed the limit of %d certificates, counted for each port", len(certificates.Value), ports, maxCertificates) + now
		f.Fix = "name fewer certificates, or use several Services"
	default:
		return
	}
	t.Found.Add(f)
	m.Blocked, m.Oversized = true, true
	// A listener that exists keeps its clients, which unset ranges would not: they admit all.
	m.Set.InboundCIDRs = settings.Opt[[]string]{Fault: errTooLarge, Origin: finding.Origin{Object: m.Ref, Field: sourceRangesField}}
	m.Set.PrefixLists = settings.Opt[[]string]{}
}

var errTooLarge = errors.New("the Service exceeds a limit")

// reportTooManyClients holds a listener with a weighted backend that has too many client ranges, because each range needs a
// rule in the security groups of nodes and pods. It does nothing for the Service that has the load balancer, because
// limitSize checks the ranges of that Service.
func (t *translation) reportTooManyClients(a target, n int) {
	if a.svc == a.port.owner.svc {
		return
	}
	t.holdListener(a.port, a.at.Field, finding.ServiceTooLarge,
		fmt.Sprintf("the %d client ranges of Service %s/%s need more rules than the %d that a security group can have", n, a.svc.Namespace, a.svc.Name, maxSecurityGroupRules),
		"reduce the ranges of that Service, or use another Service")
}
