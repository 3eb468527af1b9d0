package elbv2

import (
	"slices"
	"strconv"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	attrDeletionProtection = "deletion_protection.enabled"
	attrCrossZone          = "load_balancing.cross_zone.enabled"
	attrDenyIGW            = "ipv6.deny_all_igw_traffic"
	attrZonalShift         = "zonal_shift.config.enabled"
	attrSecondaryIPs       = "secondary_ips.auto_assigned.per_subnet"
)

// loadBalancerAttributes returns the attributes of ALBs and NLBs.
func loadBalancerAttributes() []attribute {
	return []attribute{
		{attrDeletionProtection, "false", checkBoolean},
		{"access_logs.s3.enabled", "false", checkBoolean},
		{"access_logs.s3.bucket", "", acceptAnyText},
		{"access_logs.s3.prefix", "", acceptAnyText},
		{attrCrossZone, "false", checkBoolean},
		{attrDenyIGW, "false", checkBoolean},
		{attrZonalShift, "false", checkBoolean},

		{"idle_timeout.timeout_seconds", "60", checkNumberIn(1, 4000)},
		{"client_keep_alive.seconds", "3600", checkNumberIn(60, 604800)},
		{"connection_logs.s3.enabled", "false", checkBoolean},
		{"connection_logs.s3.bucket", "", acceptAnyText},
		{"connection_logs.s3.prefix", "", acceptAnyText},
		{"health_check_logs.s3.enabled", "false", checkBoolean},
		{"health_check_logs.s3.bucket", "", acceptAnyText},
		{"health_check_logs.s3.prefix", "", acceptAnyText},
		{"routing.http.desync_mitigation_mode", "defensive", checkOneOf("monitor", "defensive", "strictest")},
		{"routing.http.drop_invalid_header_fields.enabled", "false", checkBoolean},
		{"routing.http.preserve_host_header.enabled", "false", checkBoolean},
		{"routing.http.x_amzn_tls_version_and_cipher_suite.enabled", "false", checkBoolean},
		{"routing.http.xff_client_port.enabled", "false", checkBoolean},
		{"routing.http.xff_header_processing.mode", "append", checkOneOf("append", "preserve", "remove")},
		{"routing.http2.enabled", "true", checkBoolean},
		{"waf.fail_open.enabled", "false", checkBoolean},

		{"dns_record.client_routing_policy", "any_availability_zone",
			checkOneOf("any_availability_zone", "availability_zone_affinity", "partial_availability_zone_affinity")},
		{attrSecondaryIPs, "0", checkNumberIn(0, 7)},
	}
}

// loadBalancerAttributeSchema returns the schema with the attributes that load balancers of lb's type have.
func loadBalancerAttributeSchema(lb *store.LoadBalancer) attributeSchema {
	common := []string{
		attrDeletionProtection, "access_logs.s3.enabled", "access_logs.s3.bucket", "access_logs.s3.prefix",
		attrCrossZone, attrDenyIGW, attrZonalShift,
	}
	network := []string{"dns_record.client_routing_policy", attrSecondaryIPs}
	return attributeSchema{
		title:      "Load balancer",
		attributes: loadBalancerAttributes(),
		isSupported: func(key string) bool {
			if slices.Contains(common, key) {
				return true
			}
			return slices.Contains(network, key) != lb.IsALB()
		},
		unsupportedError: func(key string) error {
			return configurationError(store.UnprovenSource, "Load balancer attribute key '%s' is not supported on load balancers with type '%s'", key, lb.Type)
		},
	}
}

// initialLoadBalancerAttributes returns the attributes of a new load balancer.
func initialLoadBalancerAttributes(lb *store.LoadBalancer) map[string]string {
	out := loadBalancerAttributeSchema(lb).initialValues()
	if lb.IsALB() {
		out[attrCrossZone] = "true"
	}
	if lb.Scheme == types.LoadBalancerSchemeEnumInternal {
		out[attrDenyIGW] = "true"
	}
	return out
}

// loadBalancerAttributeList returns the attributes of a load balancer in the form of the API. It omits the attribute
// ipv6.deny_all_igw_traffic if the IP address type of the load balancer is IPv4.
func (s *loadBalancers) loadBalancerAttributeList(lb *store.LoadBalancer) []types.LoadBalancerAttribute {
	var out []types.LoadBalancerAttribute
	for _, k := range store.SortedKeys(lb.Attributes) {
		if k == attrDenyIGW && lb.Addressing == types.IpAddressTypeIpv4 {
			continue
		}
		out = append(out, types.LoadBalancerAttribute{Key: new(k), Value: new(lb.Attributes[k])})
	}
	return store.Shuffle(s.store, out)
}

// DescribeLoadBalancerAttributes returns all attributes of a load balancer.
func (s *loadBalancers) DescribeLoadBalancerAttributes(c *store.Call, in *elb.DescribeLoadBalancerAttributesInput) (*elb.DescribeLoadBalancerAttributesOutput, error) {
	if err := requiredError("loadBalancerArn", in.LoadBalancerArn != nil); err != nil {
		return nil, err
	}
	lb, err := findLoadBalancer(c.Partition.ELB, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	return &elb.DescribeLoadBalancerAttributesOutput{Attributes: s.loadBalancerAttributeList(lb)}, nil
}

// ModifyLoadBalancerAttributes sets attributes of a load balancer. It sets none if it returns an error.
func (s *loadBalancers) ModifyLoadBalancerAttributes(c *store.Call, in *elb.ModifyLoadBalancerAttributesInput) (*elb.ModifyLoadBalancerAttributesOutput, error) {
	settings := make([]attributeSetting, len(in.Attributes))
	for i, a := range in.Attributes {
		settings[i] = attributeSetting{a.Key, a.Value}
	}
	var sh validation
	sh.checkPresent("loadBalancerArn", in.LoadBalancerArn != nil)
	sh.checkPresent("attributes", in.Attributes != nil)
	sh.validateAttributes(settings, 20)
	if err := sh.err(); err != nil {
		return nil, err
	}
	lb, err := findLoadBalancer(c.Partition.ELB, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	next, err := loadBalancerAttributeSchema(lb).merge(lb.Attributes, settings)
	if err != nil {
		return nil, err
	}
	if err := s.checkLoadBalancerAttributes(lb, next); err != nil {
		return nil, err
	}
	before := lb.Attributes
	lb.Attributes = next
	if err := s.assignAddresses(c.Partition, lb); err != nil {
		lb.Attributes = before
		return nil, err
	}
	return &elb.ModifyLoadBalancerAttributesOutput{Attributes: s.loadBalancerAttributeList(lb)}, nil
}

// checkLoadBalancerAttributes checks rules that involve several attributes, or the current and the new value of an
// attribute. next contains all attributes with their new values.
func (s *loadBalancers) checkLoadBalancerAttributes(lb *store.LoadBalancer, next map[string]string) error {
	if lb.IsALB() && next[attrCrossZone] != "true" {
		return configurationError(store.UnprovenSource, "Cross-zone load balancing cannot be turned off for load balancers with type 'application'")
	}
	for _, log := range []string{"access_logs", "connection_logs", "health_check_logs"} {
		if next[log+".s3.enabled"] != "true" {
			continue
		}
		bucket := next[log+".s3.bucket"]
		if bucket == "" {
			return configurationError(store.UnprovenSource, "The value of '%s.s3.bucket' cannot be empty when '%s.s3.enabled' is 'true'", log, log)
		}
		if slices.Contains(s.store.Config.ELB.DeniedLogBuckets, bucket) {
			return configurationError(store.ReportSource("kubernetes-sigs/aws-load-balancer-controller#1956"), "Access Denied for bucket: %s. Please check S3bucket permission", bucket)
		}
	}
	if n, before := atoi(next[attrSecondaryIPs]), atoi(lb.Attributes[attrSecondaryIPs]); n < before {
		return configurationError(store.UnprovenSource, "The value of '%s' cannot be decreased from '%d' to '%d'", attrSecondaryIPs, before, n)
	}
	return nil
}

// atoi returns the number in s, or 0 if s is not a number. Attribute values are checked before they are stored.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
