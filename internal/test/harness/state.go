package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// State returns the load balancers, listeners, rules, target groups with tags and security groups in AWS as sorted
// lines, one for each resource. Generated IDs of load balancers, target groups and security groups are replaced by
// names. State omits certificates, web ACLs, Shield protections and reserved capacity.
func (r *Harness) State() []string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, RegionOf(r.Emulator))
	names := r.nameReplacer(p)
	var out []string
	line := func(kind string, parts ...any) {
		text, err := json.Marshal(parts)
		if err != nil {
			r.T.Fatal(err)
		}
		out = append(out, kind+" "+names.Replace(string(text)))
	}
	for _, lb := range p.ELB.LoadBalancers {
		groups := slices.Clone(lb.SecurityGroups)
		for i := range groups {
			groups[i] = names.Replace(groups[i])
		}
		slices.Sort(groups)
		var subnets []string
		for _, z := range lb.Zones {
			subnets = append(subnets, z.Subnet)
		}
		line("load-balancer", withoutCounter(lb.Name), lb.Type, lb.Scheme, lb.Addressing, subnets, groups, lb.Attributes, lb.Tags)
		if !lb.IsALB() {
			line("network-load-balancer", withoutCounter(lb.Name), lb.PrefixForSourceNAT, lb.EnforcePrivateLink)
		}
	}
	for _, l := range p.ELB.Listeners {
		line("listener", l.LoadBalancer, l.Port, l.Protocol, l.SSLPolicy, l.Certificate, slices.Sorted(slices.Values(l.SNI)), l.Attributes, l.Tags, l.ALPN)
	}
	for _, rule := range p.ELB.Rules {
		l := p.ELB.Listeners[rule.Listener]
		line("rule", l.LoadBalancer, l.Port, rule.Priority, rule.Conditions, rule.Actions, rule.Transforms, rule.Tags)
	}
	for _, g := range p.ELB.TargetGroups {
		if len(g.Tags) == 0 {
			continue // not created by the controller
		}
		var ts []string
		for _, t := range g.Targets {
			if !t.IsDraining() {
				ts = append(ts, fmt.Sprintf("%s:%d", t.ID, t.Port))
			}
		}
		slices.Sort(ts)
		line("target-group", targetGroupPurpose(g), g.Type, g.Port, g.Protocol, g.ProtocolVersion, g.Check, g.Attributes, ts, g.Tags)
	}
	for id, g := range p.SecurityGroups {
		var rules []string
		for _, i := range g.Ingress {
			peer := i.Peer.PrefixList + names.Replace(i.Peer.Group)
			if i.Peer.CIDR.IsValid() {
				peer = i.Peer.CIDR.String()
			}
			rules = append(rules, fmt.Sprintf("%s %d-%d %s", i.Protocol, deref(i.From), deref(i.To), peer))
		}
		slices.Sort(rules)
		line("security-group", g.Name, rules, p.Tags[id])
	}
	slices.Sort(out)
	return out
}

// targetGroupPurpose returns the resource tag of a target group for a Service, because the names of such target groups
// depend on earlier health checks. For any other target group it returns the name.
func targetGroupPurpose(g *store.TargetGroup) string {
	if of := g.Tags[naming.ResourceTag(model.Service)]; of != "" {
		return of
	}
	return withoutCounter(g.Name)
}

// withoutCounter returns a name of the controller without the number that is appended if the name is already in use,
// and at most its first 30 characters. Other names are returned unchanged.
func withoutCounter(name string) string {
	if !strings.HasPrefix(name, "k8s-") {
		return name
	}
	if n := len(name) - 2; name[n] == '-' {
		name = name[:n]
	}
	return name[:min(len(name), 30)]
}

func deref(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// nameReplacer returns a replacer of IDs by names. It replaces longer IDs first, because an ID may be a prefix of
// another one.
func (r *Harness) nameReplacer(p *store.Partition) *strings.Replacer {
	of := map[string]string{}
	for arn, lb := range p.ELB.LoadBalancers {
		of[arn] = "lb:" + withoutCounter(lb.Name)
	}
	for arn, g := range p.ELB.TargetGroups {
		of[arn] = "tg:" + targetGroupPurpose(g)
	}
	for id, g := range p.SecurityGroups {
		of[id] = "sg:" + g.Name
	}
	keys := slices.Collect(maps.Keys(of))
	slices.SortFunc(keys, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, k := range keys {
		pairs = append(pairs, k, of[k])
	}
	return strings.NewReplacer(pairs...)
}
