package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// readWebACLID reads web-acl-id, the older name of waf-acl-id. waf-acl-id has precedence; it has already been read, because
// keys are read in ascending order.
func readWebACLID(in *Ingress, _, raw string, from finding.Origin) error {
	if !in.WAFClassic.IsPresent() {
		in.WAFClassic = NewOpt(raw, from)
	}
	return nil
}

// parsePortMap parses a map such as "80=443,8080=80" from ports of the frontend NLB to the ports of the ALB to which they
// forward.
func parsePortMap(raw string) (map[int32]int32, error) {
	m, err := ParseMap(raw)
	if err != nil {
		return nil, err
	}
	out := map[int32]int32{}
	for _, from := range slices.Sorted(maps.Keys(m)) {
		to := m[from]
		f, errF := ParsePort(from)
		t, errT := ParsePort(to)
		if err := errors.Join(errF, errT); err != nil {
			return nil, fmt.Errorf("%s=%s: not ports", from, to)
		}
		out[f] = t
	}
	return out, nil
}

// ParsePort parses a port number from 1 to 65535.
func ParsePort(raw string) (int32, error) {
	n, err := strconv.ParseInt(raw, 10, 32)
	if err != nil || n < 1 || n > 65535 {
		return 0, errors.New("not a port from 1 to 65535")
	}
	return int32(n), nil
}

// parseFrontendHealthCheckPort accepts traffic-port or a port number.
func parseFrontendHealthCheckPort(raw string) (string, error) {
	if raw == "traffic-port" {
		return raw, nil
	}
	n, err := ParsePort(raw)
	if err != nil {
		return "", errors.New("neither traffic-port nor a port from 1 to 65535")
	}
	return strconv.Itoa(int(n)), nil
}

// routingPolicyAttribute is the only load balancer attribute whose value the controller checks. AWS checks the others.
const routingPolicyAttribute = "dns_record.client_routing_policy"

// parseNLBAttributes parses a map of attributes of a network load balancer.
func parseNLBAttributes(raw string) (map[string]string, error) {
	m, err := ParseMap(raw)
	if err != nil {
		return nil, err
	}
	if v, ok := m[routingPolicyAttribute]; ok {
		_, err = EnumParser("availability_zone_affinity", "partial_availability_zone_affinity", "any_availability_zone")(v)
		if err != nil {
			return nil, fmt.Errorf("%s %w", routingPolicyAttribute, err)
		}
	}
	return m, nil
}

func frontendRows() []row[Ingress] {
	const group = "Frontend NLB"
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "enable-frontend-nlb", Type: "bool", Default: "false", Merge: mergeOne, Counterpart: "Gateway of class aws-nlb",
			Doc: "Creates a frontend NLB, a network load balancer that forwards to the application load balancer."},
			read: valueReader(ParseBool, func(in *Ingress) *Opt[bool] { return &in.FrontendNLB })},
		{Row: Row{Group: group, Key: "frontend-nlb-scheme", Type: "internal, internet-facing", Default: "--default-load-balancer-scheme", Merge: mergeOne, Counterpart: networkField + "scheme",
			Doc: "Scheme of the frontend NLB."},
			read: valueReader(EnumParser(model.Internal, model.InternetFacing), func(in *Ingress) *Opt[model.Scheme] { return &in.FrontendScheme })},
		{Row: Row{Group: group, Key: "frontend-nlb-subnets", Type: "list", Default: "discovery", Merge: mergeOne, Counterpart: networkField + "loadBalancerSubnets",
			Doc: "Subnets of the frontend NLB, by ID or Name tag."},
			read: valueReader(ParseList, func(in *Ingress) *Opt[[]string] { return &in.FrontendSubnets })},
		{Row: Row{Group: group, Key: "frontend-nlb-security-groups", Type: "list", Default: "security groups of the application load balancer", Merge: mergeOne, Counterpart: networkField + "securityGroups",
			Doc: "Security groups of the frontend NLB, by ID or Name tag."},
			read: valueReader(ParseList, func(in *Ingress) *Opt[[]string] { return &in.FrontendSecurityGroups })},
		{Row: Row{Group: group, Key: "frontend-nlb-listener-port-mapping", Type: "map", Default: "the same ports", Merge: mergePort, Counterpart: "TCPRoutes",
			Doc: "Ports of the frontend NLB and the ports of the application load balancer that they forward to, for example 80=443."},
			read: valueReader(parsePortMap, func(in *Ingress) *Opt[map[int32]int32] { return &in.FrontendPorts })},
		{Row: Row{Group: group, Key: "frontend-nlb-eip-allocations", Type: "list", Merge: mergeOne, Counterpart: networkField + "loadBalancerSubnets[].eipAllocation",
			Doc: "Elastic IP addresses by allocation ID, one for each subnet."},
			read: valueReader(ParseList, func(in *Ingress) *Opt[[]string] { return &in.FrontendAddresses })},
		{Row: Row{Group: group, Key: "frontend-nlb-healthcheck-port", Type: "int or traffic-port", Default: "traffic-port", Merge: mergePort, Counterpart: albTargetsField + "healthCheckPort",
			Doc: "Port of the health check."},
			read: valueReader(parseFrontendHealthCheckPort, func(in *Ingress) *Opt[string] { return &in.FrontendHealth.Port })},
		{Row: Row{Group: group, Key: "frontend-nlb-healthcheck-protocol", Type: "HTTP, HTTPS", Default: "HTTP", Merge: mergePort, Counterpart: albTargetsField + "healthCheckProtocol",
			Doc: "Protocol of the health check."},
			read: valueReader(EnumParser("HTTP", "HTTPS"), func(in *Ingress) *Opt[string] { return &in.FrontendHealth.Protocol })},
		{Row: Row{Group: group, Key: "frontend-nlb-healthcheck-path", Type: "string", Default: "/", Merge: mergePort, Counterpart: albTargetsField + "healthCheckPath",
			Doc: "Path of the health check."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.FrontendHealth.Path })},
		{Row: Row{Group: group, Key: "frontend-nlb-healthcheck-interval-seconds", Type: "int", Default: "15", Merge: mergePort, Counterpart: albTargetsField + "healthCheckInterval",
			Doc: "Seconds between health checks."},
			read: valueReader(ParseInt, func(in *Ingress) *Opt[int32] { return &in.FrontendHealth.Interval })},
		{Row: Row{Group: group, Key: "frontend-nlb-healthcheck-timeout-seconds", Type: "int", Default: "5", Merge: mergePort, Counterpart: albTargetsField + "healthCheckTimeout",
			Doc: "Seconds without a response after which a health check fails."},
			read: valueReader(ParseInt, func(in *Ingress) *Opt[int32] { return &in.FrontendHealth.Timeout })},
		{Row: Row{Group: group, Key: "frontend-nlb-healthcheck-healthy-threshold-count", Type: "int", Default: "2", Merge: mergePort, Counterpart: albTargetsField + "healthyThresholdCount",
			Doc: "Consecutive health checks that must succeed before a target is healthy."},
			read: valueReader(ParseInt, func(in *Ingress) *Opt[int32] { return &in.FrontendHealth.Healthy })},
		{Row: Row{Group: group, Key: "frontend-nlb-healthcheck-unhealthy-threshold-count", Type: "int", Default: "2", Merge: mergePort, Counterpart: albTargetsField + "unhealthyThresholdCount",
			Doc: "Consecutive health checks that must fail before a target is unhealthy."},
			read: valueReader(ParseInt, func(in *Ingress) *Opt[int32] { return &in.FrontendHealth.Unhealthy })},
		{Row: Row{Group: group, Key: "frontend-nlb-healthcheck-success-codes", Type: "string", Default: "200", Merge: mergePort, Counterpart: albTargetsField + "matcher",
			Doc: "Response codes of a successful health check."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.FrontendHealth.Codes })},
		{Row: Row{Group: group, Key: "frontend-nlb-attributes", Type: "map", Merge: mergeOne, Counterpart: networkField + "loadBalancerAttributes",
			Doc: "Attributes of the frontend NLB; other attributes are not changed."},
			read: valueReader(parseNLBAttributes, func(in *Ingress) *Opt[map[string]string] { return &in.FrontendAttributes })},
		{Row: Row{Group: group, Key: "frontend-nlb-tags", Type: "map", Default: "tags of the application load balancer", Merge: mergeOne, Counterpart: "tags of the configurations of the Gateway of class aws-nlb",
			Doc: "Tags of the frontend NLB, its listeners and target groups."},
			read: valueReader(ParseMap, func(in *Ingress) *Opt[map[string]string] { return &in.FrontendTags })},
	}
}
