package naming

import (
	"cmp"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// settingNames has the names of settings in the objects of one kind of stack. Settings are identified by their names in
// Ingresses, which are annotations without prefix.
type settingNames struct {
	// prefix is the prefix of the annotations; "" if the settings are fields.
	prefix string
	// exceptions maps the name of a setting in Ingresses to its name in these objects, if the two differ. A name with a
	// slash is an annotation with its own prefix; a name that begins with "spec." is a field.
	exceptions map[string]string
}

var settingNamesByKind = map[model.Kind]settingNames{
	model.Ingress: {prefix: "alb.ingress.kubernetes.io/"},
	model.Service: {prefix: "service.beta.kubernetes.io/aws-load-balancer-", exceptions: map[string]string{
		"group.name":                   "fulcrum.dev/load-balancer-group",
		"actions":                      "service.beta.kubernetes.io/actions",
		"load-balancer-name":           "name",
		"load-balancer-attributes":     "attributes",
		"inbound-cidrs":                "spec.loadBalancerSourceRanges",
		"listen-ports":                 "spec.ports",
		"tags":                         "additional-resource-tags",
		"certificate-arn":              "ssl-cert",
		"ssl-policy":                   "ssl-negotiation-policy",
		"target-type":                  "nlb-target-type",
		"success-codes":                "healthcheck-success-codes",
		"healthy-threshold-count":      "healthcheck-healthy-threshold",
		"unhealthy-threshold-count":    "healthcheck-unhealthy-threshold",
		"healthcheck-interval-seconds": "healthcheck-interval",
		"healthcheck-timeout-seconds":  "healthcheck-timeout",
		"frontend-nlb-eip-allocations": "eip-allocations",
	}},
	model.ALBGateway: {exceptions: gatewaySettings},
	model.NLBGateway: {exceptions: gatewaySettings},
}

// gatewaySettings maps names of settings in Ingresses to fields of Gateways, LoadBalancerConfigurations and
// TargetGroupConfigurations.
var gatewaySettings = map[string]string{
	"load-balancer-name":                       "loadBalancerName",
	"ip-address-type":                          "ipAddressType",
	"subnets":                                  "loadBalancerSubnets",
	"security-groups":                          "securityGroups",
	"manage-backend-security-group-rules":      "manageBackendSecurityGroupRules",
	"customer-owned-ipv4-pool":                 "customerOwnedIpv4Pool",
	"ipam-ipv4-pool-id":                        "ipv4IPAMPoolId",
	"load-balancer-attributes":                 "loadBalancerAttributes",
	"minimum-load-balancer-capacity":           "minimumLoadBalancerCapacity",
	"inbound-cidrs":                            "sourceRanges",
	"security-group-prefix-lists":              "securityGroupPrefixes",
	"listen-ports":                             "spec.listeners",
	"certificate-arn":                          "defaultCertificate",
	"ssl-policy":                               "sslPolicy",
	"mutual-authentication":                    "mutualAuthentication",
	"listener-attributes":                      "listenerAttributes",
	"wafv2-acl-arn":                            "wafV2.webACL",
	"shield-advanced-protection":               "shieldConfiguration.enabled",
	"disable-nlb-sg":                           "disableSecurityGroup",
	"eip-allocations":                          "eipAllocation",
	"private-ipv4-addresses":                   "privateIPv4Allocation",
	"ipv6-addresses":                           "ipv6Allocation",
	"source-nat-ipv6-prefixes":                 "sourceNatIPv6Prefix",
	"enable-prefix-for-ipv6-source-nat":        "sourceNatIPv6Prefix",
	"inbound-sg-rules-on-private-link-traffic": "enforceSecurityGroupInboundRulesOnPrivateLinkTraffic",
	"target-type":                              "targetType",
	"target-group-attributes":                  "targetGroupAttributes",
	"backend-protocol":                         "protocol",
	"backend-protocol-version":                 "protocolVersion",
	"healthcheck-port":                         "healthCheckPort",
	"healthcheck-protocol":                     "healthCheckProtocol",
	"healthcheck-path":                         "healthCheckPath",
	"healthcheck-interval-seconds":             "healthCheckInterval",
	"healthcheck-timeout-seconds":              "healthCheckTimeout",
	"healthy-threshold-count":                  "healthyThresholdCount",
	"unhealthy-threshold-count":                "unhealthyThresholdCount",
	"success-codes":                            "matcher",
}

// SettingName returns the name of a setting in the objects of a kind of stack, without the prefix of annotations. setting is
// the name of the setting in Ingresses.
func SettingName(kind model.Kind, setting string) string {
	return cmp.Or(settingNamesByKind[kind].exceptions[setting], setting)
}

// SettingField returns the field or annotation of a setting in the objects of a kind of stack. setting is the name of the
// setting in Ingresses.
func SettingField(kind model.Kind, setting string) string {
	name := SettingName(kind, setting)
	if strings.HasPrefix(name, "spec.") || strings.Contains(name, "/") {
		return name
	}
	return settingNamesByKind[kind].prefix + name
}
