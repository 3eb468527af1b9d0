package convert

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// SecurityGroupFromAWS converts a security group with its ingress rules.
func SecurityGroupFromAWS(g ec2types.SecurityGroup) observed.SecurityGroup {
	return observed.SecurityGroup{
		ID: aws.ToString(g.GroupId), Name: aws.ToString(g.GroupName), VPC: aws.ToString(g.VpcId),
		Tags: EC2TagsFromAWS(g.Tags), Ingress: IngressFromAWS(g.IpPermissions),
	}
}

// IngressFromAWS returns one rule for each source of the permissions, sorted. EC2 combines all sources with the same
// protocol and ports in one permission.
func IngressFromAWS(ps []ec2types.IpPermission) []model.IngressRule {
	var out []model.IngressRule
	for _, p := range ps {
		r := model.IngressRule{Protocol: aws.ToString(p.IpProtocol), From: aws.ToInt32(p.FromPort), To: aws.ToInt32(p.ToPort)}
		for _, x := range p.IpRanges {
			n := r
			n.CIDR, n.Description = aws.ToString(x.CidrIp), aws.ToString(x.Description)
			out = append(out, n)
		}
		for _, x := range p.Ipv6Ranges {
			n := r
			n.CIDR, n.Description = aws.ToString(x.CidrIpv6), aws.ToString(x.Description)
			out = append(out, n)
		}
		for _, x := range p.PrefixListIds {
			n := r
			n.PrefixList, n.Description = aws.ToString(x.PrefixListId), aws.ToString(x.Description)
			out = append(out, n)
		}
		for _, x := range p.UserIdGroupPairs {
			n := r
			n.Group, n.Description = aws.ToString(x.GroupId), aws.ToString(x.Description)
			out = append(out, n)
		}
	}
	slices.SortFunc(out, CompareIngressRules)
	return out
}

// CompareIngressRules compares ingress rules by all fields except the description.
func CompareIngressRules(a, b model.IngressRule) int {
	return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To),
		cmp.Compare(a.CIDR, b.CIDR), cmp.Compare(a.PrefixList, b.PrefixList), cmp.Compare(a.Group, b.Group))
}

// IngressToAWS returns one permission for each rule.
func IngressToAWS(rules []model.IngressRule) []ec2types.IpPermission {
	out := make([]ec2types.IpPermission, 0, len(rules))
	for _, r := range rules {
		p := ec2types.IpPermission{IpProtocol: aws.String(r.Protocol), FromPort: aws.Int32(r.From), ToPort: aws.Int32(r.To)}
		d := NilIfEmpty(r.Description)
		switch {
		case r.Group != "":
			p.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: aws.String(r.Group), Description: d}}
		case r.PrefixList != "":
			p.PrefixListIds = []ec2types.PrefixListId{{PrefixListId: aws.String(r.PrefixList), Description: d}}
		case isIPv6(r.CIDR):
			p.Ipv6Ranges = []ec2types.Ipv6Range{{CidrIpv6: aws.String(r.CIDR), Description: d}}
		default:
			p.IpRanges = []ec2types.IpRange{{CidrIp: aws.String(r.CIDR), Description: d}}
		}
		if r.Protocol == allProtocols {
			p.FromPort, p.ToPort = nil, nil
		}
		out = append(out, p)
	}
	return out
}

// allProtocols is EC2's number for all protocols. A rule with this number has no ports.
const allProtocols = "-1"

func isIPv6(cidr string) bool { return strings.Contains(cidr, ":") }

// EC2TagsToAWS converts tags. The result is sorted by key.
func EC2TagsToAWS(tags map[string]string) []ec2types.Tag {
	var out []ec2types.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, ec2types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

// EC2TagsFromAWS converts tags. The result is never nil, because nil means that the tags were not read.
func EC2TagsFromAWS(tags []ec2types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

// SubnetFromAWS converts a subnet. The caller sets the type of its Availability Zone.
func SubnetFromAWS(s ec2types.Subnet) observed.Subnet {
	out := observed.Subnet{
		ID: aws.ToString(s.SubnetId), Zone: aws.ToString(s.AvailabilityZone), ZoneID: aws.ToString(s.AvailabilityZoneId),
		Outpost: aws.ToString(s.OutpostArn), FreeIPs: aws.ToInt32(s.AvailableIpAddressCount), CIDR: aws.ToString(s.CidrBlock),
		Tags: EC2TagsFromAWS(s.Tags),
	}
	out.Name = out.Tags[NameTag]
	for _, a := range s.Ipv6CidrBlockAssociationSet {
		if a.Ipv6CidrBlockState != nil && a.Ipv6CidrBlockState.State == ec2types.SubnetCidrBlockStateCodeAssociated {
			out.IPv6CIDRs = append(out.IPv6CIDRs, aws.ToString(a.Ipv6CidrBlock))
		}
	}
	slices.Sort(out.IPv6CIDRs)
	return out
}

// NameTag is the key of the tag that contains the name of an EC2 resource.
const NameTag = "Name"
