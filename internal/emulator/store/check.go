package store

import (
	"fmt"
	"net/netip"
	"slices"
	"sort"
)

// CheckInvariants returns a description of each violation of an invariant, in all partitions. Violations are references to
// resources that do not exist, addresses that two resources have, target groups that two load balancers use, equal
// priorities of rules, and invalid ports of accelerators.
func (w *Store) CheckInvariants() []string {
	var broken []string
	for _, p := range w.Partitions() {
		at := p.Account + "/" + p.Region + ": "
		for _, s := range slices.Concat(p.checkNetwork(), p.checkLoadBalancing(), p.checkAccelerators()) {
			broken = append(broken, at+s)
		}
	}
	sort.Strings(broken)
	return broken
}

func (p *Partition) checkNetwork() []string {
	var broken []string
	say := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	owners := map[string]map[netip.Addr]string{}
	for _, id := range SortedKeys(p.NetworkInterfaces) {
		eni := p.NetworkInterfaces[id]
		if p.Subnets[eni.SubnetID] == nil {
			say("%s is in %s, which does not exist", id, eni.SubnetID)
		}
		for _, g := range eni.Groups {
			if p.SecurityGroups[g] == nil {
				say("%s has security group %s, which does not exist", id, g)
			}
		}
		taken := owners[eni.VPCID]
		if taken == nil {
			taken = map[netip.Addr]string{}
			owners[eni.VPCID] = taken
		}
		for _, a := range eni.Private {
			if other, ok := taken[a.Addr]; ok {
				say("%s and %s both have %s", other, id, a.Addr)
			}
			taken[a.Addr] = id
		}
	}
	for _, id := range SortedKeys(p.SecurityGroups) {
		g := p.SecurityGroups[id]
		for _, rules := range [][]SecurityGroupRule{g.Ingress, g.Egress} {
			for _, r := range rules {
				if r.Peer.Group != "" && r.Peer.GroupOwner == p.Account && p.SecurityGroups[r.Peer.Group] == nil {
					say("a rule of %s names %s, which does not exist", id, r.Peer.Group)
				}
			}
		}
	}
	for _, id := range SortedKeys(p.Subnets) {
		if p.VPCs[p.Subnets[id].VPCID] == nil {
			say("%s is in %s, which does not exist", id, p.Subnets[id].VPCID)
		}
	}
	return broken
}

func (p *Partition) checkLoadBalancing() []string {
	var broken []string
	say := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	ports := map[string]string{}
	for _, arn := range SortedKeys(p.ELB.Listeners) {
		l := p.ELB.Listeners[arn]
		if p.ELB.LoadBalancers[l.LoadBalancer] == nil {
			say("listener %s has no load balancer", arn)
		}
		key := fmt.Sprintf("%s %d", l.LoadBalancer, l.Port)
		if other, ok := ports[key]; ok {
			say("listeners %s and %s share a port", other, arn)
		}
		ports[key] = arn
	}
	priorities, users := map[string]string{}, map[string]string{}
	for _, arn := range SortedKeys(p.ELB.Rules) {
		r := p.ELB.Rules[arn]
		l := p.ELB.Listeners[r.Listener]
		if l == nil {
			say("rule %s has no listener", arn)
			continue
		}
		key := fmt.Sprintf("%s %d", r.Listener, r.Priority)
		if other, ok := priorities[key]; ok {
			say("rules %s and %s share a priority", other, arn)
		}
		priorities[key] = arn
		EachForwardedTargetGroup(r.Actions, func(group string) {
			if p.ELB.TargetGroups[group] == nil {
				say("rule %s forwards to %s, which does not exist", arn, group)
			}
			if lb, ok := users[group]; ok && lb != l.LoadBalancer {
				say("target group %s is used by %s and %s", group, lb, l.LoadBalancer)
			}
			users[group] = l.LoadBalancer
		})
	}
	return broken
}

func (p *Partition) checkAccelerators() []string {
	var broken []string
	say := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	owners := map[netip.Addr]string{}
	for _, arn := range SortedKeys(p.Accelerators.Accelerators) {
		a := p.Accelerators.Accelerators[arn]
		for _, address := range slices.Concat(a.IPv4, a.IPv6) {
			if other, ok := owners[address]; ok {
				say("%s and %s both have %s", other, arn, address)
			}
			owners[address] = arn
		}
		for i, l := range a.Listeners {
			for _, other := range a.Listeners[:i] {
				if l.Protocol == other.Protocol && slices.ContainsFunc(l.Ranges, func(r PortRange) bool { return slices.ContainsFunc(other.Ranges, r.Overlaps) }) {
					say("%s and %s share a port", other.ARN, l.ARN)
				}
			}
			regions := map[string]bool{}
			for _, g := range l.Groups {
				if regions[g.Region] {
					say("%s has two endpoint groups in %s", l.ARN, g.Region)
				}
				regions[g.Region] = true
				for _, o := range g.Overrides {
					if slices.ContainsFunc(a.Listeners, func(x *AcceleratorListener) bool { return x.HasPort(o.Endpoint) }) {
						say("a port override of %s leads to port %d, which a listener has", g.ARN, o.Endpoint)
					}
				}
			}
		}
	}
	return broken
}
