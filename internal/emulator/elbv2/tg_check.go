package elbv2

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const trafficPort = "traffic-port"

// healthCheckSettings contains the health check members of a create or modify request. Members that are not in the request
// are nil or empty.
type healthCheckSettings struct {
	enabled                              *bool
	protocol                             types.ProtocolEnum
	port, path                           *string
	interval, timeout                    *int32
	healthyThreshold, unhealthyThreshold *int32
	matcher                              *types.Matcher
}

func (s *validation) validateHealthCheck(in healthCheckSettings) {
	checkEnum(s, "healthCheckProtocol", in.protocol, in.protocol.Values())
	s.checkRange("healthCheckIntervalSeconds", in.interval, 5, 300)
	s.checkRange("healthCheckTimeoutSeconds", in.timeout, 2, 120)
	s.checkRange("healthyThresholdCount", in.healthyThreshold, 2, 10)
	s.checkRange("unhealthyThresholdCount", in.unhealthyThreshold, 2, 10)
	s.checkLength("healthCheckPath", in.path, 1, 1024)
}

// newHealthCheck returns the health check of a new target group: the settings of the request, and defaults for settings
// that are not in the request.
func newHealthCheck(g *store.TargetGroup, in healthCheckSettings) (store.HealthCheck, error) {
	h := store.HealthCheck{
		Enabled: true, Protocol: types.ProtocolEnumHttp, Port: trafficPort,
		IntervalSeconds: 30, HealthyThreshold: 5, UnhealthyThreshold: 2,
	}
	switch {
	case g.Type == types.TargetTypeEnumLambda:
		h.Enabled, h.Protocol, h.Port, h.IntervalSeconds = false, "", "", 35
	case g.Type != types.TargetTypeEnumAlb && !isHTTP(g.Protocol):
		h.Protocol = types.ProtocolEnumTcp
	}
	return mergeHealthCheck(g, h, in)
}

// mergeHealthCheck returns health check h with the settings in a request applied. Settings without a value get their
// defaults. It returns an error if the result is invalid.
func mergeHealthCheck(g *store.TargetGroup, h store.HealthCheck, in healthCheckSettings) (store.HealthCheck, error) {
	none := store.HealthCheck{}
	lambda := g.Type == types.TargetTypeEnumLambda
	if lambda && (in.protocol != "" || in.port != nil) {
		return none, configurationError(store.UnprovenSource, "A health check protocol or port cannot be specified for target groups with target type 'lambda'")
	}
	if in.enabled != nil {
		h.Enabled = *in.enabled
	}
	if !lambda && !h.Enabled {
		return none, configurationError(store.UnprovenSource, "Health checks must be enabled for target groups with target type '%s'", g.Type)
	}
	if in.protocol != "" && in.protocol != h.Protocol {
		h.Protocol = in.protocol
		if h.Protocol == types.ProtocolEnumTcp {
			h.Path, h.HTTPCodes, h.GRPCCodes = "", "", ""
		}
	}
	if err := checkHealthCheckProtocol(g, h.Protocol); err != nil {
		return none, err
	}
	tcp := h.Protocol == types.ProtocolEnumTcp
	if in.port != nil {
		h.Port = *in.port
		if n, err := strconv.Atoi(h.Port); h.Port != trafficPort && (err != nil || n < 1 || n > 65535) {
			return none, validationError(store.UnprovenSource, "Health check port '%s' must be '%s' or between '1-65535' inclusive", h.Port, trafficPort)
		}
	}
	if in.path != nil {
		if tcp {
			return none, configurationError(store.UnprovenSource, "Health check paths are not supported for health checks for target groups with the TCP protocol")
		}
		if !strings.HasPrefix(*in.path, "/") {
			return none, validationError(store.UnprovenSource, "Health check path '%s' must begin with a '/' character", *in.path)
		}
		h.Path = *in.path
	}
	for _, n := range []struct {
		to   *int32
		from *int32
	}{
		{&h.IntervalSeconds, in.interval}, {&h.TimeoutSeconds, in.timeout},
		{&h.HealthyThreshold, in.healthyThreshold}, {&h.UnhealthyThreshold, in.unhealthyThreshold},
	} {
		if n.from != nil {
			*n.to = *n.from
		}
	}
	if err := mergeMatcher(g, &h, in.matcher); err != nil {
		return none, err
	}
	setHealthCheckDefaults(g, &h)
	return h, checkHealthCheckTimes(g, h)
}

// checkHealthCheckProtocol returns an error unless a target group supports health checks with protocol p.
func checkHealthCheckProtocol(g *store.TargetGroup, p types.ProtocolEnum) error {
	switch {
	case g.Type == types.TargetTypeEnumLambda, isHTTP(p):
		return nil
	case p != types.ProtocolEnumTcp:
		return configurationError(store.UnprovenSource, "Health check protocol '%s' must be one of 'HTTP, HTTPS, TCP'", p)
	case isHTTP(g.Protocol) || g.Type == types.TargetTypeEnumAlb:
		return configurationError(store.UnprovenSource, "Health check protocol 'TCP' is not supported for target groups with the %s protocol and target type '%s'", g.Protocol, g.Type)
	}
	return nil
}

// setHealthCheckDefaults sets the defaults of the path, the success codes and the timeout, if they have no value.
func setHealthCheckDefaults(g *store.TargetGroup, h *store.HealthCheck) {
	lambda := g.Type == types.TargetTypeEnumLambda
	grpc := g.ProtocolVersion == versionGRPC
	if h.Path == "" && (lambda || isHTTP(h.Protocol)) {
		h.Path = "/"
		if grpc {
			h.Path = "/AWS.ALB/healthcheck"
		}
	}
	if h.HTTPCodes == "" && h.GRPCCodes == "" {
		switch {
		case grpc:
			h.GRPCCodes = "12"
		case lambda || isHTTP(g.Protocol):
			h.HTTPCodes = "200"
		case isHTTP(h.Protocol):
			h.HTTPCodes = "200-399"
		}
	}
	if h.TimeoutSeconds == 0 {
		switch {
		case lambda:
			h.TimeoutSeconds = 30
		case isHTTP(g.Protocol):
			h.TimeoutSeconds = 5
		case h.Protocol == types.ProtocolEnumHttp:
			h.TimeoutSeconds = 6
		default:
			h.TimeoutSeconds = 10
		}
	}
}

// mergeMatcher sets the success codes of h to those in a request (m), or returns an error if they are invalid. If m is nil,
// h does not change.
func mergeMatcher(g *store.TargetGroup, h *store.HealthCheck, m *types.Matcher) error {
	if m == nil || m.HttpCode == nil && m.GrpcCode == nil {
		return nil
	}
	if h.Protocol == types.ProtocolEnumTcp {
		return configurationError(store.UnprovenSource, "Custom health check matchers are not supported for health checks for target groups with the TCP protocol")
	}
	grpc := g.ProtocolVersion == versionGRPC
	if m.HttpCode != nil && m.GrpcCode != nil {
		return validationError(store.UnprovenSource, "You cannot specify both an HTTP code and a gRPC code in a health check matcher")
	}
	if grpc != (m.GrpcCode != nil) {
		return validationError(store.UnprovenSource, "The health check matcher does not fit the protocol version of the target group")
	}
	switch {
	case grpc:
		if !areCodesWithin(*m.GrpcCode, 0, 99) {
			return validationError(store.UnprovenSource, "Health check matcher GRPC code '%s' must be within '0-99' inclusive", *m.GrpcCode)
		}
		h.GRPCCodes = *m.GrpcCode
	default:
		low, high := 200, 499
		if !isHTTP(g.Protocol) && g.Type != types.TargetTypeEnumLambda {
			high = 599
		}
		if !areCodesWithin(*m.HttpCode, low, high) {
			return validationError(store.UnprovenSource, "Health check matcher HTTP code '%s' must be within '%d-%d' inclusive", *m.HttpCode, low, high)
		}
		h.HTTPCodes = *m.HttpCode
	}
	return nil
}

// areCodesWithin reports whether a list of status codes and ranges, such as "200,202" or "200-299", is valid and between low
// and high.
func areCodesWithin(list string, low, high int) bool {
	for _, part := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errA != nil || errB != nil || a < low || b > high || a > b {
			return false
		}
	}
	return true
}

// checkHealthCheckTimes returns an error if the timeout of a health check is too long for its interval.
func checkHealthCheckTimes(g *store.TargetGroup, h store.HealthCheck) error {
	t, i := h.TimeoutSeconds, h.IntervalSeconds
	strict := isHTTP(g.Protocol) || g.Type == types.TargetTypeEnumLambda
	switch {
	case strict && t >= i:
		return validationError(store.ReportSource("hashicorp/terraform-provider-aws#2366"), "Health check timeout '%d' must be smaller than the interval '%d'", t, i)
	case t > i:
		return validationError(store.UnprovenSource, "Health check timeout '%d' must be smaller than or equal to the interval '%d'", t, i)
	}
	return nil
}
