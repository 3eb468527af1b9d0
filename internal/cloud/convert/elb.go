package convert

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// LoadBalancerFromAWS converts a load balancer without tags, attributes and listeners, which are
// read separately.
func LoadBalancerFromAWS(lb elbtypes.LoadBalancer) observed.LoadBalancer {
	out := observed.LoadBalancer{
		ARN: aws.ToString(lb.LoadBalancerArn), Name: aws.ToString(lb.LoadBalancerName), Type: loadBalancerType(lb),
		Scheme: schemeFromAWS(lb.Scheme), AddressType: model.AddressType(lb.IpAddressType),
		DNSName: strings.ToLower(aws.ToString(lb.DNSName)), VPC: aws.ToString(lb.VpcId),
		SecurityGroups: slices.Sorted(slices.Values(lb.SecurityGroups)), CoIPPool: aws.ToString(lb.CustomerOwnedIpv4Pool),
		Subnets: SubnetsFromAWS(lb.AvailabilityZones), Addresses: AddressesFromAWS(lb.AvailabilityZones),
	}
	if out.Type == model.Network.String() {
		out.Mappings = SubnetMappingsFromAWS(lb.AvailabilityZones)
		out.SourceNAT = string(lb.EnablePrefixForIpv6SourceNat)
		out.PrivateLinkRules = aws.ToString(lb.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic)
	}
	if lb.State != nil {
		out.State = string(lb.State.Code)
	}
	if lb.IpamPools != nil {
		out.IPAMPool = aws.ToString(lb.IpamPools.Ipv4IpamPoolId)
	}
	return out
}

// loadBalancerType returns the type of a load balancer, or "" if it is not known. If the field Type of AWS has an unknown
// value, the type is taken from the ARN. A wrong type would make the controller replace the load balancer.
func loadBalancerType(lb elbtypes.LoadBalancer) string {
	if slices.Contains(lb.Type.Values(), lb.Type) {
		return string(lb.Type)
	}
	switch _, resource, _ := strings.Cut(aws.ToString(lb.LoadBalancerArn), ":loadbalancer/"); {
	case strings.HasPrefix(resource, "app/"):
		return model.Application.String()
	case strings.HasPrefix(resource, "net/"):
		return model.Network.String()
	}
	return ""
}

// schemeFromAWS returns the scheme of a load balancer, or "" if the value is not known.
func schemeFromAWS(scheme elbtypes.LoadBalancerSchemeEnum) model.Scheme {
	if slices.Contains(scheme.Values(), scheme) {
		return model.Scheme(scheme)
	}
	return ""
}

// SubnetsFromAWS returns the IDs of the subnets of a load balancer, sorted.
func SubnetsFromAWS(zones []elbtypes.AvailabilityZone) []string {
	var out []string
	for _, z := range zones {
		out = append(out, aws.ToString(z.SubnetId))
	}
	slices.Sort(out)
	return out
}

// AddressesFromAWS returns the allocation IDs of the Elastic IP addresses of a load balancer, sorted.
func AddressesFromAWS(zones []elbtypes.AvailabilityZone) []string {
	var out []string
	for _, z := range zones {
		for _, a := range z.LoadBalancerAddresses {
			if a.AllocationId != nil {
				out = append(out, *a.AllocationId)
			}
		}
	}
	slices.Sort(out)
	return out
}

// SubnetMappingsFromAWS returns the subnets of a network load balancer, sorted by ID, each with its first IP address of each
// kind.
func SubnetMappingsFromAWS(zones []elbtypes.AvailabilityZone) []model.SubnetMapping {
	var out []model.SubnetMapping
	for _, z := range zones {
		m := model.SubnetMapping{Subnet: aws.ToString(z.SubnetId)}
		for _, a := range z.LoadBalancerAddresses {
			m.Allocation = cmp.Or(m.Allocation, aws.ToString(a.AllocationId))
			m.PrivateIPv4 = cmp.Or(m.PrivateIPv4, aws.ToString(a.PrivateIPv4Address))
			m.IPv6 = cmp.Or(m.IPv6, aws.ToString(a.IPv6Address))
		}
		if len(z.SourceNatIpv6Prefixes) > 0 {
			m.SourceNATPrefix = z.SourceNatIpv6Prefixes[0]
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b model.SubnetMapping) int { return strings.Compare(a.Subnet, b.Subnet) })
	return out
}

// ListenerFromAWS converts a listener without its rules, additional certificates, tags and attributes. MutualAuth is nil if
// the mode is "off". The trust store settings are set only in mode "verify".
func ListenerFromAWS(l elbtypes.Listener) observed.Listener {
	out := observed.Listener{
		ARN: aws.ToString(l.ListenerArn), Port: aws.ToInt32(l.Port), Protocol: string(l.Protocol),
		Policy: aws.ToString(l.SslPolicy), Default: actionsFromAWS(l.DefaultActions),
	}
	if len(l.AlpnPolicy) > 0 {
		out.ALPN = l.AlpnPolicy[0]
	}
	if len(l.Certificates) > 0 {
		out.Certificate = aws.ToString(l.Certificates[0].CertificateArn)
	}
	if m := l.MutualAuthentication; m != nil && aws.ToString(m.Mode) != "" && aws.ToString(m.Mode) != mutualAuthOff {
		out.MutualAuth = &model.MutualAuth{Mode: aws.ToString(m.Mode)}
		if out.MutualAuth.Mode == mutualAuthVerify {
			out.MutualAuth.TrustStore = aws.ToString(m.TrustStoreArn)
			out.MutualAuth.IgnoreExpiry = m.IgnoreClientCertificateExpiry
			out.MutualAuth.AdvertiseCA = string(m.AdvertiseTrustStoreCaNames)
		}
	}
	return out
}

// Modes of mutual authentication.
const (
	mutualAuthOff    = "off"
	mutualAuthVerify = "verify"
)

// MutualAuthToAWS converts the settings of mutual authentication. It returns nil for nil, so that the field is not sent.
func MutualAuthToAWS(m *model.MutualAuth) *elbtypes.MutualAuthenticationAttributes {
	if m == nil {
		return nil
	}
	out := &elbtypes.MutualAuthenticationAttributes{Mode: aws.String(m.Mode)}
	if m.Mode == mutualAuthVerify {
		out.TrustStoreArn = NilIfEmpty(m.TrustStore)
		out.IgnoreClientCertificateExpiry = m.IgnoreExpiry
		out.AdvertiseTrustStoreCaNames = elbtypes.AdvertiseTrustStoreCaNamesEnum(m.AdvertiseCA)
	}
	return out
}

// TargetGroupFromAWS converts a target group without tags and attributes.
func TargetGroupFromAWS(g elbtypes.TargetGroup) observed.TargetGroup {
	out := observed.TargetGroup{
		ARN: aws.ToString(g.TargetGroupArn), Name: aws.ToString(g.TargetGroupName), Type: model.TargetType(g.TargetType),
		Port: aws.ToInt32(g.Port), Protocol: string(g.Protocol), ProtocolVersion: aws.ToString(g.ProtocolVersion),
		AddressType: model.AddressType(g.IpAddressType), ControlPort: g.TargetControlPort,
		LoadBalancers: slices.Sorted(slices.Values(g.LoadBalancerArns)),
		HealthCheck: model.HealthCheck{
			Port: aws.ToString(g.HealthCheckPort), Protocol: string(g.HealthCheckProtocol), Path: aws.ToString(g.HealthCheckPath),
			IntervalSeconds: aws.ToInt32(g.HealthCheckIntervalSeconds), TimeoutSeconds: aws.ToInt32(g.HealthCheckTimeoutSeconds),
			HealthyThreshold: aws.ToInt32(g.HealthyThresholdCount), UnhealthyThreshold: aws.ToInt32(g.UnhealthyThresholdCount),
		},
	}
	if g.Matcher != nil {
		out.HealthCheck.HTTPCodes = aws.ToString(g.Matcher.HttpCode)
		out.HealthCheck.GRPCCodes = aws.ToString(g.Matcher.GrpcCode)
	}
	return out
}

// MatcherToAWS converts the success codes of a health check. It returns nil if there are none, so that the field is not
// sent.
func MatcherToAWS(h model.HealthCheck) *elbtypes.Matcher {
	if h.HTTPCodes == "" && h.GRPCCodes == "" {
		return nil
	}
	return &elbtypes.Matcher{HttpCode: NilIfEmpty(h.HTTPCodes), GrpcCode: NilIfEmpty(h.GRPCCodes)}
}

// keyValuePair is a type of the SDK that has a key and a value.
type keyValuePair interface {
	elbtypes.Tag | elbtypes.LoadBalancerAttribute | elbtypes.ListenerAttribute | elbtypes.TargetGroupAttribute
}

// PairsToAWS converts the given keys, with their values, to tags or attributes. The result has the order of keys.
func PairsToAWS[P keyValuePair](keys []string, values map[string]string) []P {
	var out []P
	for _, k := range keys {
		out = append(out, P(elbtypes.Tag{Key: aws.String(k), Value: aws.String(values[k])}))
	}
	return out
}

// PairsFromAWS converts tags or attributes. The result is never nil, because nil means that they were not read.
func PairsFromAWS[P keyValuePair](pairs []P) map[string]string {
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		t := elbtypes.Tag(p)
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

// TagsToAWS converts tags. The result is sorted by key.
func TagsToAWS(tags map[string]string) []elbtypes.Tag {
	return PairsToAWS[elbtypes.Tag](slices.Sorted(maps.Keys(tags)), tags)
}
