package ingress

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// What one namespace can make of a load balancer, if the operator sets nothing else. AWS allows 50
// listeners and 100 rules unless the quotas are raised; a cluster that is taken over may have raised
// them. A listener for each port times a rule for each path grows as a product, so that a small object
// could ask for more than fits into memory.
const (
	defaultListeners = 100
	defaultRules     = 4000
	// groupRules is how many rules AWS takes in a security group, whatever the quotas.
	groupRules = 1000
)

// limitSize holds a member with more listeners or rules than the operator allows, before any is made. The
// rules of all its namespace's members in the IngressGroup count together.
func (t *translation) limitSize(m *member) {
	if m.Undetermined {
		return
	}
	paths := 0
	for _, r := range m.ing.Spec.Rules {
		if r.HTTP != nil {
			paths += len(r.HTTP.Paths)
		}
	}
	hosts := 0 // for which certificates are looked for, on each port
	for _, s := range m.ing.Spec.TLS {
		hosts += len(s.Hosts)
	}
	rules := len(m.Ports) * max(paths, hosts, 1) // one without paths listens all the same
	clients := len(m.Ports) * (len(m.set.InboundCIDRs.Value) + len(m.set.PrefixLists.Value))
	if len(m.Ports) <= t.opt.MaxListeners && clients <= groupRules && t.rules[m.Ref.Namespace]+rules <= t.opt.MaxRules {
		t.rules[m.Ref.Namespace] += rules
		return
	}
	f := finding.Finding{Object: m.Ref, Reason: finding.IngressTooLarge, Blocks: finding.BlocksMember}
	switch {
	case len(m.Ports) > t.opt.MaxListeners:
		f.Field = settings.Prefix + "listen-ports"
		f.Message = fmt.Sprintf("%d ports are more than the %d that one Ingress may listen on; its live rules stay as they are", len(m.Ports), t.opt.MaxListeners)
		f.Fix = "name fewer ports, or ask the operator to raise --max-listeners-per-ingress"
	case clients > groupRules:
		f.Field = settings.Prefix + "inbound-cidrs"
		f.Message = fmt.Sprintf("its client ranges on %d ports make %d rules, and a security group takes at most %d; its live rules stay as they are", len(m.Ports), clients, groupRules)
		f.Fix = "give fewer ranges, or name a prefix list"
	default:
		f.Field = "spec.rules"
		f.Message = fmt.Sprintf("%d paths or hosts of spec.tls on %d ports make %d rules, and with the %d of other Ingresses of namespace %s that is more than the %d that a namespace may have in one IngressGroup; its live rules stay as they are",
			max(paths, hosts), len(m.Ports), rules, t.rules[m.Ref.Namespace], m.Ref.Namespace, t.opt.MaxRules)
		f.Fix = "split the Ingress over several IngressGroups, or ask the operator to raise --max-rules-per-namespace"
	}
	t.Found.Add(f)
	m.Blocked, m.Undetermined, m.Oversized, m.Ports = true, true, true, nil
}
