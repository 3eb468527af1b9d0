package ingress

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// enforceSizeLimits holds a member that has more listeners or rules than the operator allows, before any of them is built.
// The limit for rules applies to all members of a namespace in the IngressGroup together.
func (t *translation) enforceSizeLimits(m *member) {
	if m.Undetermined {
		return
	}
	paths := 0
	for _, r := range m.ing.Spec.Rules {
		if r.HTTP != nil {
			paths += len(r.HTTP.Paths)
		}
	}
	hosts := 0 // of spec.tls and of rules, for which certificates are searched on each port
	for _, s := range m.ing.Spec.TLS {
		hosts += len(s.Hosts)
	}
	hosts = max(hosts, len(m.Hosts))
	rules := len(m.Ports) * max(paths, hosts, 1) // a port without paths counts as one rule
	mapped, open := 0, len(m.Ports)              // ports of the frontend NLB, and ports in the managed security group
	if t.mayHaveFrontendNLB() {
		mapped = len(m.set.FrontendPorts.Value)
		if !m.set.SecurityGroups.IsPresent() && !m.set.FrontendSecurityGroups.IsPresent() {
			for number := range m.set.FrontendPorts.Value {
				if !slices.ContainsFunc(m.Ports, func(p settings.ListenPort) bool { return p.Port == number }) {
					open++
				}
			}
		}
	}
	clients := open * (len(m.set.InboundCIDRs.Value) + len(m.set.PrefixLists.Value))
	fits := max(len(m.Ports), mapped) <= t.opt.MaxListeners && clients <= assemble.MaxSecurityGroupRules && t.ruleCounts[m.Ref.Namespace]+rules <= t.opt.MaxRules
	if fits && (certificateBuilder{t}).checkCertificateLimit(m) {
		t.ruleCounts[m.Ref.Namespace] += rules
		return
	}
	f := finding.Finding{Object: m.Ref, Reason: finding.IngressTooLarge, Blocks: finding.BlocksMember}
	switch {
	case len(m.Ports) > t.opt.MaxListeners:
		f.Field = settings.Prefix + "listen-ports"
		f.Message = fmt.Sprintf("%d ports exceed the limit of %d ports for one Ingress; the existing rules of the Ingress stay unchanged", len(m.Ports), t.opt.MaxListeners)
		f.Fix = "use fewer ports, or ask the operator to raise --max-listeners-per-ingress"
	case mapped > t.opt.MaxListeners:
		f.Field = settings.Prefix + "frontend-nlb-listener-port-mapping"
		f.Message = fmt.Sprintf("%d mapped ports exceed the limit of %d ports for one Ingress; the existing rules of the Ingress stay unchanged", mapped, t.opt.MaxListeners)
		f.Fix = "map fewer ports, or ask the operator to raise --max-listeners-per-ingress"
	case clients > assemble.MaxSecurityGroupRules:
		f.Field = settings.Prefix + "inbound-cidrs"
		f.Message = fmt.Sprintf("the client ranges of the Ingress (ports: %d) need %d rules, but a security group can have at most %d; the existing listener rules of the Ingress stay unchanged", open, clients, assemble.MaxSecurityGroupRules)
		f.Fix = "use fewer ranges, or a prefix list"
	case fits:
		f.Field = members.FieldForObject(m.Ref, m.set.Certificates.Origin)
		f.Message = fmt.Sprintf("the Ingresses of namespace %s in the IngressGroup name more than %d certificates, counted on each HTTPS port; the existing rules of the Ingress stay unchanged", m.Ref.Namespace, assemble.MaxCertificates)
		f.Fix = "name fewer certificates, or split the Ingress over several IngressGroups"
	default:
		f.Field = "spec.rules"
		f.Message = fmt.Sprintf("the rules of the Ingress (paths: %d, hosts: %d, ports: %d, rules: %d) exceed what is left (%d) of the limit of %d rules for namespace %s in one IngressGroup; the existing rules of the Ingress stay unchanged",
			paths, hosts, len(m.Ports), rules, t.opt.MaxRules-t.ruleCounts[m.Ref.Namespace], t.opt.MaxRules, m.Ref.Namespace)
		f.Fix = "split the Ingress over several IngressGroups, or ask the operator to raise --max-rules-per-namespace"
	}
	t.Found.Add(f)
	m.Blocked, m.Undetermined, m.Oversized, m.Ports = true, true, true, nil
}

// portCertificate is a certificate that an Ingress names, on one HTTPS port.
type portCertificate struct {
	port int32
	arn  string
}

// checkCertificateLimit counts the certificates that a member names, on each of its HTTPS ports. It reports whether the
// number for its namespace is within the limit. The limit exists because each certificate of a port requires an AWS call. A
// certificate of a port that is already counted is not counted again.
func (t certificateBuilder) checkCertificateLimit(m *member) bool {
	names := m.set.Certificates.Value
	ports := slices.DeleteFunc(slices.Clone(m.Ports), func(p settings.ListenPort) bool { return !p.TLS })
	if len(names)*len(ports) > assemble.MaxCertificates {
		return false
	}
	of := t.certificates[m.Ref.Namespace]
	if of == nil {
		of = map[portCertificate]bool{}
		t.certificates[m.Ref.Namespace] = of
	}
	added := map[portCertificate]bool{}
	for _, p := range ports {
		for _, arn := range names {
			if c := (portCertificate{p.Port, arn}); !of[c] {
				added[c] = true
			}
		}
	}
	if len(of)+len(added) > assemble.MaxCertificates {
		return false
	}
	maps.Copy(of, added)
	return true
}

// mayHaveFrontendNLB reports whether the load balancer may have a frontend NLB, which uses the mapped ports of all members.
func (t *translation) mayHaveFrontendNLB() bool {
	return t.LiveFrontendNLB() != nil || slices.ContainsFunc(t.ingresses, func(m *member) bool {
		return m.set.FrontendNLB.Value || m.set.FrontendNLB.Fault != nil
	})
}
