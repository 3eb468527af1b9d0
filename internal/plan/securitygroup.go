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

// managedGroup is the live security group of the stack that is kept: the one that the load
// balancer carries, else the first by id.
func (b *builder) managedGroup() *observed.SecurityGroup {
	var first *observed.SecurityGroup
	for i := range b.have.SecurityGroups {
		g := &b.have.SecurityGroups[i]
		if g.ResourceID != model.ManagedGroupID {
			continue
		}
		if b.live != nil && slices.Contains(b.live.SecurityGroups, g.ID) {
			return g
		}
		if first == nil {
			first = g
		}
	}
	return first
}

// planManagedGroup makes the stack's own group fit, and returns the step that makes it. What it admits to
// a port is a step of those who listen there: where AWS has no room for the clients of one member, the
// ports of others are opened and shut all the same. New listeners wait for it, see opened.
func (b *builder) planManagedGroup(after []StepID) []StepID {
	choice, ok := b.want.LoadBalancer.SecurityGroups.(model.GroupsManaged)
	if !ok || b.unread(model.AskSecurityGroups{}) != nil {
		return nil
	}
	want := choice.Group
	tags := b.tags(model.ManagedGroupID, want.Tags)
	live := b.managedGroup()
	var made []StepID
	var have []model.IngressRule
	if live == nil {
		made = []StepID{b.add(Step{
			ID: stepID("create", managedGroupAddress), Address: managedGroupAddress, Verb: Create,
			Do:  CreateSecurityGroup{Name: want.Name, Description: want.Description, Tags: tags},
			Why: "the load balancer has no security group of its own", After: after, Blames: b.members(),
		})}
	} else {
		have = live.Ingress
		b.retag(managedGroupAddress, tags, live.Tags, true, after, b.members())
	}
	authorize, revoke := network.RuleDiff(want.Ingress, have)
	revoke = slices.DeleteFunc(revoke, b.keepsOpen)
	if len(authorize)+len(revoke) == 0 {
		return made
	}
	b.tellRevoked(live, revoke)
	b.openPorts(authorize, revoke, len(have)+len(authorize)-len(revoke), append(slices.Clone(after), made...))
	return made
}

// openPorts plans a change of rules of the managed group, a step for each set of namespaces that share
// ports. total is how many rules the group has then.
func (b *builder) openPorts(authorize, revoke []model.IngressRule, total int, after []StepID) {
	type change struct {
		members           []finding.Ref
		authorize, revoke []model.IngressRule
	}
	changes := map[string]*change{}
	of := func(r model.IngressRule) *change {
		members := b.listensOn(r.From)
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
	b.opened = map[int32]StepID{}
	for _, tenants := range slices.Sorted(maps.Keys(changes)) {
		c := changes[tenants]
		id := stepID("rules", managedGroupAddress)
		if len(changes) > 1 {
			id = stepID("rules", managedGroupAddress, cmp.Or(tenants, "nobody"))
		}
		blames := b.members()
		if len(c.members) > 0 {
			blames = slices.Compact(slices.SortedFunc(slices.Values(c.members), finding.Ref.Compare))
		}
		b.add(Step{
			ID: id, Address: managedGroupAddress, Verb: Update,
			Do:      ChangeIngress{Group: managedGroupAddress, Authorize: c.authorize, Revoke: c.revoke, Total: total},
			Changes: ruleChanges(c.authorize, c.revoke),
			Why:     "clients must reach the listeners, and nothing else", Blames: blames, After: after,
		})
		for _, r := range append(slices.Clone(c.authorize), c.revoke...) {
			b.opened[r.From] = id
		}
	}
}

// listensOn are the members on a port of the load balancer, or of the one in front of it.
func (b *builder) listensOn(port int32) []finding.Ref {
	var out []finding.Ref
	for _, l := range b.want.LoadBalancer.Listeners {
		if l.Port == port {
			out = append(out, l.Members...)
		}
	}
	if b.want.FrontendNLB != nil {
		for _, l := range b.want.FrontendNLB.Listeners {
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
func (b *builder) keepsOpen(r model.IngressRule) bool { return b.opensKept(r) || b.opensFront(r) }

// tellRevoked names the rules that are taken away and that no controller has made. Its own admit TCP
// clients to one port of a listener and have no description. After a change that was cut short the
// listener may be missing.
func (b *builder) tellRevoked(live *observed.SecurityGroup, revoke []model.IngressRule) {
	ports := map[int32]bool{}
	for _, lb := range b.have.LoadBalancers {
		for _, l := range lb.Listeners {
			ports[l.Port] = true
		}
	}
	var foreign []string
	for _, r := range revoke {
		if !b.admits(r.Protocol) || r.From != r.To || r.Group != "" || r.Description != "" || !ports[r.From] && !b.opt.Unfinished {
			foreign = append(foreign, ruleText(r))
		}
	}
	if live == nil || len(foreign) == 0 || len(b.want.Members) == 0 {
		return
	}
	b.found.Add(finding.Finding{
		Object: b.want.Members[0].Ref, Reason: finding.RulesRevoked, Severity: finding.Warning,
		Message: fmt.Sprintf("security group %s belongs to the controller, which takes away what others added: %s", live.ID, strings.Join(foreign, ", ")),
		Fix:     "set inbound-cidrs or security-group-prefix-lists, or give the load balancer security groups of your own",
	})
}

// admits reports whether rules of the managed group are for a protocol. Those for ICMP are not told from
// others by a port.
func (b *builder) admits(protocol string) bool {
	return protocol == "tcp" || protocol == "udp" && b.wish.Type == model.Network
}

// opensKept says whether a rule opens a port whose live listener stays although it is not wished
// for as it is.
func (b *builder) opensKept(r model.IngressRule) bool {
	return slices.ContainsFunc(b.listeners, func(l listenerPlan) bool {
		return !l.make && l.live != nil && r.Protocol == "tcp" && r.From == l.live.Port && r.To == l.live.Port
	})
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

// planBackendGroup makes the cluster's shared group where it is needed and missing.
func (b *builder) planBackendGroup(after []StepID) []StepID {
	use := b.want.BackendGroup
	if !use.Needed || use.Given != "" || b.unread(model.AskSecurityGroups{}) != nil {
		return nil
	}
	if live := b.have.Facts.BackendGroup; live != nil {
		b.tagBackendGroup(*live)
		return nil
	}
	return []StepID{b.add(Step{
		ID: stepID("create", backendGroupAddress), Address: backendGroupAddress, Verb: Create,
		Do: CreateSecurityGroup{
			Name: naming.BackendGroup(b.opt.Cluster), Description: naming.BackendGroupDescription,
			Tags: naming.BackendGroupTags(b.opt.Cluster, use.Tags),
		},
		Why: "nodes and pods admit load balancers by this group", After: after, Blames: b.members(),
	})}
}

// tagBackendGroup puts the operator's tags on the shared group. It takes none away, as the group is
// everybody's.
func (b *builder) tagBackendGroup(live observed.SecurityGroup) {
	put, _ := b.tagDrift(naming.BackendGroupTags(b.opt.Cluster, b.want.BackendGroup.Tags), live.Tags, false)
	if len(put) == 0 {
		return
	}
	b.add(Step{
		ID: stepID("tag", backendGroupAddress), Address: backendGroupAddress, Verb: Update,
		Do: SetTags{Of: backendGroupAddress, Put: put}, Changes: changesOf("tags.", put, live.Tags),
		Why: "tags differ", Blames: b.members(),
	})
}

// removeSurplusSecurityGroups deletes groups of the stack that the load balancer does not carry
// any more.
func (b *builder) removeSurplusSecurityGroups(after []StepID) {
	if b.unread(model.AskSecurityGroups{}) != nil {
		return
	}
	keep, _ := b.idsOf(b.groups)
	for _, g := range b.have.SecurityGroups {
		if slices.Contains(keep, g.ID) {
			continue
		}
		b.deleteGroup(g.ID, "the load balancer does not carry it any more", after)
	}
}

func (b *builder) deleteGroup(id, why string, after []StepID) StepID {
	a := Address{Kind: SecurityGroup, ID: id}
	return b.add(Step{
		ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteSecurityGroup{GroupID: id},
		Why: why, After: after, Impact: DeleteImpact, Blames: b.members(),
	})
}
