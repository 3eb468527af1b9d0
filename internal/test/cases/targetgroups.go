package cases

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// recordTargetGroup records a target group of the controller.
func (rd *reader) recordTargetGroup(tg elbtypes.TargetGroup) {
	rd.t.Helper()
	arn := aws.ToString(tg.TargetGroupArn)
	key := stackKey(rd.tags[arn])
	if key == "" {
		return
	}
	out := toPlainMap(rd.t, tg)
	for _, k := range []string{"TargetGroupArn", "LoadBalancerArns", "VpcId"} {
		delete(out, k)
	}
	out["Port"] = recordedPort(aws.ToInt32(tg.Port))
	if p := aws.ToString(tg.HealthCheckPort); p != "" {
		out["HealthCheckPort"] = recordedPortText(p)
	}
	// The name of a target group for an ALB, or for pods of a Gateway, has no random part.
	if tg.TargetType != elbtypes.TargetTypeEnumAlb && !(tg.TargetType == elbtypes.TargetTypeEnumIp && belongsToGateway(rd.tags[arn])) {
		out["Name"] = withoutHash(aws.ToString(tg.TargetGroupName))
	} else {
		out["Name"] = aws.ToString(tg.TargetGroupName)
	}
	delete(out, "TargetGroupName")
	out["Tags"] = DecodedJSON(rd.t, rd.tags[arn])
	attrs, err := rd.elb.DescribeTargetGroupAttributes(rd.t.Context(), &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: &arn})
	values := map[string]string{}
	for _, a := range must(rd.t, attrs, err).Attributes {
		values[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	recordAttributes(out, values, targetGroupDefaults(tg))
	var list []string
	health, err := rd.elb.DescribeTargetHealth(rd.t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: &arn})
	for _, h := range must(rd.t, health, err).TargetHealthDescriptions {
		if h.TargetHealth == nil || h.TargetHealth.State != elbtypes.TargetHealthStateEnumDraining {
			list = append(list, rd.targetName(tg, h.Target))
		}
	}
	out["Targets"] = sortedStrings(list)
	rd.out.put(targetGroupsSection, key, out)
}

// targetName returns the name, the port and the Availability Zone of a target. All pods have the name "pod".
func (rd *reader) targetName(tg elbtypes.TargetGroup, d *elbtypes.TargetDescription) string {
	name := rd.names.nameOf(aws.ToString(d.Id))
	if tg.TargetType == elbtypes.TargetTypeEnumIp {
		name = "pod"
	}
	zone := aws.ToString(d.AvailabilityZone)
	if zone != "all" {
		zone = "" // AWS determines the zone of addresses inside the VPC
	}
	return name + ":" + recordedPort(aws.ToInt32(d.Port)) + ":" + zone
}

// recordAttributes adds the attributes that differ from the defaults to out.
func recordAttributes(out map[string]any, have, defaults map[string]string) {
	set := map[string]any{}
	for k, v := range have {
		if v != defaults[k] {
			set[k] = v
		}
	}
	if len(set) > 0 {
		out["Attributes"] = set
	}
}

// The functions below return the default attributes of AWS. Other attributes are empty by default.

func targetGroupDefaults(tg elbtypes.TargetGroup) map[string]string {
	out := map[string]string{
		"deregistration_delay.timeout_seconds":                "300",
		"deregistration_delay.connection_termination.enabled": "false",
		"stickiness.enabled":                                  "false",
		"stickiness.type":                                     "lb_cookie",
		"stickiness.lb_cookie.duration_seconds":               "86400",
		"stickiness.app_cookie.duration_seconds":              "86400",
		"slow_start.duration_seconds":                         "0",
		"load_balancing.algorithm.type":                       "round_robin",
		"load_balancing.algorithm.anomaly_mitigation":         "off",
		"load_balancing.cross_zone.enabled":                   "use_load_balancer_configuration",
		"proxy_protocol_v2.enabled":                           "false",
		"preserve_client_ip.enabled":                          "true",

		"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",

		"target_health_state.unhealthy.connection_termination.enabled": "true",
		"target_health_state.unhealthy.draining_interval_seconds":      "0",
	}
	switch tg.Protocol {
	case elbtypes.ProtocolEnumHttp, elbtypes.ProtocolEnumHttps:
	default:
		out["stickiness.type"] = "source_ip"
		if tg.TargetType == elbtypes.TargetTypeEnumIp && (tg.Protocol == elbtypes.ProtocolEnumTcp || tg.Protocol == elbtypes.ProtocolEnumTls) {
			out["preserve_client_ip.enabled"] = "false"
		}
	}
	switch tg.Protocol {
	case elbtypes.ProtocolEnumUdp, elbtypes.ProtocolEnumTcpUdp:
		out["deregistration_delay.connection_termination.enabled"] = "true"
		out["target_health_state.unhealthy.connection_termination.enabled"] = "false"
	}
	return out
}

func loadBalancerDefaults(lb elbtypes.LoadBalancer) map[string]string {
	alb := lb.Type == elbtypes.LoadBalancerTypeEnumApplication
	internal := lb.Scheme == elbtypes.LoadBalancerSchemeEnumInternal
	return map[string]string{
		"deletion_protection.enabled":       "false",
		"access_logs.s3.enabled":            "false",
		"connection_logs.s3.enabled":        "false",
		"health_check_logs.s3.enabled":      "false",
		"load_balancing.cross_zone.enabled": strconv.FormatBool(alb),
		"ipv6.deny_all_igw_traffic":         strconv.FormatBool(internal),
		"zonal_shift.config.enabled":        "false",
		"idle_timeout.timeout_seconds":      "60",
		"client_keep_alive.seconds":         "3600",

		"routing.http.desync_mitigation_mode":                      "defensive",
		"routing.http.drop_invalid_header_fields.enabled":          "false",
		"routing.http.preserve_host_header.enabled":                "false",
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "false",
		"routing.http.xff_client_port.enabled":                     "false",
		"routing.http.xff_header_processing.mode":                  "append",
		"routing.http2.enabled":                                    "true",
		"waf.fail_open.enabled":                                    "false",

		"dns_record.client_routing_policy":       "any_availability_zone",
		"secondary_ips.auto_assigned.per_subnet": "0",
	}
}

func listenerDefaults() map[string]string {
	return map[string]string{
		"tcp.idle_timeout.seconds":             "350",
		"routing.http.response.server.enabled": "true",
	}
}
