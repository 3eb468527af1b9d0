package ingress

import (
	"slices"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/network"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// This file reads from the observation which value of a contested setting is live.

// liveALB is the load balancer of the stack as observed; nil if there is none or it is not known.
func (t *translation) liveALB() *observed.LoadBalancer {
	if t.live == nil {
		return nil
	}
	return t.live.Live(model.LoadBalancerID)
}

// liveFront is the frontend NLB as observed.
func (t *translation) liveFront() *observed.LoadBalancer {
	if t.live == nil {
		return nil
	}
	return t.live.Live(model.FrontendNLBID)
}

func listenerOf(lb *observed.LoadBalancer, port int32) *observed.Listener {
	if lb == nil {
		return nil
	}
	for i := range lb.Listeners {
		if lb.Listeners[i].Port == port {
			return &lb.Listeners[i]
		}
	}
	return nil
}

// compare asks for what tells which contested value is live, and reports whether the answer is there.
// Where AWS gives none, the live value may be what is asked for, and stays.
func (t *translation) compare(q model.Question, answered bool) bool {
	switch {
	case answered:
	case t.live.Facts.Fault(q) != nil:
		t.unanswered++
	default:
		t.stack.Compare = append(t.stack.Compare, q)
	}
	return answered
}

// of returns the incumbent of a field of a live load balancer.
func of[T comparable](lb *observed.LoadBalancer, get func(*observed.LoadBalancer) T) func() incumbent[T] {
	return func() incumbent[T] {
		if lb == nil {
			return incumbent[T]{}
		}
		return serving(get(lb), true, equal[T])
	}
}

// liveAttributes are the attributes of a live resource, nil if they were not read. Only a contested
// attribute is worth reading here; the plan reads them where they are to be changed.
func (t *translation) liveAttributes(lb *observed.LoadBalancer) map[string]string {
	if lb == nil || !t.compare(model.AskAttributes{Of: string(plan.LoadBalancer), ARN: lb.ARN}, lb.Attributes != nil) {
		return nil
	}
	return lb.Attributes
}

func (t *translation) liveListenerAttributes(port int32) map[string]string {
	l := listenerOf(t.liveALB(), port)
	if l == nil || !t.compare(model.AskAttributes{Of: string(plan.Listener), ARN: l.ARN}, l.Attributes != nil) {
		return nil
	}
	return l.Attributes
}

// liveSubnets compares what is asked for with the subnets of a live load balancer.
func (t *translation) liveSubnets(lb *observed.LoadBalancer, nlb bool) incumbent[subnetWish] {
	if lb == nil {
		return incumbent[subnetWish]{}
	}
	is := func(w subnetWish) bool {
		if len(w.tags) == 0 && !slices.ContainsFunc(w.ids, func(s string) bool { return !network.IsSubnetID(s) }) {
			return sameSet(w.ids, lb.Subnets)
		}
		q := model.SubnetQuestion(w.choice(finding.Origin{}), lb.Scheme, nlb)
		answer, answered := t.live.Facts.Subnets[q.Key()]
		if !t.compare(q, answered) {
			return false
		}
		chosen, fault := network.ChooseSubnets(network.SubnetRequest{
			Choice: w.choice(finding.Origin{}), Scheme: lb.Scheme, AddressType: lb.AddressType, ALB: !nlb, Cluster: t.opt.Cluster, SingleSubnet: true, Live: lb.Subnets,
		}, answer)
		return fault == nil && sameSet(chosen.IDs, lb.Subnets)
	}
	return incumbent[subnetWish]{known: true, is: is, value: subnetWish{ids: lb.Subnets}}
}

// liveGroups compares what is asked for with the security groups of a live load balancer. No group at
// all stands for the managed one.
func (t *translation) liveGroups(lb *observed.LoadBalancer) incumbent[[]string] {
	if lb == nil {
		return incumbent[[]string]{}
	}
	if all := (model.AskSecurityGroups{}); t.live.Facts.Fault(all) != nil {
		// Which of them is the managed one is not known.
		return incumbent[[]string]{known: true, is: func([]string) bool { return t.compare(all, false) }, value: lb.SecurityGroups}
	}
	var own, others []string
	backend := t.liveBackendGroup()
	for _, id := range lb.SecurityGroups {
		switch {
		case slices.ContainsFunc(t.live.SecurityGroups, func(g observed.SecurityGroup) bool { return g.ID == id }):
			own = append(own, id)
		case id != backend:
			others = append(others, id)
		}
	}
	managed := len(own) > 0
	is := func(refs []string) bool {
		if managed || len(refs) == 0 {
			return managed && len(refs) == 0
		}
		q := model.GroupQuestion(model.GroupsGiven{Refs: refs})
		answer, answered := t.live.Facts.Groups[q.Key()]
		if !t.compare(q, answered) {
			return false
		}
		ids := slices.Clone(answer.ByID)
		for _, ref := range refs {
			ids = append(ids, answer.ByName[ref]...)
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == backend })
		return len(answer.Missing) == 0 && sameSet(ids, others)
	}
	if managed {
		others = nil
	}
	return incumbent[[]string]{known: true, is: is, value: others}
}

// liveBackendGroup is the id of the shared backend group, empty if there is none.
func (t *translation) liveBackendGroup() string {
	if t.opt.BackendGroup == "" && t.live != nil && t.live.Facts.BackendGroup != nil {
		return t.live.Facts.BackendGroup.ID
	}
	return t.opt.BackendGroup
}

// liveCapacity is the reservation of the live load balancer in the form of the annotation.
func (t *translation) liveCapacity() map[string]string {
	lb := t.liveALB()
	if lb == nil || !t.compare(model.AskCapacity{ARN: lb.ARN}, lb.Capacity != nil) {
		return nil
	}
	return map[string]string{capacityKey: strconv.Itoa(int(*lb.Capacity))}
}

// liveSources are the rules of the managed group for a port, if the live load balancer carries it and
// listens there.
func (t *translation) liveSources(port int32) (rules []model.IngressRule, known bool) {
	lb := t.liveALB()
	if listenerOf(lb, port) == nil {
		return nil, false
	}
	for _, g := range t.live.SecurityGroups {
		if !slices.Contains(lb.SecurityGroups, g.ID) {
			continue
		}
		known = true
		for _, r := range g.Ingress {
			if r.Protocol == "tcp" && r.From == port && r.To == port && r.Group == "" {
				rules = append(rules, r)
			}
		}
	}
	return rules, known
}

// liveCIDRs and livePrefixLists compare client ranges with those that the managed group admits.
func (t *translation) liveCIDRs(port int32, ipv6 bool) incumbent[[]string] {
	return t.liveClients(port, func(v []string) []model.IngressRule { return assemble.Sources(port, v, nil, ipv6) }, func(r model.IngressRule) string { return r.CIDR })
}

func (t *translation) livePrefixLists(port int32) incumbent[[]string] {
	return t.liveClients(port, func(v []string) []model.IngressRule { return assemble.Sources(port, nil, v, true) }, func(r model.IngressRule) string { return r.PrefixList })
}

func (t *translation) liveClients(port int32, rules func([]string) []model.IngressRule, part func(model.IngressRule) string) incumbent[[]string] {
	live, known := t.liveSources(port)
	parts := func(rs []model.IngressRule) []string {
		var out []string
		for _, r := range rs {
			if p := part(r); p != "" {
				out = append(out, p)
			}
		}
		return out
	}
	is := parts(live)
	return incumbent[[]string]{known: known, value: is, is: func(v []string) bool { return sameSet(parts(rules(v)), is) }}
}

// liveAddOn is what a live load balancer is tied to in another service, as the incumbent of a setting that
// is or is not that.
func liveAddOn[T any](t *translation, of model.AddOn, value func(observed.AddOn) T, is func(have observed.AddOn, asked T) bool) incumbent[T] {
	lb := t.liveALB()
	if lb == nil {
		return incumbent[T]{}
	}
	q := model.AskAddOn{Of: of, ARN: lb.ARN}
	have, asked := t.live.Facts.AddOns[q.Key()]
	known := t.compare(q, asked) && have.Fault == nil
	return incumbent[T]{known: known, value: value(have), is: func(v T) bool { return is(have, v) }, unread: have.Fault != nil}
}

// liveWebACL compares web ACLs, given by ARN or by name, with the live one.
func (t *translation) liveWebACL() incumbent[webACL] {
	is := func(have observed.AddOn, w webACL) bool {
		if w.Name == "" {
			return w.ARN == have.ID
		}
		acl, asked := t.live.Facts.WebACLs[w.Name]
		if acl.Fault != nil {
			t.unanswered++
		}
		return t.compare(model.AskWebACL{Name: w.Name}, asked) && acl.Fault == nil && acl.ARN != "" && acl.ARN == have.ID
	}
	return liveAddOn(t, model.WAFv2, func(have observed.AddOn) webACL { return webACL{ARN: have.ID} }, is)
}

// liveRedirect is the port to which the HTTP listeners of the live load balancer redirect everything.
// It is known only if one of them does.
func (t *translation) liveRedirect() incumbent[int32] {
	lb := t.liveALB()
	if lb == nil {
		return incumbent[int32]{}
	}
	for _, l := range lb.Listeners {
		if l.Protocol != "HTTP" || len(l.Rules) > 0 || len(l.Default) != 1 {
			continue
		}
		to, ok := l.Default[0].(model.Redirect)
		if port, err := strconv.ParseInt(to.Port, 10, 32); ok && err == nil && to.Protocol == "HTTPS" {
			return serving(int32(port), true, equal[int32])
		}
	}
	return incumbent[int32]{}
}

// liveMutualAuth compares client certificate settings with those of a live listener.
func (t *translation) liveMutualAuth(port int32) incumbent[mutualAuth] {
	l := listenerOf(t.liveALB(), port)
	if l == nil || l.Protocol != "HTTPS" {
		return incumbent[mutualAuth]{}
	}
	var have mutualAuth
	if l.MutualAuth != nil {
		have = mutualAuth(*l.MutualAuth)
	}
	is := func(w mutualAuth) bool {
		m := model.MutualAuth(w)
		if m.ByName() {
			arn, asked := t.live.Facts.TrustStores[m.TrustStore]
			if !t.compare(model.AskTrustStores{Names: m.TrustStore}, asked) {
				return false
			}
			m.TrustStore = arn
		}
		return plan.SameMutualAuth(&m, l.MutualAuth)
	}
	return incumbent[mutualAuth]{known: true, is: is, value: have}
}

// liveFrontSubnets compares the subnets that members give by id or name with those of the frontend NLB.
func (t *translation) liveFrontSubnets(lb *observed.LoadBalancer) incumbent[[]string] {
	live := t.liveSubnets(lb, true)
	return incumbent[[]string]{known: live.known, value: live.value.ids, is: func(refs []string) bool { return live.is(subnetWish{ids: refs}) }}
}

// liveFrontTarget is the port of the ALB to which a port of the live frontend NLB leads, 0 if there is none.
func (t *translation) liveFrontTarget(port int32) int32 {
	if g := t.liveFrontGroup(port); g != nil {
		return g.Port
	}
	return 0
}

func (t *translation) liveFrontCheck(port int32) (model.HealthCheck, bool) {
	if g := t.liveFrontGroup(port); g != nil {
		return g.HealthCheck, true
	}
	return model.HealthCheck{}, false
}

// liveFrontGroup is the target group to which a port of the live frontend NLB leads.
func (t *translation) liveFrontGroup(port int32) *observed.TargetGroup {
	l := listenerOf(t.liveFront(), port)
	if l == nil || len(l.Default) != 1 {
		return nil
	}
	to, ok := l.Default[0].(model.Forward)
	if !ok || len(to.Groups) != 1 {
		return nil
	}
	for i, g := range t.live.TargetGroups {
		if g.ARN == to.Groups[0].Group.ARN {
			return &t.live.TargetGroups[i]
		}
	}
	return nil
}

// owns reports whether a live rule or default action is a member's own: all its target groups carry the
// member's tag.
func (t *translation) owns(ref finding.Ref, actions []model.Action) bool {
	return plan.OwnedBy(*t.live, ref, actions)
}

// serves reports whether something live forwards to target groups of a member: that proves that it has
// had its part in the load balancer, which a finalizer does not.
func (t *translation) serves(m *member) bool {
	lb := t.liveALB()
	if lb == nil {
		return false
	}
	ref := m.ref
	for _, l := range lb.Listeners {
		if t.owns(ref, l.Default) || slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return t.owns(ref, r.Actions) }) {
			return true
		}
	}
	return false
}

// liveProtocol reports whether the live listener of a port has the protocol, and whether there is one.
func (t *translation) liveProtocol(lp settings.ListenPort) (same, known bool) {
	l := listenerOf(t.liveALB(), lp.Port)
	if l == nil {
		return false, false
	}
	return l.Protocol == lp.Protocol(), true
}

// liveTags are the tags of a live resource that users have set.
func liveTags(tags map[string]string) map[string]string {
	if tags == nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range tags {
		if !naming.ReservedTag(k) {
			out[k] = v
		}
	}
	return out
}
