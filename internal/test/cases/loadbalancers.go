package cases

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	shieldtypes "github.com/aws/aws-sdk-go-v2/service/shield/types"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	wafv2types "github.com/aws/aws-sdk-go-v2/service/wafv2/types"
)

// recordLoadBalancer records a load balancer of the controller, with its listeners and rules.
func (rd *reader) recordLoadBalancer(lb elbtypes.LoadBalancer) {
	rd.t.Helper()
	arn := aws.ToString(lb.LoadBalancerArn)
	key := stackKey(rd.tags[arn])
	if key == "" {
		return
	}
	out := map[string]any{
		"Name": nameWithoutUIDHash(aws.ToString(lb.LoadBalancerName), rd.tags[arn]), "Type": string(lb.Type), "Scheme": string(lb.Scheme),
		"IpAddressType": string(lb.IpAddressType), "Tags": DecodedJSON(rd.t, rd.tags[arn]),
	}
	if v := lb.EnablePrefixForIpv6SourceNat; v != "" && v != elbtypes.EnablePrefixForIpv6SourceNatEnumOff {
		out["EnablePrefixForIpv6SourceNat"] = string(v)
	}
	var zones []string
	var fixed []any
	for _, z := range lb.AvailabilityZones {
		subnet := rd.names.nameOf(aws.ToString(z.SubnetId))
		zones = append(zones, subnet)
		for _, a := range z.LoadBalancerAddresses {
			address := toPlainMap(rd.t, map[string]any{
				"AllocationId": rd.names.nameOf(aws.ToString(a.AllocationId)), "PrivateIPv4Address": a.PrivateIPv4Address, "IPv6Address": a.IPv6Address,
			})
			if len(address) > 0 {
				address["SubnetId"] = subnet
				fixed = append(fixed, address)
			}
		}
	}
	out["AvailabilityZones"] = sortedStrings(zones)
	if len(fixed) > 0 {
		out["FixedAddresses"] = sortByJSON(fixed)
	}
	var groups []string
	for _, id := range lb.SecurityGroups {
		groups = append(groups, rd.names.nameOf(id))
	}
	if len(groups) > 0 || lb.Type == elbtypes.LoadBalancerTypeEnumNetwork {
		out["SecurityGroups"] = sortedStrings(groups)
	}
	attrs, err := rd.elb.DescribeLoadBalancerAttributes(rd.t.Context(), &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &arn})
	values := map[string]string{}
	for _, a := range must(rd.t, attrs, err).Attributes {
		values[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	recordAttributes(out, values, loadBalancerDefaults(lb))
	rd.recordCapacity(arn, out)
	rd.recordAddOns(arn, lb, out)
	out["Listeners"] = rd.listeners(arn, lb)
	rd.out.put(loadBalancersSection, key, out)
}

func (rd *reader) recordCapacity(arn string, out map[string]any) {
	rd.t.Helper()
	c, err := rd.elb.DescribeCapacityReservation(rd.t.Context(), &elb.DescribeCapacityReservationInput{LoadBalancerArn: &arn})
	if m := must(rd.t, c, err).MinimumLoadBalancerCapacity; m != nil && aws.ToInt32(m.CapacityUnits) > 0 {
		out["MinimumLoadBalancerCapacity"] = toPlain(rd.t, m)
	}
}

// recordAddOns adds the web ACL and the Shield protection of a load balancer to out.
func (rd *reader) recordAddOns(arn string, lb elbtypes.LoadBalancer, out map[string]any) {
	rd.t.Helper()
	if lb.Type == elbtypes.LoadBalancerTypeEnumApplication {
		acl, err := rd.wafv2.GetWebACLForResource(rd.t.Context(), &wafv2.GetWebACLForResourceInput{ResourceArn: &arn})
		var none *wafv2types.WAFNonexistentItemException
		if !errors.As(err, &none) && must(rd.t, acl, err).WebACL != nil {
			out["WebACL"] = rd.names.nameOf(aws.ToString(acl.WebACL.ARN))
		}
	}
	_, err := rd.shield.DescribeProtection(rd.t.Context(), &shield.DescribeProtectionInput{ResourceArn: &arn})
	var none *shieldtypes.ResourceNotFoundException
	switch {
	case err == nil:
		out["Shield"] = true
	case !errors.As(err, &none):
		rd.t.Fatal(err)
	}
}

func (rd *reader) listeners(arn string, lb elbtypes.LoadBalancer) map[string]any {
	rd.t.Helper()
	out := map[string]any{}
	pages := elb.NewDescribeListenersPaginator(rd.elb, &elb.DescribeListenersInput{LoadBalancerArn: &arn})
	var list []elbtypes.Listener
	var arns []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(rd.t.Context())
		for _, l := range must(rd.t, page, err).Listeners {
			list = append(list, l)
			arns = append(arns, aws.ToString(l.ListenerArn))
		}
	}
	rd.readTags(arns)
	for _, l := range list {
		out[fmt.Sprintf("%s:%d", l.Protocol, aws.ToInt32(l.Port))] = rd.listener(l, lb)
	}
	return out
}

func (rd *reader) listener(l elbtypes.Listener, lb elbtypes.LoadBalancer) map[string]any {
	rd.t.Helper()
	arn := aws.ToString(l.ListenerArn)
	out := toPlainMap(rd.t, map[string]any{
		"Port": l.Port, "Protocol": l.Protocol, "SslPolicy": l.SslPolicy, "AlpnPolicy": l.AlpnPolicy, "Tags": rd.tags[arn],
	})
	out["DefaultActions"] = rd.actions(l.DefaultActions)
	if m := l.MutualAuthentication; m != nil && aws.ToString(m.Mode) != "off" {
		out["MutualAuthentication"] = toPlain(rd.t, m)
	}
	if len(l.Certificates) > 0 {
		out["DefaultCertificate"] = rd.names.nameOf(aws.ToString(l.Certificates[0].CertificateArn))
		var all []string
		pages := elb.NewDescribeListenerCertificatesPaginator(rd.elb, &elb.DescribeListenerCertificatesInput{ListenerArn: &arn})
		for pages.HasMorePages() {
			page, err := pages.NextPage(rd.t.Context())
			for _, c := range must(rd.t, page, err).Certificates {
				all = append(all, rd.names.nameOf(aws.ToString(c.CertificateArn)))
			}
		}
		slices.Sort(all)
		out["Certificates"] = sortedStrings(slices.Compact(all)) // AWS lists the default certificate twice if it was also added
	}
	attrs, err := rd.elb.DescribeListenerAttributes(rd.t.Context(), &elb.DescribeListenerAttributesInput{ListenerArn: &arn})
	values := map[string]string{}
	for _, a := range must(rd.t, attrs, err).Attributes {
		values[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	recordAttributes(out, values, listenerDefaults())
	if lb.Type == elbtypes.LoadBalancerTypeEnumApplication {
		out["Rules"] = rd.rules(arn)
	}
	return out
}

// rules returns the rules of a listener by priority, without the default rule.
func (rd *reader) rules(listener string) map[string]any {
	rd.t.Helper()
	out := map[string]any{}
	var list []elbtypes.Rule
	var arns []string
	pages := elb.NewDescribeRulesPaginator(rd.elb, &elb.DescribeRulesInput{ListenerArn: &listener})
	for pages.HasMorePages() {
		page, err := pages.NextPage(rd.t.Context())
		for _, r := range must(rd.t, page, err).Rules {
			if !aws.ToBool(r.IsDefault) {
				list = append(list, r)
				arns = append(arns, aws.ToString(r.RuleArn))
			}
		}
	}
	rd.readTags(arns)
	for _, r := range list {
		rule := toPlainMap(rd.t, map[string]any{
			"Conditions": r.Conditions, "Transforms": r.Transforms, "Tags": rd.tags[aws.ToString(r.RuleArn)],
		})
		rule["Actions"] = rd.actions(rd.withSecrets(r))
		out[aws.ToString(r.Priority)] = rule
	}
	return out
}
