package elbv2

import (
	"cmp"
	"fmt"
	"slices"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// listenersOf returns the listeners of the load balancer with the ARN lb, sorted by port.
func listenersOf(st *store.ELBState, lb string) []*store.Listener {
	var out []*store.Listener
	for _, l := range st.Listeners {
		if l.LoadBalancer == lb {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b *store.Listener) int { return cmp.Compare(a.Port, b.Port) })
	return out
}

// removeListener removes a listener with its rules. The caller must then call UpdateTargetGroupUse for the load balancer.
func removeListener(st *store.ELBState, l *store.Listener) {
	for _, r := range rulesOf(st, l.ARN) {
		st.RemoveRule(r)
	}
	delete(st.Listeners, l.ARN)
}

// CreateListener creates a listener with its default rule. If a listener with the same port and settings exists, it returns
// this listener.
func (s *listeners) CreateListener(c *store.Call, in *elb.CreateListenerInput) (*elb.CreateListenerOutput, error) {
	sh := s.newValidation()
	sh.checkPresent("loadBalancerArn", in.LoadBalancerArn != nil)
	sh.checkPresent("defaultActions", in.DefaultActions != nil)
	checkEnum(&sh, "protocol", in.Protocol, in.Protocol.Values())
	sh.checkRange("port", in.Port, 1, 65535)
	sh.validateActions("defaultActions", in.DefaultActions)
	if m := in.MutualAuthentication; m != nil {
		checkEnum(&sh, "mutualAuthentication.advertiseTrustStoreCaNames", m.AdvertiseTrustStoreCaNames, m.AdvertiseTrustStoreCaNames.Values())
	}
	sh.validateTags(in.Tags)
	if err := sh.err(); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	lb, err := findLoadBalancer(st, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	if in.Port == nil {
		return nil, validationError(store.UnprovenSource, "A listener port must be specified")
	}
	if in.Protocol == "" {
		return nil, validationError(store.UnprovenSource, "A listener protocol must be specified")
	}
	l := &store.Listener{LoadBalancer: lb.ARN, Port: *in.Port, Protocol: in.Protocol}
	if err := s.setTLSSettings(c, p, lb, l, tlsSettings{in.SslPolicy, in.AlpnPolicy, in.Certificates, in.MutualAuthentication}); err != nil {
		return nil, err
	}
	if l.Tags, err = newTags(in.Tags); err != nil {
		return nil, err
	}
	sc := actionScope{partition: p, lb: lb, listener: l, isDefault: true}
	actions, err := s.checkActions(sc, in.DefaultActions)
	if err != nil {
		return nil, err
	}
	for _, other := range listenersOf(st, lb.ARN) {
		if other.Port != l.Port {
			continue
		}
		if !isSameListener(st, other, l, actions) {
			return nil, store.Errorf(store.ReportSource("hashicorp/terraform#26407"), "DuplicateListener", "A listener already exists on this port for this load balancer '%s'", lb.ARN)
		}
		return &elb.CreateListenerOutput{Listeners: []types.Listener{s.describeListener(st, other)}}, nil
	}
	if err := s.checkListenerQuota(st, lb); err != nil {
		return nil, err
	}
	l.ID = s.store.RandomHex(16)
	l.ARN = newARN(p, fmt.Sprintf("listener/%s/%s/%s/%s", shortType(lb), lb.Name, lb.ID, l.ID))
	l.Attributes = listenerAttributeSchema(lb, l).initialValues()
	rule := &store.Rule{ARN: s.newRuleARN(p, lb, l), Listener: l.ARN, Actions: actions, Tags: map[string]string{}}
	l.DefaultRule = rule.ARN
	st.Listeners[l.ARN] = l
	st.AddRule(rule)
	st.UpdateTargetGroupUse(lb.ARN, c.Now)
	return &elb.CreateListenerOutput{Listeners: []types.Listener{s.describeListener(st, l)}}, nil
}

// isSameListener reports whether an existing listener (have) has the settings in a create request (want), and the default
// actions in actions.
func isSameListener(st *store.ELBState, have, want *store.Listener, actions []types.Action) bool {
	mutual := func(l *store.Listener) types.MutualAuthenticationAttributes {
		if l.Mutual == nil {
			return types.MutualAuthenticationAttributes{}
		}
		return *l.Mutual
	}
	return have.Protocol == want.Protocol && have.SSLPolicy == want.SSLPolicy && have.Certificate == want.Certificate &&
		slices.Equal(have.ALPN, want.ALPN) && equalJSON(mutual(have), mutual(want)) && equalJSON(have.Tags, want.Tags) &&
		equalJSON(st.Rules[have.DefaultRule].Actions, actions)
}

// checkListenerQuota returns an error if the load balancer already has the maximum number of listeners.
func (s *listeners) checkListenerQuota(st *store.ELBState, lb *store.LoadBalancer) error {
	name := quotaListenersALB
	if !lb.IsALB() {
		name = quotaListenersNLB
	}
	if most := s.quota(name); len(listenersOf(st, lb.ARN)) >= most {
		return store.Errorf(store.UnprovenSource, "TooManyListeners", "The maximum number of listeners per load balancer '%d' has been reached on load balancer '%s'", most, lb.ARN)
	}
	return nil
}

// ModifyListener changes the settings of a listener that are in the request, and does not change other settings.
func (s *listeners) ModifyListener(c *store.Call, in *elb.ModifyListenerInput) (*elb.ModifyListenerOutput, error) {
	var sh validation
	sh.checkPresent("listenerArn", in.ListenerArn != nil)
	checkEnum(&sh, "protocol", in.Protocol, in.Protocol.Values())
	sh.checkRange("port", in.Port, 1, 65535)
	sh.validateActions("defaultActions", in.DefaultActions)
	if m := in.MutualAuthentication; m != nil {
		checkEnum(&sh, "mutualAuthentication.advertiseTrustStoreCaNames", m.AdvertiseTrustStoreCaNames, m.AdvertiseTrustStoreCaNames.Values())
	}
	if err := sh.err(); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	l, err := findListener(st, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	lb, rule := st.LoadBalancers[l.LoadBalancer], st.Rules[l.DefaultRule]
	next := *l
	next.SNI = slices.Clone(l.SNI)
	if in.Port != nil {
		next.Port = *in.Port
	}
	next.Protocol = cmp.Or(in.Protocol, l.Protocol)
	for _, other := range listenersOf(st, lb.ARN) {
		if other != l && other.Port == next.Port {
			return nil, store.Errorf(store.ReportSource("hashicorp/terraform#26407"), "DuplicateListener", "A listener already exists on this port for this load balancer '%s'", lb.ARN)
		}
	}
	if !usesCertificates(next.Protocol) {
		next.SSLPolicy, next.Certificate, next.SNI, next.ALPN, next.Mutual = "", "", nil, nil, nil
	}
	if err := s.setTLSSettings(c, p, lb, &next, tlsSettings{in.SslPolicy, in.AlpnPolicy, in.Certificates, in.MutualAuthentication}); err != nil {
		return nil, err
	}
	if next.Protocol != l.Protocol {
		if err := s.recheckRules(p, lb, &next, in.DefaultActions != nil); err != nil {
			return nil, err
		}
		next.Attributes = retainAttributes(listenerAttributeSchema(lb, &next), l.Attributes)
	}
	actions := rule.Actions
	if in.DefaultActions != nil {
		sc := actionScope{partition: p, lb: lb, listener: &next, replacedRule: rule, isDefault: true}
		if actions, err = s.checkActions(sc, in.DefaultActions); err != nil {
			return nil, err
		}
	}
	*l = next
	rule.Actions = actions
	st.UpdateTargetGroupUse(lb.ARN, c.Now)
	return &elb.ModifyListenerOutput{Listeners: []types.Listener{s.describeListener(st, l)}}, nil
}

// recheckRules checks that the existing actions of all rules are valid with the new protocol of listener l. If newDefault is
// set, the request replaces the default actions, and the existing ones are not checked.
func (s *listeners) recheckRules(p *store.Partition, lb *store.LoadBalancer, l *store.Listener, newDefault bool) error {
	for _, r := range rulesOf(p.ELB, l.ARN) {
		if r.IsDefault() && newDefault {
			continue
		}
		sc := actionScope{partition: p, lb: lb, listener: l, replacedRule: r, isDefault: r.IsDefault()}
		if _, err := s.checkActions(sc, r.Actions); err != nil {
			return err
		}
	}
	return nil
}

// DeleteListener deletes a listener with its rules.
func (s *listeners) DeleteListener(c *store.Call, in *elb.DeleteListenerInput) (*elb.DeleteListenerOutput, error) {
	if err := requiredError("listenerArn", in.ListenerArn != nil); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	l, err := findListener(st, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	for _, g := range st.TargetGroups {
		p.RemoveDrainedTargets(g, c.Now)
		if t := g.Target(l.LoadBalancer, l.Port); t != nil && !t.IsDraining() {
			return nil, store.Errorf(store.UnprovenSource, codeInUse, "Listener port '%d' is in use by registered target '%s' and cannot be removed", l.Port, l.LoadBalancer)
		}
	}
	removeListener(st, l)
	st.UpdateTargetGroupUse(l.LoadBalancer, c.Now)
	return &elb.DeleteListenerOutput{}, nil
}

// DescribeListeners lists the listeners of a load balancer, or the listeners with the ARNs in the request.
func (s *listeners) DescribeListeners(c *store.Call, in *elb.DescribeListenersInput) (*elb.DescribeListenersOutput, error) {
	st := c.Partition.ELB
	if (in.LoadBalancerArn == nil) == (len(in.ListenerArns) == 0) {
		return nil, validationError(store.UnprovenSource, "You must specify either listener ARNs or a load balancer ARN")
	}
	var found []*store.Listener
	if in.LoadBalancerArn != nil {
		lb, err := findLoadBalancer(st, in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		found = listenersOf(st, lb.ARN)
	} else {
		var err error
		if found, err = findAll(st, kindListener, st.Listeners, in.ListenerArns); err != nil {
			return nil, err
		}
	}
	found, next, err := page(s.store, found, func(l *store.Listener) string { return l.ARN }, unordered, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := &elb.DescribeListenersOutput{NextMarker: next}
	for _, l := range found {
		out.Listeners = append(out.Listeners, s.describeListener(st, l))
	}
	return out, nil
}

// describeListener returns a listener in the form in which DescribeListeners returns it.
func (s *listeners) describeListener(st *store.ELBState, l *store.Listener) types.Listener {
	out := types.Listener{
		ListenerArn: new(l.ARN), LoadBalancerArn: new(l.LoadBalancer), Port: new(l.Port), Protocol: l.Protocol,
		SslPolicy: store.StringOrNil(l.SSLPolicy), AlpnPolicy: slices.Clone(l.ALPN), DefaultActions: s.describeActions(st.Rules[l.DefaultRule].Actions),
	}
	if l.Certificate != "" {
		out.Certificates = []types.Certificate{{CertificateArn: new(l.Certificate)}}
	}
	if l.Mutual != nil {
		m := *l.Mutual
		out.MutualAuthentication = &m
	}
	return out
}
