package elbv2

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// checkForward checks a forward action and its target groups, and adds its configuration to stored in the form in which AWS
// returns it.
func (s *listeners) checkForward(sc actionScope, a types.Action, stored *types.Action) error {
	tuples, sticky, err := targetGroupTuples(a)
	if err != nil {
		return err
	}
	name := quotaTargetGroupsPerActionALB
	if !sc.lb.IsALB() {
		name = quotaTargetGroupsPerActionNLB
	}
	if most := s.quota(name); len(tuples) > most {
		return store.Errorf(store.UnprovenSource, "TooManyTargetGroups", "You cannot specify more than '%d' target groups per action", most)
	}
	groups, err := forwardTargetGroups(sc, tuples)
	if err != nil {
		return err
	}
	if err := checkWeights(tuples); err != nil {
		return err
	}
	if err := checkTargetGroupStickiness(sc, sticky, groups); err != nil {
		return err
	}
	if err := checkTargetGroupCompatibility(sc, groups); err != nil {
		return err
	}
	stored.ForwardConfig = &types.ForwardActionConfig{}
	for i, t := range tuples {
		out := types.TargetGroupTuple{TargetGroupArn: new(groups[i].ARN)}
		switch {
		case t.Weight != nil:
			out.Weight = new(*t.Weight)
		case sc.lb.IsALB():
			out.Weight = new(int32(1))
		}
		stored.ForwardConfig.TargetGroups = append(stored.ForwardConfig.TargetGroups, out)
	}
	if sc.lb.IsALB() || sticky != nil {
		stored.ForwardConfig.TargetGroupStickinessConfig = &types.TargetGroupStickinessConfig{Enabled: new(false)}
		if sticky != nil {
			kept := *sticky
			kept.Enabled = new(store.Value(sticky.Enabled))
			stored.ForwardConfig.TargetGroupStickinessConfig = &kept
		}
	}
	if len(tuples) == 1 {
		stored.TargetGroupArn = new(groups[0].ARN)
	}
	return nil
}

// targetGroupTuples returns the target groups and the target group stickiness of a forward action. They come from the member
// ForwardConfig, or else from the member TargetGroupArn, which has no stickiness.
func targetGroupTuples(a types.Action) ([]types.TargetGroupTuple, *types.TargetGroupStickinessConfig, error) {
	if a.ForwardConfig == nil {
		return []types.TargetGroupTuple{{TargetGroupArn: a.TargetGroupArn}}, nil, nil
	}
	tuples := a.ForwardConfig.TargetGroups
	if len(tuples) == 0 {
		return nil, nil, validationError(store.UnprovenSource, "A target group must be specified for an action of type 'forward'")
	}
	if a.TargetGroupArn != nil && (len(tuples) != 1 || store.Value(tuples[0].TargetGroupArn) != *a.TargetGroupArn) {
		return nil, nil, validationError(store.UnprovenSource, "The target group ARN of an action of type 'forward' must be the only target group of its forward configuration")
	}
	return tuples, a.ForwardConfig.TargetGroupStickinessConfig, nil
}

func forwardTargetGroups(sc actionScope, tuples []types.TargetGroupTuple) ([]*store.TargetGroup, error) {
	var out []*store.TargetGroup
	var unknown []string
	for _, t := range tuples {
		arn := store.Value(t.TargetGroupArn)
		if err := kindTargetGroup.checkARN(sc.partition.ELB, arn); err != nil {
			return nil, err
		}
		g := sc.partition.ELB.TargetGroups[arn]
		if g == nil {
			unknown = append(unknown, arn)
			continue
		}
		if slices.Contains(out, g) {
			return nil, validationError(store.UnprovenSource, "Target group '%s' was specified more than once in one action", arn)
		}
		out = append(out, g)
	}
	if len(unknown) > 0 {
		return nil, kindTargetGroup.notFoundError(unknown...)
	}
	return out, nil
}

func checkWeights(tuples []types.TargetGroupTuple) error {
	for _, t := range tuples {
		if t.Weight == nil {
			if len(tuples) > 1 {
				return validationError(store.UnprovenSource, "A weight must be specified for each target group when there is more than one target group")
			}
			continue
		}
		if *t.Weight < 0 || *t.Weight > 999 {
			return validationError(store.UnprovenSource, "The weight for each target group must be between 0 and 999, inclusive")
		}
	}
	return nil
}

// checkTargetGroupStickiness checks the target group stickiness of an action that forwards to groups. sticky is nil if the
// action does not set it. Only an ALB requires a duration.
func checkTargetGroupStickiness(sc actionScope, sticky *types.TargetGroupStickinessConfig, groups []*store.TargetGroup) error {
	on := sticky != nil && store.Value(sticky.Enabled)
	if on && sticky.DurationSeconds == nil && sc.lb.IsALB() {
		return validationError(store.UnprovenSource, "A duration must be specified to enable target group stickiness")
	}
	if sticky != nil && sticky.DurationSeconds != nil && (*sticky.DurationSeconds < 1 || *sticky.DurationSeconds > 604800) {
		return validationError(store.UnprovenSource, "The target group stickiness duration '%d' must be between '1-604800' inclusive", *sticky.DurationSeconds)
	}
	if len(groups) < 2 {
		return nil
	}
	for _, g := range groups {
		if g.Attributes[attrStickiness] != "true" {
			continue
		}
		if g.Attributes[attrStickinessType] == "app_cookie" {
			return store.Errorf(store.UnprovenSource, codeAction, "When configuring a rule with multiple target groups, none of them can have stickiness of type 'app_cookie' enabled")
		}
		if !on {
			return store.Errorf(store.UnprovenSource, codeAction, "You must enable target group stickiness on a rule with multiple target groups if one of them has stickiness enabled")
		}
	}
	return nil
}

// checkTargetGroupCompatibility checks that the VPC, the IP address type and the protocol of each target group are
// compatible with the listener.
func checkTargetGroupCompatibility(sc actionScope, groups []*store.TargetGroup) error {
	var foreign, unfit []string
	for _, g := range groups {
		if g.VPC != "" && g.VPC != sc.lb.VPC {
			foreign = append(foreign, g.ARN)
		}
		if sc.listener.Protocol == types.ProtocolEnumHttp && (g.ProtocolVersion == versionGRPC || g.ProtocolVersion == versionHTTP2) {
			return store.Errorf(store.UnprovenSource, codeAction, "Listener protocol '%s' is not supported with a target group with the protocol-version '%s'", sc.listener.Protocol, g.ProtocolVersion)
		}
		if !canForward(sc, g) {
			unfit = append(unfit, g.ARN)
		}
		if g.Addressing != "" && groups[0].Addressing != "" && g.Addressing != groups[0].Addressing {
			return configurationError(store.UnprovenSource, "All target groups of an action must have the same IP address type")
		}
		if g.Addressing == types.TargetGroupIpAddressTypeEnumIpv6 && sc.lb.Addressing == types.IpAddressTypeIpv4 {
			return configurationError(store.UnprovenSource, "The target group '%s' with IP address type 'ipv6' cannot be used with a load balancer with IP address type 'ipv4'", g.ARN)
		}
	}
	if len(foreign) > 0 {
		return validationError(store.UnprovenSource, "The following target groups do not belong to VPC '%s': %s", sc.lb.VPC, strings.Join(foreign, ", "))
	}
	if len(unfit) > 0 {
		return store.Errorf(store.UnprovenSource, "IncompatibleProtocols", "The listener and the following target groups have incompatible protocols: %s", strings.Join(unfit, ", "))
	}
	return nil
}

// canForward reports whether a listener can forward to a target group with the protocol and the target type of g.
func canForward(sc actionScope, g *store.TargetGroup) bool {
	if g.Type == types.TargetTypeEnumLambda {
		return isHTTP(sc.listener.Protocol)
	}
	if isHTTP(sc.listener.Protocol) {
		return isHTTP(g.Protocol)
	}
	if g.Type == types.TargetTypeEnumAlb {
		return sc.listener.Protocol == types.ProtocolEnumTcp
	}
	allowed := map[types.ProtocolEnum][]types.ProtocolEnum{
		types.ProtocolEnumTcp:     {types.ProtocolEnumTcp, types.ProtocolEnumTcpUdp},
		types.ProtocolEnumTls:     {types.ProtocolEnumTcp, types.ProtocolEnumTls},
		types.ProtocolEnumUdp:     {types.ProtocolEnumUdp, types.ProtocolEnumTcpUdp},
		types.ProtocolEnumTcpUdp:  {types.ProtocolEnumTcpUdp},
		types.ProtocolEnumQuic:    {types.ProtocolEnumQuic, types.ProtocolEnumTcpQuic},
		types.ProtocolEnumTcpQuic: {types.ProtocolEnumTcpQuic},
	}
	return slices.Contains(allowed[sc.listener.Protocol], g.Protocol)
}

// checkForwardTargetGroups checks the target groups to which the actions of a rule forward. A target group can be attached
// to only one load balancer, and the load balancer has quotas of target groups and targets. A rule with target groups of
// protocol version HTTP2 or GRPC can have no other action.
func (s *listeners) checkForwardTargetGroups(sc actionScope, actions []types.Action) error {
	st := sc.partition.ELB
	var taken, versioned []string
	var joining []*store.TargetGroup
	unique := map[string]bool{}
	st.EachRuleOfLoadBalancer(sc.lb.ARN, func(r *store.Rule) {
		if r != sc.replacedRule {
			store.EachForwardedTargetGroup(r.Actions, func(arn string) { unique[arn] = true })
		}
	})
	store.EachForwardedTargetGroup(actions, func(arn string) {
		g := st.TargetGroups[arn]
		if g.LoadBalancer != "" && g.LoadBalancer != sc.lb.ARN {
			taken = append(taken, arn)
		}
		if g.LoadBalancer == "" && !slices.Contains(joining, g) {
			joining = append(joining, g)
		}
		if g.ProtocolVersion == versionGRPC || g.ProtocolVersion == versionHTTP2 {
			versioned = append(versioned, arn)
		}
		unique[arn] = true
	})
	if len(versioned) > 0 && len(actions) > 1 {
		return store.Errorf(store.UnprovenSource, codeAction, "Only actions of type 'forward' are supported with the target groups '%s' of protocol version HTTP2 or GRPC", strings.Join(versioned, ", "))
	}
	if len(taken) > 0 {
		return store.Errorf(store.ReportSource("hashicorp/terraform-provider-aws#22005"), "TargetGroupAssociationLimit", "The following target groups cannot be associated with more than one load balancer: %s", strings.Join(taken, ", "))
	}
	if most := s.quota(quotaTargetGroupsPerALB); sc.lb.IsALB() && len(unique) > most {
		return store.Errorf(store.ReportSource("kubernetes-sigs/aws-load-balancer-controller#3767"), "TooManyUniqueTargetGroupsPerLoadBalancer",
			"You have reached the maximum number of unique target groups that you can associate with a load balancer of type 'application': [%d]", most)
	}
	if len(joining) == 0 {
		return nil
	}
	return s.checkLoadBalancerTargets(st, sc.lb, joining, 0, nil)
}

// describeActions returns actions in the form in which AWS returns them, without client secrets. The target groups are in
// random order.
func (s *listeners) describeActions(in []types.Action) []types.Action {
	out := make([]types.Action, 0, len(in))
	for _, a := range in {
		if a.AuthenticateOidcConfig != nil {
			oidc := *a.AuthenticateOidcConfig
			oidc.ClientSecret = nil
			a.AuthenticateOidcConfig = &oidc
		}
		if a.ForwardConfig != nil {
			forward := *a.ForwardConfig
			forward.TargetGroups = store.Shuffle(s.store, slices.Clone(forward.TargetGroups))
			a.ForwardConfig = &forward
		}
		out = append(out, a)
	}
	return out
}
