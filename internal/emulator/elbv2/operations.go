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
		wire.NewOperation("CreateLoadBalancer", s.CreateLoadBalancer, h("Name", "CustomerOwnedIpv4Pool", "EnablePrefixForIpv6SourceNat",
			"IpAddressType", "IpamPools", "Scheme", "SecurityGroups", "SubnetMappings", "Subnets", "Tags", "Type")),
		wire.NewOperation("DescribeLoadBalancers", s.DescribeLoadBalancers, h("LoadBalancerArns", "Names", memberMarker, memberPageSize)),
		wire.NewOperation("DeleteLoadBalancer", s.DeleteLoadBalancer, h("LoadBalancerArn")),
		wire.NewOperation("DescribeLoadBalancerAttributes", s.DescribeLoadBalancerAttributes, h("LoadBalancerArn")),
		wire.NewOperation("ModifyLoadBalancerAttributes", s.ModifyLoadBalancerAttributes, h("LoadBalancerArn", "Attributes")),
		wire.NewOperation("SetSubnets", s.SetSubnets, h("LoadBalancerArn", "EnablePrefixForIpv6SourceNat", "IpAddressType", "SubnetMappings", "Subnets")),
		wire.NewOperation("SetSecurityGroups", s.SetSecurityGroups, h("LoadBalancerArn", "SecurityGroups", "EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic")),
		wire.NewOperation("SetIpAddressType", s.SetIpAddressType, h("LoadBalancerArn", "IpAddressType")),
		wire.NewOperation("ModifyIpPools", s.ModifyIpPools, h("LoadBalancerArn", "IpamPools", "RemoveIpamPools")),
		wire.NewOperation("DescribeCapacityReservation", s.DescribeCapacityReservation, h("LoadBalancerArn")),
		wire.NewOperation("ModifyCapacityReservation", s.ModifyCapacityReservation, h("LoadBalancerArn", "MinimumLoadBalancerCapacity", "ResetCapacityReservation")),

		wire.NewOperation("CreateTargetGroup", s.CreateTargetGroup, h("Name", "HealthCheckEnabled", "HealthCheckIntervalSeconds", "HealthCheckPath",
			"HealthCheckPort", "HealthCheckProtocol", "HealthCheckTimeoutSeconds", "HealthyThresholdCount", "IpAddressType", "Matcher",
			"Port", "Protocol", "ProtocolVersion", "Tags", "TargetControlPort", "TargetType", "UnhealthyThresholdCount", "VpcId")),
		wire.NewOperation("DescribeTargetGroups", s.DescribeTargetGroups, h("LoadBalancerArn", "Names", "TargetGroupArns", memberMarker, memberPageSize)),
		wire.NewOperation("ModifyTargetGroup", s.ModifyTargetGroup, h("TargetGroupArn", "HealthCheckEnabled", "HealthCheckIntervalSeconds", "HealthCheckPath",
			"HealthCheckPort", "HealthCheckProtocol", "HealthCheckTimeoutSeconds", "HealthyThresholdCount", "Matcher", "UnhealthyThresholdCount")),
		wire.NewOperation("DeleteTargetGroup", s.DeleteTargetGroup, h("TargetGroupArn")),
		wire.NewOperation("DescribeTargetGroupAttributes", s.DescribeTargetGroupAttributes, h("TargetGroupArn")),
		wire.NewOperation("ModifyTargetGroupAttributes", s.ModifyTargetGroupAttributes, h("TargetGroupArn", "Attributes")),
		wire.NewOperation("RegisterTargets", s.RegisterTargets, h("TargetGroupArn", "Targets")),
		wire.NewOperation("DeregisterTargets", s.DeregisterTargets, h("TargetGroupArn", "Targets")),
		wire.NewOperation("DescribeTargetHealth", s.DescribeTargetHealth, h("TargetGroupArn", "Include", "Targets")),

		wire.NewOperation("CreateListener", s.CreateListener, h("LoadBalancerArn", "DefaultActions", "AlpnPolicy", "Certificates",
			"MutualAuthentication", "Port", "Protocol", "SslPolicy", "Tags")),
		wire.NewOperation("DescribeListeners", s.DescribeListeners, h("ListenerArns", "LoadBalancerArn", memberMarker, memberPageSize)),
		wire.NewOperation("ModifyListener", s.ModifyListener, h("ListenerArn", "DefaultActions", "AlpnPolicy", "Certificates",
			"MutualAuthentication", "Port", "Protocol", "SslPolicy")),
		wire.NewOperation("DeleteListener", s.DeleteListener, h("ListenerArn")),
		wire.NewOperation("DescribeListenerAttributes", s.DescribeListenerAttributes, h("ListenerArn")),
		wire.NewOperation("ModifyListenerAttributes", s.ModifyListenerAttributes, h("ListenerArn", "Attributes")),
		wire.NewOperation("DescribeListenerCertificates", s.DescribeListenerCertificates, h("ListenerArn", memberMarker, memberPageSize)),
		wire.NewOperation("AddListenerCertificates", s.AddListenerCertificates, h("ListenerArn", "Certificates")),
		wire.NewOperation("RemoveListenerCertificates", s.RemoveListenerCertificates, h("ListenerArn", "Certificates")),

		wire.NewOperation("CreateRule", s.CreateRule, h("ListenerArn", "Actions", "Conditions", "Priority", "Tags", "Transforms")),
		wire.NewOperation("DescribeRules", s.DescribeRules, h("ListenerArn", "RuleArns", memberMarker, memberPageSize)),
		wire.NewOperation("ModifyRule", s.ModifyRule, h("RuleArn", "Actions", "Conditions", "ResetTransforms", "Transforms")),
		wire.NewOperation("DeleteRule", s.DeleteRule, h("RuleArn")),
		wire.NewOperation("SetRulePriorities", s.SetRulePriorities, h("RulePriorities")),

		wire.NewOperation("AddTags", s.AddTags, h("ResourceArns", "Tags")),
		wire.NewOperation("RemoveTags", s.RemoveTags, h("ResourceArns", "TagKeys")),
		wire.NewOperation("DescribeTags", s.DescribeTags, h("ResourceArns")),

		wire.NewOperation("CreateTrustStore", s.CreateTrustStore, h("Name", "CaCertificatesBundleS3Bucket", "CaCertificatesBundleS3Key",
			"CaCertificatesBundleS3ObjectVersion", "Tags")),
		wire.NewOperation("ModifyTrustStore", s.ModifyTrustStore, h("TrustStoreArn", "CaCertificatesBundleS3Bucket", "CaCertificatesBundleS3Key",
			"CaCertificatesBundleS3ObjectVersion")),
		wire.NewOperation("DeleteTrustStore", s.DeleteTrustStore, h("TrustStoreArn")),
		wire.NewOperation("DescribeTrustStores", s.DescribeTrustStores, h("Names", "TrustStoreArns", memberMarker, memberPageSize)),
		wire.NewOperation("DescribeTrustStoreAssociations", s.DescribeTrustStoreAssociations, h("TrustStoreArn", memberMarker, memberPageSize)),
		wire.NewOperation("AddTrustStoreRevocations", s.AddTrustStoreRevocations, h("TrustStoreArn", "RevocationContents")),
		wire.NewOperation("DescribeTrustStoreRevocations", s.DescribeTrustStoreRevocations, h("TrustStoreArn", "RevocationIds", memberMarker, memberPageSize)),

		wire.NewOperation("DescribeSSLPolicies", s.DescribeSSLPolicies, h("LoadBalancerType", "Names", memberMarker, memberPageSize)),
		wire.NewOperation("DescribeAccountLimits", s.DescribeAccountLimits, h(memberMarker, memberPageSize)),
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
