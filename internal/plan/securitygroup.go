package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/network"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// securityGroups makes those of the stack and the shared one of the cluster.
type securityGroups struct {
	*draft
	lb, frontend *loadBalancerPlan
	opened       map[int32]StepID // steps that open and shut ports of the managed group
}

// managedGroup is the live security group of the stack that is kept: the one that the live load
// balancer carries, else the first by id.
func managedGroup(all []observed.SecurityGroup, live *observed.LoadBalancer) *observed.SecurityGroup {
	var first *observed.SecurityGroup
	for i := range all {
		g := &all[i]
		if g.ResourceID != model.ManagedGroupID {
			continue
		}
		if live != nil && slices.Contains(live.SecurityGroups, g.ID) {
			return g
		}
		if first == nil {
			first = g
		}
	}
	return first
}

// planManaged makes the stack's own group fit, and returns the step that makes it. What it admits to
// a port is a step of those who listen there: where AWS has no room for the clients of one member, the
// ports of others are opened and shut all the same. New listeners wait for it, see opened.
func (sg *securityGroups) planManaged(after []StepID) []StepID {
	choice, ok := sg.want.LoadBalancer.SecurityGroups.(model.GroupsManaged)
	if !ok || sg.unavailable(model.AskSecurityGroups{}) != nil {
		return nil
	}
	want := choice.Group
	tags := sg.tags(model.ManagedGroupID, want.Tags)
	live := managedGroup(sg.have.SecurityGroups, sg.lb.live)
	var made []StepID
	var have []model.IngressRule
	if live == nil {
		made = []StepID{sg.add(Step{
			ID: stepID("create", managedGroupAddress), Address: managedGroupAddress, Verb: Create,
			Do:  CreateSecurityGroup{Name: want.Name, Description: want.Description, Tags: tags},
			Why: "the load balancer has no security group of its own", After: after, Blames: sg.members(),
		})}
	} else {
		have = live.Ingress
		sg.retag(managedGroupAddress, tags, live.Tags, true, after, sg.members())
	}
	authorize, revoke := network.RuleDiff(sg.admitted(want.Ingress), have)
	revoke = slices.DeleteFunc(revoke, sg.keepsOpen)
	if len(authorize)+len(revoke) == 0 {
		return made
	}
	sg.reportRevoked(live, revoke)
	sg.openPorts(authorize, revoke, len(have)+len(authorize)-len(revoke), append(slices.Clone(after), made...))
	return made
}

// admitted are the desired rules without those for a port on which nothing listens and on which this plan makes
// no listener: it is opened together with its listener.
func (sg *securityGroups) admitted(rules []model.IngressRule) []model.IngressRule {
	live, waits := sg.livePorts(), map[int32]bool{}
	for _, l := range slices.Concat(sg.lb.listeners, sg.frontend.listeners) {
		if l.make || live[l.desired.Port] {
			waits[l.desired.Port] = false
		} else if _, seen := waits[l.desired.Port]; !seen {
			waits[l.desired.Port] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r model.IngressRule) bool { return !isICMP(r) && r.From == r.To && waits[r.From] })
}

// livePorts are those on which any load balancer of the stack listens.
func (sg *securityGroups) livePorts() map[int32]bool {
	ports := map[int32]bool{}
	for _, lb := range sg.have.LoadBalancers {
		for _, l := range lb.Listeners {
			ports[l.Port] = true
		}
	}
	return ports
}

// openPorts plans a change of rules of the managed group, a step for each set of namespaces that share
// ports. total is how many rules the group has then.
func (sg *securityGroups) openPorts(authorize, revoke []model.IngressRule, total int, after []StepID) {
	type change struct {
		members           []finding.Ref
		authorize, revoke []model.IngressRule
	}
	changes := map[string]*change{}
	of := func(r model.IngressRule) *change {
		members := sg.listensOn(r.From)
		if isICMP(r) {
			members = sg.members() // for clients of all ports
		}
		tenants := namespacesOf(members)
		c := changes[tenants]
		if c == nil {
			c = &change{}
			changes[tenants] = c
		}
		c.members = append(c.members, members...)
		return c
	}
	for _, r := range authorize {
		c := of(r)
		c.authorize = append(c.authorize, r)
	}
	for _, r := range revoke {
		c := of(r)
		c.revoke = append(c.revoke, r)
	}
	sg.opened = map[int32]StepID{}
	for _, tenants := range slices.Sorted(maps.Keys(changes)) {
		c := changes[tenants]
		id := stepID("rules", managedGroupAddress)
		if len(changes) > 1 {
			id = stepID("rules", managedGroupAddress, cmp.Or(tenants, "unowned"))
		}
		blames := sg.members()
		if len(c.members) > 0 {
			blames = slices.Compact(slices.SortedFunc(slices.Values(c.members), finding.Ref.Compare))
		}
		sg.add(Step{
			ID: id, Address: managedGroupAddress, Verb: Update,
			Do:      ChangeIngress{Group: managedGroupAddress, Authorize: c.authorize, Revoke: c.revoke, Total: total},
			Changes: ruleChanges(c.authorize, c.revoke),
			Why:     "clients must reach the listeners, and nothing else", Blames: blames, After: after,
		})
		for _, r := range append(slices.Clone(c.authorize), c.revoke...) {
			if !isICMP(r) {
				sg.opened[r.From] = id
			}
		}
	}
}

// listensOn are the members on a port of the load balancer, or of the one in front of it.
func (sg *securityGroups) listensOn(port int32) []finding.Ref {
	var out []finding.Ref
	for _, l := range sg.want.LoadBalancer.Listeners {
		if l.Port == port {
			out = append(out, l.Members...)
		}
	}
	if sg.want.FrontendNLB != nil {
		for _, l := range sg.want.FrontendNLB.Listeners {
			if l.Port == port {
				out = append(out, l.Members...)
			}
		}
	}
	return out
}

func namespacesOf(members []finding.Ref) string {
	var out []string
	for _, m := range members {
		out = append(out, m.Namespace)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// keepsOpen reports whether a live rule stays although it is not part of the desired state.
func (sg *securityGroups) keepsOpen(r model.IngressRule) bool {
	return sg.opensKept(r) || sg.opensFrontend(r)
}

// reportRevoked names the rules that are taken away and that no controller has made.
func (sg *securityGroups) reportRevoked(live *observed.SecurityGroup, revoke []model.IngressRule) {
	ports := sg.livePorts()
	for _, l := range slices.Concat(sg.lb.listeners, sg.frontend.listeners) {
		ports[l.desired.Port] = true // opened by an earlier version for a listener that waits, or for one deleted by others
	}
	var foreign []string
	for _, r := range revoke {
		if !sg.makes(r, ports) {
			foreign = append(foreign, ruleText(r))
		}
	}
	if live == nil || len(foreign) == 0 || len(sg.want.Members) == 0 {
		return
	}
	sg.found.Add(finding.Finding{
		Object: sg.want.Members[0].Ref, Reason: finding.RulesRevoked, Severity: finding.Warning,
		Message: fmt.Sprintf("security group %s belongs to the controller, which takes away what others added: %s", live.ID, strings.Join(foreign, ", ")),
		Fix:     "set " + naming.SettingName(sg.want.ID.Kind, "inbound-cidrs") + " or " + naming.SettingName(sg.want.ID.Kind, "security-group-prefix-lists") + ", or give the load balancer security groups of your own",
	})
}

// makes reports whether the controller may have made a rule. Its own have no description, and admit clients to one
// port of a listener, or, for a network load balancer, messages about the size of packets. After a change that was
// cut short the listener may be missing.
func (sg *securityGroups) makes(r model.IngressRule, ports map[int32]bool) bool {
	network := sg.lb.desired.Type == model.Network
	switch {
	case r.Group != "" || r.Description != "":
		return false
	case isICMP(r):
		return network && (r.Protocol == "icmp" && r.From == 3 && r.To == 4 || r.Protocol == "icmpv6" && r.From == 2 && r.To == 0)
	}
	return (r.Protocol == "tcp" || r.Protocol == "udp" && network) && r.From == r.To && (ports[r.From] || sg.memory.Unfinished)
}

// isICMP reports whether the numbers of a rule are a type and a code of ICMP rather than ports.
func isICMP(r model.IngressRule) bool { return r.Protocol == "icmp" || r.Protocol == "icmpv6" }

// opensKept reports whether a rule opens the port of a live listener that stays although it is not desired.
func (sg *securityGroups) opensKept(r model.IngressRule) bool {
	return slices.ContainsFunc(sg.lb.listeners, func(l listenerPlan) bool {
		return !l.make && l.live != nil && r.From == l.live.Port && r.To == l.live.Port && carries(l.live.Protocol, r.Protocol)
	})
}

// carries reports whether the clients of a listener's protocol come by a protocol of rules.
func carries(listener, rule string) bool {
	switch listener {
	case "UDP", "QUIC":
		return rule == "udp"
	case "TCP_UDP", "TCP_QUIC":
		return rule == "tcp" || rule == "udp"
	}
	return rule == "tcp"
}

// opensFrontend reports whether a rule opens a live port of it that stays although it is not desired.
func (sg *securityGroups) opensFrontend(r model.IngressRule) bool {
	return sg.frontend.live != nil && (sg.frontendStays() || sg.want.FrontendNLB != nil && sg.want.Held.FrontendPorts) &&
		slices.ContainsFunc(sg.frontend.live.Listeners, func(l observed.Listener) bool { return l.Port == r.From && l.Port == r.To })
}

func ruleChanges(authorize, revoke []model.IngressRule) []Change {
	var out []Change
	for _, r := range authorize {
		out = append(out, Change{Path: "ingress", To: ruleText(r)})
	}
	for _, r := range revoke {
		out = append(out, Change{Path: "ingress", From: ruleText(r)})
	}
	return out
}

func ruleText(r model.IngressRule) string {
	return fmt.Sprintf("%s %d-%d %s", r.Protocol, r.From, r.To, strings.Join([]string{r.CIDR, r.PrefixList, r.Group}, ""))
}

// planBackend makes the cluster's shared group where it is needed and missing.
func (sg *securityGroups) planBackend(after []StepID) []StepID {
	use := sg.want.BackendGroup
	if !use.Needed || use.Given != "" || sg.unavailable(model.AskSecurityGroups{}) != nil {
		return nil
	}
	if live := sg.have.Facts.BackendGroup; live != nil {
		sg.tagBackend(*live)
		return nil
	}
	return []StepID{sg.add(Step{
		ID: stepID("create", backendGroupAddress), Address: backendGroupAddress, Verb: Create,
		Do: CreateSecurityGroup{
			Name: naming.BackendGroup(sg.opt.Cluster), Description: naming.BackendGroupDescription,
			Tags: naming.BackendGroupTags(sg.opt.Cluster, use.Tags),
		},
		Why: "nodes and pods admit load balancers by this group", After: after, Blames: sg.members(),
	})}
}

// tagBackend puts the operator's tags on the shared group. It takes none away, as the group is
// everybody's.
func (sg *securityGroups) tagBackend(live observed.SecurityGroup) {
	put, _ := sg.tagDrift(naming.BackendGroupTags(sg.opt.Cluster, sg.want.BackendGroup.Tags), live.Tags, false)
	if len(put) == 0 {
		return
	}
	sg.add(Step{
		ID: stepID("tag", backendGroupAddress), Address: backendGroupAddress, Verb: Update,
		Do: SetTags{Of: backendGroupAddress, Put: put}, Changes: changesOf("tags.", put, live.Tags),
		Why: "tags differ", Blames: sg.members(),
	})
}

// removeSurplus deletes groups of the stack that the load balancer does not carry
// any more.
func (sg *securityGroups) removeSurplus(after []StepID) {
	if sg.unavailable(model.AskSecurityGroups{}) != nil {
		return
	}
	keep, _ := sg.idsOf(sg.lb.groups)
	for _, g := range sg.have.SecurityGroups {
		if slices.Contains(keep, g.ID) {
			continue
		}
		deleteGroup(sg.draft, g.ID, "the load balancer does not carry it any more", after)
	}
}

func deleteGroup(d *draft, id, why string, after []StepID) StepID {
	a := Address{Kind: SecurityGroup, ID: id}
	return d.add(Step{
		ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteSecurityGroup{GroupID: id},
		Why: why, After: after, Impact: DeleteImpact, Blames: d.members(),
	})
}
