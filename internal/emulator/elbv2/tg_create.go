package elbv2

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	versionHTTP1 = "HTTP1"
	versionHTTP2 = "HTTP2"
	versionGRPC  = "GRPC"
)

// CreateTargetGroup creates a target group. If a target group with the same name and settings exists, it returns this target
// group.
func (s *targetGroups) CreateTargetGroup(c *store.Call, in *elb.CreateTargetGroupInput) (*elb.CreateTargetGroupOutput, error) {
	check := healthCheckSettings{
		enabled: in.HealthCheckEnabled, protocol: in.HealthCheckProtocol, port: in.HealthCheckPort, path: in.HealthCheckPath,
		interval: in.HealthCheckIntervalSeconds, timeout: in.HealthCheckTimeoutSeconds,
		healthyThreshold: in.HealthyThresholdCount, unhealthyThreshold: in.UnhealthyThresholdCount, matcher: in.Matcher,
	}
	sh := s.newValidation()
	sh.checkPresent("name", in.Name != nil)
	checkEnum(&sh, "protocol", in.Protocol, in.Protocol.Values())
	checkEnum(&sh, "targetType", in.TargetType, in.TargetType.Values())
	checkEnum(&sh, "ipAddressType", in.IpAddressType, in.IpAddressType.Values())
	sh.checkRange("port", in.Port, 1, 65535)
	sh.checkRange("targetControlPort", in.TargetControlPort, 1, 65535)
	sh.validateHealthCheck(check)
	sh.validateTags(in.Tags)
	if err := sh.err(); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	g := &store.TargetGroup{
		Name: *in.Name, Protocol: in.Protocol, ProtocolVersion: store.Value(in.ProtocolVersion), Port: store.Value(in.Port),
		ControlPort: store.Value(in.TargetControlPort), VPC: store.Value(in.VpcId),
		Type: cmp.Or(in.TargetType, types.TargetTypeEnumInstance), Addressing: in.IpAddressType,
	}
	if err := checkTargetGroupName(g.Name); err != nil {
		return nil, err
	}
	if err := checkTargetGroupKind(p, g, in); err != nil {
		return nil, err
	}
	var err error
	if g.Check, err = newHealthCheck(g, check); err != nil {
		return nil, err
	}
	if g.Tags, err = newTags(in.Tags); err != nil {
		return nil, err
	}
	for _, other := range st.TargetGroups {
		if other.Name != g.Name {
			continue
		}
		if !isSameTargetGroup(other, g) {
			return nil, store.Errorf(store.ReportSource("fortinet/fortigate-terraform-deploy#21"), "DuplicateTargetGroupName", "A target group with the same name '%s' exists, but with different settings", g.Name)
		}
		return &elb.CreateTargetGroupOutput{TargetGroups: []types.TargetGroup{describeTargetGroupWithoutLoadBalancers(other)}}, nil
	}
	if most := s.quota(quotaTargetGroups); len(st.TargetGroups) >= most {
		return nil, store.Errorf(store.UnprovenSource, "TooManyTargetGroups", "The maximum number of target groups has been reached: '%d'", most)
	}
	g.ID = s.store.RandomHex(16)
	g.ARN = newARN(p, fmt.Sprintf("targetgroup/%s/%s", g.Name, g.ID))
	g.Attributes = initialTargetGroupAttributes(g)
	st.TargetGroups[g.ARN] = g
	return &elb.CreateTargetGroupOutput{TargetGroups: []types.TargetGroup{describeTargetGroupWithoutLoadBalancers(g)}}, nil
}

func checkTargetGroupName(name string) error {
	switch {
	case len(name) > 32:
		return validationError(store.UnprovenSource, "Target group name '%s' cannot be longer than '32' characters", name)
	case !namePattern.MatchString(name):
		return validationError(store.UnprovenSource, "Target group name '%s' can only contain characters that are alphanumeric characters or hyphens(-)", name)
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"):
		return validationError(store.UnprovenSource, "Target group name '%s' cannot begin or end with '-'", name)
	case strings.Contains(name, "--"):
		return validationError(store.UnprovenSource, "Target group name '%s' cannot contain '--'", name)
	}
	return nil
}

// checkTargetGroupKind checks the target type, protocol, protocol version, ports, VPC and IP address type of a new target
// group. It sets the defaults of protocol version and IP address type.
func checkTargetGroupKind(p *store.Partition, g *store.TargetGroup, in *elb.CreateTargetGroupInput) error {
	if g.Type == types.TargetTypeEnumLambda {
		for _, bad := range []struct {
			given bool
			what  string
		}{
			{g.Protocol != "", "Protocol"}, {in.Port != nil, "Port"}, {in.VpcId != nil, "VPC ID"},
			{in.ProtocolVersion != nil, "Protocol version"}, {in.TargetControlPort != nil, "Target control port"},
		} {
			if bad.given {
				return validationError(store.ReportSource("boto/boto3#1834"), "%s cannot be specified for target groups with target type 'lambda'", bad.what)
			}
		}
		if g.Addressing == types.TargetGroupIpAddressTypeEnumIpv6 {
			return validationError(store.UnprovenSource, "IP address type 'ipv6' is not supported for target groups with target type 'lambda'")
		}
		return nil
	}
	if g.Protocol == "" || in.Port == nil {
		return validationError(store.UnprovenSource, "A target group of type '%s' must have a protocol and a port", g.Type)
	}
	if g.Protocol == types.ProtocolEnumGeneve {
		return validationError(store.EmulatorSource, "Target groups with the GENEVE protocol are not supported by this emulator")
	}
	if g.VPC == "" {
		return validationError(store.ReportSource("awsdocs/aws-cloudformation-user-guide#467"), "A VPC ID must be specified")
	}
	if p.VPCs[g.VPC] == nil {
		return validationError(store.ReportSource("ansible/ansible#31919"), "The VPC ID '%s' is not found", g.VPC)
	}
	if g.Type == types.TargetTypeEnumAlb && g.Protocol != types.ProtocolEnumTcp {
		return validationError(store.UnprovenSource, "Target groups with target type 'alb' must have the TCP protocol")
	}
	switch {
	case isHTTP(g.Protocol):
		if in.ProtocolVersion == nil {
			g.ProtocolVersion = versionHTTP1
		}
		if v := g.ProtocolVersion; v != versionHTTP1 && v != versionHTTP2 && v != versionGRPC {
			return validationError(store.UnprovenSource, "Protocol version '%s' must be one of 'GRPC, HTTP1, HTTP2'", v)
		}
	case in.ProtocolVersion != nil:
		return validationError(store.UnprovenSource, "Protocol version cannot be specified for target groups with the %s protocol", g.Protocol)
	case in.TargetControlPort != nil:
		return validationError(store.UnprovenSource, "A target control port cannot be specified for target groups with the %s protocol", g.Protocol)
	}
	if g.Addressing == "" {
		g.Addressing = types.TargetGroupIpAddressTypeEnumIpv4
	}
	if g.Addressing == types.TargetGroupIpAddressTypeEnumIpv6 && g.Type == types.TargetTypeEnumAlb {
		return validationError(store.UnprovenSource, "IP address type 'ipv6' is not supported for target groups with target type 'alb'")
	}
	return nil
}

func isHTTP(p types.ProtocolEnum) bool {
	return p == types.ProtocolEnumHttp || p == types.ProtocolEnumHttps
}

// isSameTargetGroup reports whether an existing target group (have) has the settings in a create request (want).
func isSameTargetGroup(have, want *store.TargetGroup) bool {
	return have.Protocol == want.Protocol && have.ProtocolVersion == want.ProtocolVersion && have.Port == want.Port &&
		have.ControlPort == want.ControlPort && have.VPC == want.VPC && have.Type == want.Type &&
		have.Addressing == want.Addressing && have.Check == want.Check && maps.Equal(have.Tags, want.Tags)
}

// describeTargetGroupWithoutLoadBalancers returns a target group in the form in which create and modify operations return
// it: without the load balancers that use it.
func describeTargetGroupWithoutLoadBalancers(g *store.TargetGroup) types.TargetGroup {
	out := describeTargetGroup(g)
	out.LoadBalancerArns = nil
	return out
}

// describeTargetGroup returns a target group in the form in which DescribeTargetGroups returns it.
func describeTargetGroup(g *store.TargetGroup) types.TargetGroup {
	h := g.Check
	out := types.TargetGroup{
		TargetGroupArn: new(g.ARN), TargetGroupName: new(g.Name), TargetType: g.Type, Protocol: g.Protocol,
		ProtocolVersion: store.StringOrNil(g.ProtocolVersion), VpcId: store.StringOrNil(g.VPC), IpAddressType: g.Addressing,
		HealthCheckEnabled: new(h.Enabled), HealthCheckProtocol: h.Protocol, HealthCheckPort: store.StringOrNil(h.Port), HealthCheckPath: store.StringOrNil(h.Path),
		HealthCheckIntervalSeconds: new(h.IntervalSeconds), HealthCheckTimeoutSeconds: new(h.TimeoutSeconds),
		HealthyThresholdCount: new(h.HealthyThreshold), UnhealthyThresholdCount: new(h.UnhealthyThreshold),
		LoadBalancerArns: []string{},
	}
	if g.Port != 0 {
		out.Port = new(g.Port)
	}
	if g.ControlPort != 0 {
		out.TargetControlPort = new(g.ControlPort)
	}
	if g.LoadBalancer != "" {
		out.LoadBalancerArns = append(out.LoadBalancerArns, g.LoadBalancer)
	}
	if h.HTTPCodes != "" || h.GRPCCodes != "" {
		out.Matcher = &types.Matcher{HttpCode: store.StringOrNil(h.HTTPCodes), GrpcCode: store.StringOrNil(h.GRPCCodes)}
	}
	return out
}
