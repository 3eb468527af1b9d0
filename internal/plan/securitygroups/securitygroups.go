package securitygroups

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// Planner plans the managed security group of the stack and the backend security group.
type Planner struct {
	*draft.Draft
	LB, Frontend *resolved.LoadBalancer
	PortSteps    map[int32]plan.StepID // steps that change rules of the managed security group, by port
}

// LiveManagedSecurityGroup returns the existing managed security group that is kept: the one that the load balancer live
// has, or else the first by ID; nil if there is none.
func LiveManagedSecurityGroup(all []observed.SecurityGroup, live *observed.LoadBalancer) *observed.SecurityGroup {
	var first *observed.SecurityGroup
	for i := range all {
		g := &all[i]
		if g.ResourceID != model.ManagedSecurityGroupID {
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

// PlanManagedSecurityGroup plans the managed security group, and returns the step that creates it; nil if it exists or is
// not desired. The rules of a port are changed by a step for the namespaces that own the port. Therefore, if the rules of
// one namespace exceed a quota, the ports of other namespaces are still opened and closed. New listeners depend on the steps
// in PortSteps.
func (sg *Planner) PlanManagedSecurityGroup(after []plan.StepID) []plan.StepID {
	choice, ok := sg.Want.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
	if !ok || sg.ReadFault(model.AskSecurityGroups{}) != nil {
		return nil
	}
	want := choice.Group
	tags := sg.Tags(model.ManagedSecurityGroupID, want.Tags)
	live := LiveManagedSecurityGroup(sg.Have.SecurityGroups, sg.LB.Live)
	var made []plan.StepID
	var have []model.IngressRule
	if live == nil {
		made = []plan.StepID{sg.Add(plan.Step{
			ID: plan.NewStepID("create", plan.ManagedSecurityGroupAddress), Address: plan.ManagedSecurityGroupAddress, Verb: plan.Create,
			Do:  plan.CreateSecurityGroup{Name: want.Name, Description: want.Description, Tags: tags},
			Why: "the load balancer has no managed security group", After: after, RequestedBy: sg.Members(),
		})}
	} else {
		have = live.Ingress
		sg.Retag(plan.ManagedSecurityGroupAddress, tags, live.Tags, true, after, sg.Members())
	}
	authorize, revoke := network.DiffRules(sg.rulesWithListener(want.Ingress), have)
	revoke = slices.DeleteFunc(revoke, sg.RetainsRule)
	if len(authorize)+len(revoke) == 0 {
		return made
	}
	if live != nil {
		sg.reportRevoked(*live, want.Ingress, revoke)
	}
	sg.planRuleChanges(have, authorize, revoke, append(slices.Clone(after), made...))
	return made
}

// rulesWithListener returns the desired rules, except rules for a port that has no listener and for which this plan creates
// no listener. Such a port is opened when its listener is created.
func (sg *Planner) rulesWithListener(rules []model.IngressRule) []model.IngressRule {
	live, waits := sg.livePorts(), map[int32]bool{}
	for _, l := range slices.Concat(sg.LB.Listeners, sg.Frontend.Listeners) {
		if l.Planned || live[l.Desired.Port] {
			waits[l.Desired.Port] = false
		} else if _, seen := waits[l.Desired.Port]; !seen {
			waits[l.Desired.Port] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r model.IngressRule) bool { return !isICMP(r) && r.From == r.To && waits[r.From] })
}

// livePorts returns the ports on which any load balancer of the stack listens.
func (sg *Planner) livePorts() map[int32]bool {
	ports := map[int32]bool{}
	for _, lb := range sg.Have.LoadBalancers {
		for _, l := range lb.Listeners {
			ports[l.Port] = true
		}
	}
	return ports
}

// planRuleChanges plans the changes of the existing rules (have), with one step for each set of namespaces that own a port
// together. The step of the namespace with the fewest rules comes first, so that its rules are added before the quota is
// reached.
func (sg *Planner) planRuleChanges(have, authorize, revoke []model.IngressRule, after []plan.StepID) {
	type change struct {
		members           []finding.Ref
		authorize, revoke []model.IngressRule
	}
	changes := map[string]*change{}
	of := func(r model.IngressRule) *change {
		members, owners := sg.membersOnPort(r.From)
		if isICMP(r) {
			members = sg.Members() // path MTU discovery concerns the clients of all ports
			owners = members
		}
		tenants := strings.Join(draft.Namespaces(owners), ",")
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
	rules := slices.Concat(slices.DeleteFunc(slices.Clone(have), func(r model.IngressRule) bool { return slices.Contains(revoke, r) }), authorize)
	counts := sg.countRules(rules)
	fewest := func(tenants string) int {
		n := math.MaxInt
		for _, namespace := range strings.Split(tenants, ",") {
			n = min(n, counts[namespace])
		}
		return n
	}
	byShare := func(a, b string) int { return cmp.Or(cmp.Compare(fewest(a), fewest(b)), cmp.Compare(a, b)) }
	sg.PortSteps = map[int32]plan.StepID{}
	for _, tenants := range slices.SortedFunc(maps.Keys(changes), byShare) {
		c := changes[tenants]
		id := plan.NewStepID("rules", plan.ManagedSecurityGroupAddress)
		if len(changes) > 1 {
			id = plan.NewStepID("rules", plan.ManagedSecurityGroupAddress, cmp.Or(tenants, "unowned"))
		}
		requestedBy := sg.Members()
		if len(c.members) > 0 {
			requestedBy = slices.Compact(slices.SortedFunc(slices.Values(c.members), finding.Ref.Compare))
		}
		sg.Add(plan.Step{
			ID: id, Address: plan.ManagedSecurityGroupAddress, Verb: plan.Update,
			Do:      plan.ChangeIngress{Group: plan.ManagedSecurityGroupAddress, Authorize: c.authorize, Revoke: c.revoke, Total: len(rules)},
			Changes: ruleChanges(c.authorize, c.revoke),
			Why:     "the rules must admit clients to the ports of the listeners only", RequestedBy: requestedBy, After: after,
		})
		for _, r := range append(slices.Clone(c.authorize), c.revoke...) {
			if !isICMP(r) {
				sg.PortSteps[r.From] = id
			}
		}
	}
}

// countRules returns the number of rules for the ports of each namespace.
func (sg *Planner) countRules(rules []model.IngressRule) map[string]int {
	ports, counts := map[int32]int{}, map[string]int{}
	for _, r := range rules {
		if !isICMP(r) {
			ports[r.From]++
		}
	}
	for port, n := range ports {
		_, owners := sg.membersOnPort(port)
		for _, namespace := range draft.Namespaces(owners) {
			counts[namespace] += n
		}
	}
	return counts
}

// membersOnPort returns the members that listen on a port of the load balancer or of the frontend NLB. The owners of the port
// are these members, or the ListenerSets that define the port.
func (sg *Planner) membersOnPort(port int32) (members, owners []finding.Ref) {
	listeners := sg.Want.LoadBalancer.Listeners
	if sg.Want.FrontendNLB != nil {
		listeners = slices.Concat(listeners, sg.Want.FrontendNLB.Listeners)
	}
	for _, l := range listeners {
		if l.Port != port {
			continue
		}
		members = append(members, l.Members...)
		owners = append(owners, l.Owners()...)
	}
	return members, owners
}

// RetainsRule reports whether an existing rule is retained although it is not desired.
func (sg *Planner) RetainsRule(r model.IngressRule) bool {
	return sg.opensRetainedListener(r) || sg.opensRetainedFrontendPort(r)
}

// reportRevoked reports the removal of rules that other users or controllers have added. want are the desired rules.
func (sg *Planner) reportRevoked(live observed.SecurityGroup, want, revoke []model.IngressRule) {
	ports := sg.livePorts()
	for _, l := range slices.Concat(sg.LB.Listeners, sg.Frontend.Listeners) {
		ports[l.Desired.Port] = true // the port may be open for a listener that waits, or that was deleted outside the controller
	}
	clients := map[string]bool{}
	for _, r := range slices.Concat(want, slices.DeleteFunc(slices.Clone(live.Ingress), func(r model.IngressRule) bool { return !ports[r.From] })) {
		clients[r.CIDR+r.PrefixList] = true
	}
	var foreign []string
	for _, r := range revoke {
		// The ports of a Gateway are open to its clients even while no route is attached, so that AWS has no listener.
		isOpen := ports[r.From] || sg.Want.ID.Kind.IsGateway() && clients[r.CIDR+r.PrefixList]
		if !sg.mayBeManaged(r, isOpen) {
			foreign = append(foreign, ruleText(r))
		}
	}
	if len(foreign) == 0 || len(sg.Want.Members) == 0 {
		return
	}
	sg.Findings.Add(finding.Finding{
		Object: sg.Want.Members[0].Ref, Reason: finding.RulesRevoked, Severity: finding.Warning,
		Message: fmt.Sprintf("security group %s belongs to the controller, which removes rules that other users or controllers added: %s", live.ID, strings.Join(foreign, ", ")),
		Fix:     "set " + naming.SettingName(sg.Want.ID.Kind, "inbound-cidrs") + " or " + naming.SettingName(sg.Want.ID.Kind, "security-group-prefix-lists") + ", or use your own security groups for the load balancer",
	})
}

// mayBeManaged reports whether the controller may have added a rule. A rule of the controller has no description. It admits
// clients to one port of a listener or, for a network load balancer or a Gateway, ICMP messages about the packet size.
// isOpen reports whether the controller opens the port of the rule. If the last change was not completed, the listener may
// be missing.
func (sg *Planner) mayBeManaged(r model.IngressRule, isOpen bool) bool {
	network := sg.LB.Desired.Type == model.Network
	switch {
	case r.Group != "" || r.Description != "":
		return false
	case isICMP(r):
		return (network || sg.Want.ID.Kind.IsGateway()) && (r.Protocol == "icmp" && r.From == 3 && r.To == 4 || r.Protocol == "icmpv6" && r.From == 2 && r.To == 0)
	}
	return (r.Protocol == "tcp" || r.Protocol == "udp" && network) && r.From == r.To && (isOpen || sg.Memory.LastChangeUnfinished)
}

// isICMP reports whether From and To of a rule are a type and a code of ICMP rather than ports.
func isICMP(r model.IngressRule) bool { return r.Protocol == "icmp" || r.Protocol == "icmpv6" }

// opensRetainedListener reports whether a rule opens the port of an existing listener that is retained although it is not
// desired.
func (sg *Planner) opensRetainedListener(r model.IngressRule) bool {
	return slices.ContainsFunc(sg.LB.Listeners, func(l resolved.Listener) bool {
		return !l.Planned && l.Live != nil && r.From == l.Live.Port && r.To == l.Live.Port && admitsListenerProtocol(l.Live.Protocol, r.Protocol)
	})
}

// admitsListenerProtocol reports whether a security group rule for the protocol rule admits clients of a listener with the
// protocol listener.
func admitsListenerProtocol(listener, rule string) bool {
	switch listener {
	case "UDP", "QUIC":
		return rule == "udp"
	case "TCP_UDP", "TCP_QUIC":
		return rule == "tcp" || rule == "udp"
	}
	return rule == "tcp"
}

// opensRetainedFrontendPort reports whether a rule opens an existing port of the frontend NLB that is retained although it
// is not desired.
func (sg *Planner) opensRetainedFrontendPort(r model.IngressRule) bool {
	if r.From != r.To || sg.Frontend.Live == nil {
		return false
	}
	return slices.Contains(sg.Frontend.HeldPorts, r.From) ||
		sg.IsFrontendHeld() && slices.ContainsFunc(sg.Frontend.Live.Listeners, func(l observed.Listener) bool { return l.Port == r.From })
}

func ruleChanges(authorize, revoke []model.IngressRule) []plan.Change {
	var out []plan.Change
	for _, r := range authorize {
		out = append(out, plan.Change{Path: "ingress", To: ruleText(r)})
	}
	for _, r := range revoke {
		out = append(out, plan.Change{Path: "ingress", From: ruleText(r)})
	}
	return out
}

func ruleText(r model.IngressRule) string {
	return fmt.Sprintf("%s %d-%d %s", r.Protocol, r.From, r.To, strings.Join([]string{r.CIDR, r.PrefixList, r.Group}, ""))
}

// PlanBackendSecurityGroup plans to create the backend security group if it is needed and missing, and returns that step. If
// it exists, missing tags are added.
func (sg *Planner) PlanBackendSecurityGroup(after []plan.StepID) []plan.StepID {
	use := sg.Want.BackendSecurityGroup
	if !use.Needed || use.Given != "" || sg.ReadFault(model.AskSecurityGroups{}) != nil {
		return nil
	}
	if live := sg.Have.Facts.BackendSecurityGroup; live != nil {
		sg.tagBackendSecurityGroup(*live)
		return nil
	}
	return []plan.StepID{sg.Add(plan.Step{
		ID: plan.NewStepID("create", plan.BackendSecurityGroupAddress), Address: plan.BackendSecurityGroupAddress, Verb: plan.Create,
		Do: plan.CreateSecurityGroup{
			Name: naming.BackendSecurityGroupName(sg.Opt.Cluster), Description: naming.BackendSecurityGroupDescription,
			Tags: naming.BackendSecurityGroupTags(sg.Opt.Cluster, use.Tags),
		},
		Why: "nodes and pods admit traffic from this security group", After: after, RequestedBy: sg.Members(),
	})}
}

// tagBackendSecurityGroup plans to put the tags of the operator on the backend security group. It removes no tags, because
// other stacks also use the security group.
func (sg *Planner) tagBackendSecurityGroup(live observed.SecurityGroup) {
	put, _ := sg.TagChanges(naming.BackendSecurityGroupTags(sg.Opt.Cluster, sg.Want.BackendSecurityGroup.Tags), live.Tags, false)
	if len(put) == 0 {
		return
	}
	sg.AddTagStep(plan.Step{
		ID: plan.NewStepID("tag", plan.BackendSecurityGroupAddress), Address: plan.BackendSecurityGroupAddress, Why: "tags differ", RequestedBy: sg.Members(),
	}, put, nil, live.Tags)
}

// RemoveSurplus plans to delete security groups of the stack that the load balancer does not have any more.
func (sg *Planner) RemoveSurplus(after []plan.StepID) {
	if sg.ReadFault(model.AskSecurityGroups{}) != nil {
		return
	}
	keep, _ := sg.SecurityGroupIDs(sg.LB.SecurityGroups)
	for _, g := range sg.Have.SecurityGroups {
		if slices.Contains(keep, g.ID) {
			continue
		}
		DeleteSecurityGroup(sg.Draft, g.ID, "the load balancer does not have it any more", after)
	}
}

// DeleteSecurityGroup plans to delete a security group.
func DeleteSecurityGroup(d *draft.Draft, id, why string, after []plan.StepID) {
	a := plan.Address{Kind: plan.SecurityGroup, ID: id}
	d.Add(plan.Step{
		ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteSecurityGroup{GroupID: id},
		Why: why, After: after, Impact: plan.DeleteImpact, RequestedBy: d.Members(),
	})
}
