package elbv2

import (
	"slices"
	"strings"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	attrDeregistrationDelay       = "deregistration_delay.timeout_seconds"
	attrDeregistrationTermination = "deregistration_delay.connection_termination.enabled"
	attrStickiness                = "stickiness.enabled"
	attrStickinessType            = "stickiness.type"
	attrStickyLBDuration          = "stickiness.lb_cookie.duration_seconds"
	attrStickyAppName             = "stickiness.app_cookie.cookie_name"
	attrStickyAppDuration         = "stickiness.app_cookie.duration_seconds"
	attrSlowStart                 = "slow_start.duration_seconds"
	attrAlgorithm                 = "load_balancing.algorithm.type"
	attrAnomalyMitigation         = "load_balancing.algorithm.anomaly_mitigation"
	attrDNSCount                  = "target_group_health.dns_failover.minimum_healthy_targets.count"
	attrDNSPercent                = "target_group_health.dns_failover.minimum_healthy_targets.percentage"
	attrRoutingCount              = "target_group_health.unhealthy_state_routing.minimum_healthy_targets.count"
	attrRoutingPercent            = "target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage"
	attrPreserveClientIP          = "preserve_client_ip.enabled"
	attrProxyProtocol             = "proxy_protocol_v2.enabled"
	attrUnhealthyTermination      = "target_health_state.unhealthy.connection_termination.enabled"
	attrUnhealthyDraining         = "target_health_state.unhealthy.draining_interval_seconds"
	attrLambdaHeaders             = "lambda.multi_value_headers.enabled"

	crossZoneFromLoadBalancer = "use_load_balancer_configuration"
)

// targetGroupAttributes returns the attributes of target groups of all types and protocols.
func targetGroupAttributes() []attribute {
	return []attribute{
		{attrDeregistrationDelay, "300", checkNumberIn(0, 3600)},
		{attrDeregistrationTermination, "false", checkBoolean},
		{attrStickiness, "false", checkBoolean},
		{attrStickinessType, "lb_cookie", checkOneOf("lb_cookie", "app_cookie", "source_ip")},
		{attrStickyLBDuration, "86400", checkNumberIn(1, 604800)},
		{attrStickyAppName, "", checkAppCookieName},
		{attrStickyAppDuration, "86400", checkNumberIn(1, 604800)},
		{attrSlowStart, "0", checkZeroOrNumberIn(30, 900)},
		{attrAlgorithm, "round_robin", checkOneOf("round_robin", "least_outstanding_requests", "weighted_random")},
		{attrAnomalyMitigation, "off", checkOneOf("on", "off")},
		{attrCrossZone, crossZoneFromLoadBalancer, checkOneOf("true", "false", crossZoneFromLoadBalancer)},
		{attrDNSCount, "1", checkOffOrNumberIn(1, 1000000)},
		{attrDNSPercent, "off", checkOffOrNumberIn(1, 100)},
		{attrRoutingCount, "1", checkNumberIn(1, 1000000)},
		{attrRoutingPercent, "off", checkOffOrNumberIn(1, 100)},
		{attrPreserveClientIP, "true", checkBoolean},
		{attrProxyProtocol, "false", checkBoolean},
		{attrUnhealthyTermination, "true", checkBoolean},
		{attrUnhealthyDraining, "0", checkNumberIn(0, 360000)},
		{attrLambdaHeaders, "false", checkBoolean},
	}
}

// checkAppCookieName returns an error if the name of an application cookie begins with "AWSALB", as the cookies of the load
// balancer do.
func checkAppCookieName(key, value string) error {
	if strings.HasPrefix(value, "AWSALB") {
		return validationError(store.UnprovenSource, "The value of '%s' cannot begin with 'AWSALB', but was '%s'", key, value)
	}
	return nil
}

func isUDP(p types.ProtocolEnum) bool {
	return p == types.ProtocolEnumUdp || p == types.ProtocolEnumTcpUdp
}

// targetGroupAttributeKeys returns the keys of the attributes that a target group has.
func targetGroupAttributeKeys(g *store.TargetGroup) []string {
	health := []string{attrDNSCount, attrDNSPercent, attrRoutingCount, attrRoutingPercent}
	switch {
	case g.Type == types.TargetTypeEnumLambda:
		return []string{attrCrossZone, attrLambdaHeaders}
	case g.Type == types.TargetTypeEnumAlb:
		return append(health, attrDeregistrationDelay, attrCrossZone)
	case isHTTP(g.Protocol):
		return append(health, attrDeregistrationDelay, attrStickiness, attrStickinessType, attrStickyLBDuration, attrStickyAppName, attrStickyAppDuration,
			attrSlowStart, attrAlgorithm, attrAnomalyMitigation, attrCrossZone)
	}
	keys := append(health, attrDeregistrationDelay, attrDeregistrationTermination, attrStickiness, attrStickinessType, attrCrossZone,
		attrPreserveClientIP, attrProxyProtocol, attrUnhealthyTermination)
	if !isUDP(g.Protocol) && !isQUIC(g.Protocol) {
		keys = append(keys, attrUnhealthyDraining)
	}
	return keys
}

// targetGroupAttributeSchema returns the schema with the attributes that a target group has.
func targetGroupAttributeSchema(g *store.TargetGroup) attributeSchema {
	keys := targetGroupAttributeKeys(g)
	return attributeSchema{
		title:       "Target group",
		attributes:  targetGroupAttributes(),
		isSupported: func(key string) bool { return slices.Contains(keys, key) },
		unsupportedError: func(key string) error {
			if g.Type == types.TargetTypeEnumLambda {
				return configurationError(store.UnprovenSource, "A target group with target type 'lambda' does not support the attribute %s", key)
			}
			return configurationError(store.ReportSource("hashicorp/terraform-provider-aws#12726"), "The provided target group attribute is not supported")
		},
	}
}

// initialTargetGroupAttributes returns the attributes of a new target group.
func initialTargetGroupAttributes(g *store.TargetGroup) map[string]string {
	out := targetGroupAttributeSchema(g).initialValues()
	if g.Type == types.TargetTypeEnumLambda {
		out[attrCrossZone] = "true"
		return out
	}
	if isHTTP(g.Protocol) || g.Type == types.TargetTypeEnumAlb {
		return out
	}
	out[attrStickinessType] = "source_ip"
	if isUDP(g.Protocol) {
		out[attrDeregistrationTermination] = "true"
	}
	if isUDP(g.Protocol) || isQUIC(g.Protocol) {
		out[attrUnhealthyTermination] = "false"
	}
	if g.Type == types.TargetTypeEnumIp && (g.Protocol == types.ProtocolEnumTcp || g.Protocol == types.ProtocolEnumTls) {
		out[attrPreserveClientIP] = "false"
	}
	return out
}

func (s *targetGroups) targetGroupAttributeList(g *store.TargetGroup) []types.TargetGroupAttribute {
	var out []types.TargetGroupAttribute
	for _, k := range store.SortedKeys(g.Attributes) {
		out = append(out, types.TargetGroupAttribute{Key: new(k), Value: new(g.Attributes[k])})
	}
	return store.Shuffle(s.store, out)
}

// DescribeTargetGroupAttributes returns all attributes of a target group.
func (s *targetGroups) DescribeTargetGroupAttributes(c *store.Call, in *elb.DescribeTargetGroupAttributesInput) (*elb.DescribeTargetGroupAttributesOutput, error) {
	if err := requiredError("targetGroupArn", in.TargetGroupArn != nil); err != nil {
		return nil, err
	}
	g, err := findTargetGroup(c.Partition.ELB, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	return &elb.DescribeTargetGroupAttributesOutput{Attributes: s.targetGroupAttributeList(g)}, nil
}

// ModifyTargetGroupAttributes sets attributes of a target group. It sets none if it returns an error.
func (s *targetGroups) ModifyTargetGroupAttributes(c *store.Call, in *elb.ModifyTargetGroupAttributesInput) (*elb.ModifyTargetGroupAttributesOutput, error) {
	settings := make([]attributeSetting, len(in.Attributes))
	for i, a := range in.Attributes {
		settings[i] = attributeSetting{a.Key, a.Value}
	}
	var sh validation
	sh.checkPresent("targetGroupArn", in.TargetGroupArn != nil)
	sh.checkPresent("attributes", in.Attributes != nil)
	sh.validateAttributes(settings, 1<<20)
	if err := sh.err(); err != nil {
		return nil, err
	}
	g, err := findTargetGroup(c.Partition.ELB, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	next, err := targetGroupAttributeSchema(g).merge(g.Attributes, settings)
	if err != nil {
		return nil, err
	}
	if g.Type == types.TargetTypeEnumAlb && len(settings) > 0 {
		return nil, configurationError(store.ReportSource("hashicorp/terraform-provider-aws#12726"), "The provided target group attribute is not supported")
	}
	if err := checkTargetGroupAttributes(g, next); err != nil {
		return nil, err
	}
	g.Attributes = next
	return &elb.ModifyTargetGroupAttributesOutput{Attributes: s.targetGroupAttributeList(g)}, nil
}

// checkTargetGroupAttributes checks rules that involve several attributes, or attributes and targets. next contains all
// attributes with their new values.
func checkTargetGroupAttributes(g *store.TargetGroup, next map[string]string) error {
	if err := checkHealthThresholds(next); err != nil {
		return err
	}
	switch {
	case g.Type == types.TargetTypeEnumLambda:
		return nil
	case isHTTP(g.Protocol):
		return checkHTTPTargetGroupAttributes(g, next)
	}
	return checkTCPTargetGroupAttributes(g, next)
}

func checkHTTPTargetGroupAttributes(g *store.TargetGroup, next map[string]string) error {
	kind := next[attrStickinessType]
	sticky := next[attrStickiness] == "true"
	if kind != "lb_cookie" && kind != "app_cookie" {
		return configurationError(store.ReportSource("ansible/ansible#67993"), "Stickiness type '%s' is not supported for target groups with the %s protocol", kind, g.Protocol)
	}
	if sticky && kind == "app_cookie" && next[attrStickyAppName] == "" {
		return configurationError(store.UnprovenSource, "You must set an application cookie name to enable stickiness of type 'app_cookie'")
	}
	if next[attrSlowStart] != "0" && next[attrAlgorithm] != "round_robin" {
		return configurationError(store.UnprovenSource, "Slow start cannot be enabled with the load balancing algorithm '%s'", next[attrAlgorithm])
	}
	if next[attrAnomalyMitigation] == "on" && next[attrAlgorithm] != "weighted_random" {
		return configurationError(store.UnprovenSource, "Anomaly mitigation can only be enabled with the load balancing algorithm 'weighted_random'")
	}
	if next[attrCrossZone] == "false" {
		if sticky {
			return configurationError(store.UnprovenSource, "Stickiness cannot be enabled when cross-zone load balancing is off")
		}
		for _, t := range g.Targets {
			if t.Zone == zoneAll {
				return configurationError(store.UnprovenSource, "Cross-zone load balancing cannot be turned off while a target is registered with Availability Zone 'all'")
			}
		}
	}
	return nil
}

func checkTCPTargetGroupAttributes(g *store.TargetGroup, next map[string]string) error {
	if kind, ok := next[attrStickinessType]; ok && kind != "source_ip" {
		return configurationError(store.ReportSource("ansible/ansible#67993"), "Stickiness type '%s' is not supported for target groups with the %s protocol", kind, g.Protocol)
	}
	if next[attrStickiness] == "true" && g.Protocol == types.ProtocolEnumTls {
		return configurationError(store.UnprovenSource, "You cannot enable stickiness on target groups with the TLS protocol")
	}
	if next[attrPreserveClientIP] == "false" && (isUDP(g.Protocol) || isQUIC(g.Protocol)) {
		return configurationError(store.UnprovenSource, "You cannot disable client IP preservation on target groups with the %s protocol", g.Protocol)
	}
	if next[attrUnhealthyTermination] == "true" && (isUDP(g.Protocol) || isQUIC(g.Protocol)) {
		return configurationError(store.UnprovenSource, "You cannot enable connection termination for unhealthy targets on target groups with the %s protocol", g.Protocol)
	}
	if d := next[attrUnhealthyDraining]; d != "" && d != "0" && next[attrUnhealthyTermination] == "true" {
		return configurationError(store.UnprovenSource, "You must disable '%s' to set '%s'", attrUnhealthyTermination, attrUnhealthyDraining)
	}
	return nil
}

// checkHealthThresholds returns an error if the threshold of healthy targets for DNS failover is lower than the threshold
// for unhealthy state routing.
func checkHealthThresholds(next map[string]string) error {
	for _, pair := range [][2]string{{attrDNSCount, attrRoutingCount}, {attrDNSPercent, attrRoutingPercent}} {
		dns, routing := next[pair[0]], next[pair[1]]
		if dns == "" || dns == "off" || routing == "" || routing == "off" {
			continue
		}
		if atoi(dns) < atoi(routing) {
			return configurationError(store.UnprovenSource, "The value of '%s' must be greater than or equal to the value of '%s'", pair[0], pair[1])
		}
	}
	return nil
}
