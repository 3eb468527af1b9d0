package settings

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// AttributeKeys are the attribute keys that AWS documents for a kind of resource. AWS adds keys over time. So an unknown key
// is reported only if it is similar to a known key, because then it is probably a spelling mistake.
type AttributeKeys []string

// The attribute keys of each kind of resource.
var (
	ALBAttributeKeys = append(AttributeKeys{
		"client_keep_alive.seconds",
		"connection_logs.s3.bucket", "connection_logs.s3.enabled", "connection_logs.s3.prefix",
		"health_check_logs.s3.bucket", "health_check_logs.s3.enabled", "health_check_logs.s3.prefix",
		"idle_timeout.timeout_seconds",
		"routing.http.desync_mitigation_mode",
		"routing.http.drop_invalid_header_fields.enabled",
		"routing.http.preserve_host_header.enabled",
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled",
		"routing.http.xff_client_port.enabled",
		"routing.http.xff_header_processing.mode",
		"routing.http2.enabled",
		"waf.fail_open.enabled",
	}, loadBalancerAttributeKeys...)
	NLBAttributeKeys = append(AttributeKeys{
		"dns_record.client_routing_policy",
		"secondary_ips.auto_assigned.per_subnet",
	}, loadBalancerAttributeKeys...)
	loadBalancerAttributeKeys = AttributeKeys{
		"access_logs.s3.bucket", "access_logs.s3.enabled", "access_logs.s3.prefix",
		"deletion_protection.enabled",
		"ipv6.deny_all_igw_traffic",
		"load_balancing.cross_zone.enabled",
		"zonal_shift.config.enabled",
	}
	ListenerAttributeKeys = AttributeKeys{
		"routing.http.request.x_amzn_mtls_clientcert.header_name",
		"routing.http.request.x_amzn_mtls_clientcert_issuer.header_name",
		"routing.http.request.x_amzn_mtls_clientcert_leaf.header_name",
		"routing.http.request.x_amzn_mtls_clientcert_serial_number.header_name",
		"routing.http.request.x_amzn_mtls_clientcert_subject.header_name",
		"routing.http.request.x_amzn_mtls_clientcert_validity.header_name",
		"routing.http.request.x_amzn_tls_cipher_suite.header_name",
		"routing.http.request.x_amzn_tls_version.header_name",
		"routing.http.response.access_control_allow_credentials.header_value",
		"routing.http.response.access_control_allow_headers.header_value",
		"routing.http.response.access_control_allow_methods.header_value",
		"routing.http.response.access_control_allow_origin.header_value",
		"routing.http.response.access_control_expose_headers.header_value",
		"routing.http.response.access_control_max_age.header_value",
		"routing.http.response.content_security_policy.header_value",
		"routing.http.response.server.enabled",
		"routing.http.response.strict_transport_security.header_value",
		"routing.http.response.x_content_type_options.header_value",
		"routing.http.response.x_frame_options.header_value",
		"tcp.idle_timeout.seconds",
	}
	TargetGroupAttributeKeys = AttributeKeys{
		"deregistration_delay.connection_termination.enabled",
		"deregistration_delay.timeout_seconds",
		"load_balancing.algorithm.anomaly_mitigation",
		"load_balancing.algorithm.type",
		"load_balancing.cross_zone.enabled",
		"preserve_client_ip.enabled",
		"proxy_protocol_v2.enabled",
		"slow_start.duration_seconds",
		"stickiness.app_cookie.cookie_name",
		"stickiness.app_cookie.duration_seconds",
		"stickiness.enabled",
		"stickiness.lb_cookie.duration_seconds",
		"stickiness.type",
		"target_group_health.dns_failover.minimum_healthy_targets.count",
		"target_group_health.dns_failover.minimum_healthy_targets.percentage",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage",
		"target_health_state.unhealthy.connection_termination.enabled",
		"target_health_state.unhealthy.draining_interval_seconds",
	}
)

// attributeKeysByRow has the attribute keys that are valid in an annotation, by the key of its row.
var attributeKeysByRow = map[string]AttributeKeys{
	"load-balancer-attributes":            ALBAttributeKeys,
	"frontend-nlb-attributes":             NLBAttributeKeys,
	"listener-attributes.<protocol-port>": ListenerAttributeKeys,
	"target-group-attributes":             TargetGroupAttributeKeys,

	"aws-load-balancer-attributes":                          NLBAttributeKeys,
	"aws-load-balancer-listener-attributes.<protocol-port>": ListenerAttributeKeys,
	"aws-load-balancer-target-group-attributes":             TargetGroupAttributeKeys,
	"aws-load-balancer-target-group-attributes.<port>":      TargetGroupAttributeKeys,
}

// maxMistypedKeys is the maximum number of unknown keys that are checked for spelling mistakes in one map of attributes.
const maxMistypedKeys = 10

// FindProbableMistakes returns findings about attribute keys that are probably spelling mistakes. reason is the reason of
// the findings. field is the annotation or the configuration field with the attributes.
func (known AttributeKeys) FindProbableMistakes(attributes map[string]string, object finding.Ref, field string, reason finding.Reason) finding.List {
	var found finding.List
	unknown := 0
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		if slices.Contains(known, key) {
			continue
		}
		if unknown++; unknown > maxMistypedKeys {
			break
		}
		if near := finding.NearestWord(key, known); near != "" {
			found.Add(finding.Finding{
				Object: object, Field: field, Reason: reason,
				Message: fmt.Sprintf("attribute key %q is not one that AWS documents (did you mean %q?); AWS refuses the keys that it does not know", key, near),
				Fix:     "correct the key",
			})
		}
	}
	return found
}

// findAttributeMistakes returns findings about attribute keys in annotations that are probably spelling mistakes.
func (a Annotations) findAttributeMistakes(annotations map[string]string, object finding.Ref) finding.List {
	var found finding.List
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		r, _ := a.Row(k)
		known, has := attributeKeysByRow[r.Key]
		if !has {
			continue
		}
		if attributes, err := ParseMap(annotations[k]); err == nil {
			found.Add(known.FindProbableMistakes(attributes, object, k, finding.AnnotationInvalid)...)
		}
	}
	return found
}
