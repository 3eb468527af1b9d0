package elbv2

import (
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// Request members of every paginated operation.
const (
	memberMarker   = "Marker"
	memberPageSize = "PageSize"
)

// Operations returns the operations of the service, with the request members that each operation supports.
func (s *Service) Operations() []wire.Operation {
	h := wire.HandledMembers
	return []wire.Operation{
		wire.Op("CreateLoadBalancer", s.CreateLoadBalancer, h("Name", "CustomerOwnedIpv4Pool", "EnablePrefixForIpv6SourceNat",
			"IpAddressType", "IpamPools", "Scheme", "SecurityGroups", "SubnetMappings", "Subnets", "Tags", "Type")),
		wire.Op("DescribeLoadBalancers", s.DescribeLoadBalancers, h("LoadBalancerArns", "Names", memberMarker, memberPageSize)),
		wire.Op("DeleteLoadBalancer", s.DeleteLoadBalancer, h("LoadBalancerArn")),
		wire.Op("DescribeLoadBalancerAttributes", s.DescribeLoadBalancerAttributes, h("LoadBalancerArn")),
		wire.Op("ModifyLoadBalancerAttributes", s.ModifyLoadBalancerAttributes, h("LoadBalancerArn", "Attributes")),
		wire.Op("SetSubnets", s.SetSubnets, h("LoadBalancerArn", "EnablePrefixForIpv6SourceNat", "IpAddressType", "SubnetMappings", "Subnets")),
		wire.Op("SetSecurityGroups", s.SetSecurityGroups, h("LoadBalancerArn", "SecurityGroups", "EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic")),
		wire.Op("SetIpAddressType", s.SetIpAddressType, h("LoadBalancerArn", "IpAddressType")),
		wire.Op("ModifyIpPools", s.ModifyIpPools, h("LoadBalancerArn", "IpamPools", "RemoveIpamPools")),
		wire.Op("DescribeCapacityReservation", s.DescribeCapacityReservation, h("LoadBalancerArn")),
		wire.Op("ModifyCapacityReservation", s.ModifyCapacityReservation, h("LoadBalancerArn", "MinimumLoadBalancerCapacity", "ResetCapacityReservation")),

		wire.Op("CreateTargetGroup", s.CreateTargetGroup, h("Name", "HealthCheckEnabled", "HealthCheckIntervalSeconds", "HealthCheckPath",
			"HealthCheckPort", "HealthCheckProtocol", "HealthCheckTimeoutSeconds", "HealthyThresholdCount", "IpAddressType", "Matcher",
			"Port", "Protocol", "ProtocolVersion", "Tags", "TargetControlPort", "TargetType", "UnhealthyThresholdCount", "VpcId")),
		wire.Op("DescribeTargetGroups", s.DescribeTargetGroups, h("LoadBalancerArn", "Names", "TargetGroupArns", memberMarker, memberPageSize)),
		wire.Op("ModifyTargetGroup", s.ModifyTargetGroup, h("TargetGroupArn", "HealthCheckEnabled", "HealthCheckIntervalSeconds", "HealthCheckPath",
			"HealthCheckPort", "HealthCheckProtocol", "HealthCheckTimeoutSeconds", "HealthyThresholdCount", "Matcher", "UnhealthyThresholdCount")),
		wire.Op("DeleteTargetGroup", s.DeleteTargetGroup, h("TargetGroupArn")),
		wire.Op("DescribeTargetGroupAttributes", s.DescribeTargetGroupAttributes, h("TargetGroupArn")),
		wire.Op("ModifyTargetGroupAttributes", s.ModifyTargetGroupAttributes, h("TargetGroupArn", "Attributes")),
		wire.Op("RegisterTargets", s.RegisterTargets, h("TargetGroupArn", "Targets")),
		wire.Op("DeregisterTargets", s.DeregisterTargets, h("TargetGroupArn", "Targets")),
		wire.Op("DescribeTargetHealth", s.DescribeTargetHealth, h("TargetGroupArn", "Include", "Targets")),

		wire.Op("CreateListener", s.CreateListener, h("LoadBalancerArn", "DefaultActions", "AlpnPolicy", "Certificates",
			"MutualAuthentication", "Port", "Protocol", "SslPolicy", "Tags")),
		wire.Op("DescribeListeners", s.DescribeListeners, h("ListenerArns", "LoadBalancerArn", memberMarker, memberPageSize)),
		wire.Op("ModifyListener", s.ModifyListener, h("ListenerArn", "DefaultActions", "AlpnPolicy", "Certificates",
			"MutualAuthentication", "Port", "Protocol", "SslPolicy")),
		wire.Op("DeleteListener", s.DeleteListener, h("ListenerArn")),
		wire.Op("DescribeListenerAttributes", s.DescribeListenerAttributes, h("ListenerArn")),
		wire.Op("ModifyListenerAttributes", s.ModifyListenerAttributes, h("ListenerArn", "Attributes")),
		wire.Op("DescribeListenerCertificates", s.DescribeListenerCertificates, h("ListenerArn", memberMarker, memberPageSize)),
		wire.Op("AddListenerCertificates", s.AddListenerCertificates, h("ListenerArn", "Certificates")),
		wire.Op("RemoveListenerCertificates", s.RemoveListenerCertificates, h("ListenerArn", "Certificates")),

		wire.Op("CreateRule", s.CreateRule, h("ListenerArn", "Actions", "Conditions", "Priority", "Tags", "Transforms")),
		wire.Op("DescribeRules", s.DescribeRules, h("ListenerArn", "RuleArns", memberMarker, memberPageSize)),
		wire.Op("ModifyRule", s.ModifyRule, h("RuleArn", "Actions", "Conditions", "ResetTransforms", "Transforms")),
		wire.Op("DeleteRule", s.DeleteRule, h("RuleArn")),
		wire.Op("SetRulePriorities", s.SetRulePriorities, h("RulePriorities")),

		wire.Op("AddTags", s.AddTags, h("ResourceArns", "Tags")),
		wire.Op("RemoveTags", s.RemoveTags, h("ResourceArns", "TagKeys")),
		wire.Op("DescribeTags", s.DescribeTags, h("ResourceArns")),

		wire.Op("CreateTrustStore", s.CreateTrustStore, h("Name", "CaCertificatesBundleS3Bucket", "CaCertificatesBundleS3Key",
			"CaCertificatesBundleS3ObjectVersion", "Tags")),
		wire.Op("ModifyTrustStore", s.ModifyTrustStore, h("TrustStoreArn", "CaCertificatesBundleS3Bucket", "CaCertificatesBundleS3Key",
			"CaCertificatesBundleS3ObjectVersion")),
		wire.Op("DeleteTrustStore", s.DeleteTrustStore, h("TrustStoreArn")),
		wire.Op("DescribeTrustStores", s.DescribeTrustStores, h("Names", "TrustStoreArns", memberMarker, memberPageSize)),
		wire.Op("DescribeTrustStoreAssociations", s.DescribeTrustStoreAssociations, h("TrustStoreArn", memberMarker, memberPageSize)),
		wire.Op("AddTrustStoreRevocations", s.AddTrustStoreRevocations, h("TrustStoreArn", "RevocationContents")),
		wire.Op("DescribeTrustStoreRevocations", s.DescribeTrustStoreRevocations, h("TrustStoreArn", "RevocationIds", memberMarker, memberPageSize)),

		wire.Op("DescribeSSLPolicies", s.DescribeSSLPolicies, h("LoadBalancerType", "Names", memberMarker, memberPageSize)),
		wire.Op("DescribeAccountLimits", s.DescribeAccountLimits, h(memberMarker, memberPageSize)),
	}
}

// TaggedResources returns the load balancers, target groups, listeners, rules and trust stores for the Resource Groups
// Tagging API.
func (s *Service) TaggedResources(p *store.Partition) []store.TaggedResource {
	var out []store.TaggedResource
	add := func(kind, arn string, tags map[string]string) {
		out = append(out, store.TaggedResource{ARN: arn, Type: "elasticloadbalancing:" + kind, Tags: tags})
	}
	for _, r := range sortedValues(p.ELB.LoadBalancers) {
		add("loadbalancer", r.ARN, r.Tags)
	}
	for _, r := range sortedValues(p.ELB.TargetGroups) {
		add("targetgroup", r.ARN, r.Tags)
	}
	for _, r := range sortedValues(p.ELB.Listeners) {
		add("listener", r.ARN, r.Tags)
	}
	for _, r := range sortedValues(p.ELB.Rules) {
		add("listener-rule", r.ARN, r.Tags)
	}
	for _, r := range sortedValues(p.ELB.TrustStores) {
		add("truststore", r.ARN, r.Tags)
	}
	return out
}
