package service

import (
	"errors"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// maxAttributes is the maximum number of attributes in annotation aws-load-balancer-target-group-attributes, which apply to
// each port. It is far above the number of attributes that a target group has.
const maxAttributes = 100

// enforceSizeLimits holds a Service that exceeds a limit, before any of its resources is built.
func (t *translation) enforceSizeLimits(m *member) {
	ports := len(m.svc.Spec.Ports)
	clients := ports * (len(m.set.InboundCIDRs.Value) + len(m.set.PrefixLists.Value))
	f := finding.Finding{Object: m.Ref, Reason: finding.ServiceTooLarge, Blocks: finding.BlocksMember}
	const now = "; what exists in AWS for this Service stays unchanged"
	switch attributes, certificates := m.set.Target.Attributes, m.set.Certificates; {
	case ports > assemble.DefaultMaxListeners:
		f.Field = "spec.ports"
		f.Message = fmt.Sprintf("%d ports exceed the limit of %d ports for one Service", ports, assemble.DefaultMaxListeners) + now
		f.Fix = "use several Services"
	case clients > assemble.MaxSecurityGroupRules:
		f.Field = sourceRangesField
		f.Message = fmt.Sprintf("the client ranges (ports: %d) need %d rules, but a security group can have at most %d", ports, clients, assemble.MaxSecurityGroupRules) + now
		f.Fix = "use fewer ranges, or a prefix list"
	case len(attributes.Value) > maxAttributes:
		f.Field = attributes.Origin.Field
		f.Message = fmt.Sprintf("the annotation has %d attributes, more than target groups have", len(attributes.Value)) + now
		f.Fix = "name fewer attributes"
	case ports*len(certificates.Value) > assemble.MaxCertificates:
		f.Field = certificates.Origin.Field
		f.Message = fmt.Sprintf("%d certificates for %d ports exceed the limit of %d certificates, counted for each port", len(certificates.Value), ports, assemble.MaxCertificates) + now
		f.Fix = "name fewer certificates, or use several Services"
	default:
		return
	}
	t.Found.Add(f)
	m.Blocked, m.Oversized = true, true
	// With a fault in the ranges, an existing listener keeps its clients. Without ranges, it would admit all clients.
	m.Set.InboundCIDRs = settings.Opt[[]string]{Fault: errTooLarge, Origin: finding.Origin{Object: m.Ref, Field: sourceRangesField}}
	m.Set.PrefixLists = settings.Opt[[]string]{}
}

var errTooLarge = errors.New("the Service exceeds a limit")

// limitClientRanges holds a listener with a weighted backend that has too many client ranges, because each range needs a
// rule in the security groups of nodes and pods. It does nothing for the Service that has the load balancer, because
// enforceSizeLimits checks the ranges of that Service.
func (t *translation) limitClientRanges(a target, n int) {
	if a.svc == a.port.owner.svc {
		return
	}
	t.holdListener(a.port, a.at.Field, finding.ServiceTooLarge,
		fmt.Sprintf("the %d client ranges of Service %s/%s need more rules than the %d that a security group can have", n, a.svc.Namespace, a.svc.Name, assemble.MaxSecurityGroupRules),
		"reduce the ranges of that Service, or use another Service")
}
