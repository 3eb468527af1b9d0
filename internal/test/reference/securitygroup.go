package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// securityGroups creates, updates and deletes the security groups of a deployment.
type securityGroups struct{ *deployment }

// securityGroupsWithTags returns the security groups of the VPC that have all the tags, sorted by ID.
func (d securityGroups) securityGroupsWithTags(tags map[string]string) (out []taggedResource[ec2types.SecurityGroup], err error) {
	in := &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{d.VPC}}}}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		in.Filters = append(in.Filters, ec2types.Filter{Name: aws.String("tag:" + k), Values: []string{tags[k]}})
	}
	pages := ec2.NewDescribeSecurityGroupsPaginator(d.ec2, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(d.ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range page.SecurityGroups {
			of := taggedResource[ec2types.SecurityGroup]{stringValue(g.GroupId), g, map[string]string{}}
			for _, t := range g.Tags {
				of.tags[stringValue(t.Key)] = stringValue(t.Value)
			}
			out = append(out, of)
		}
	}
	slices.SortFunc(out, func(a, b taggedResource[ec2types.SecurityGroup]) int { return cmp.Compare(a.id, b.id) })
	return out, nil
}

// ensureBackendSecurityGroup sets backendSecurityGroupID if it is empty: it finds the shared backend security group and
// corrects its tags, or creates it. The model never deletes it, because some Ingress or Gateway always needs it.
func (d securityGroups) ensureBackendSecurityGroup() error {
	if d.backendSecurityGroupID != "" {
		return nil
	}
	want := naming.BackendSecurityGroupTags(d.Cluster, nil)
	found, err := d.securityGroupsWithTags(want)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		d.backendSecurityGroupID = found[0].id
		return d.retagSecurityGroup(d.backendSecurityGroupID, want, found[0].tags)
	}
	d.backendSecurityGroupID, err = d.createSecurityGroup(naming.BackendSecurityGroupName(d.Cluster), naming.BackendSecurityGroupDescription, want)
	return err
}

func (d securityGroups) createSecurityGroup(name, description string, tags map[string]string) (string, error) {
	d.announceChange("CreateSecurityGroup", name)
	out, err := d.ec2.CreateSecurityGroup(d.ctx, &ec2.CreateSecurityGroupInput{
		GroupName: aws.String(name), Description: aws.String(description), VpcId: aws.String(d.VPC),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: ec2Tags(tags)}},
	})
	if err != nil {
		return "", err
	}
	return stringValue(out.GroupId), nil
}

type securityGroupSpec struct {
	GroupName, Description string
	Tags                   map[string]string
	Ingress                []permission
}

type permission struct {
	IPProtocol       string
	FromPort, ToPort int32
	IPRanges         []struct{ CIDRIP string }
	IPv6Ranges       []struct{ CIDRIPv6 string }
	UserIDGroupPairs []struct{ GroupID string }
	PrefixLists      []struct{ ListID string }
}

// singleSourceRule is an ingress rule with one source. It has no description, because descriptions are not compared.
type singleSourceRule struct {
	protocol                                      string
	from, to                                      int32
	ipv4CIDR, ipv6CIDR, prefixListID, peerGroupID string
}

func (p permission) singleSourceRules() (out []singleSourceRule) {
	of := singleSourceRule{protocol: p.IPProtocol, from: p.FromPort, to: p.ToPort}
	for _, r := range p.IPRanges {
		g := of
		g.ipv4CIDR = r.CIDRIP
		out = append(out, g)
	}
	for _, r := range p.IPv6Ranges {
		g := of
		g.ipv6CIDR = r.CIDRIPv6
		out = append(out, g)
	}
	for _, r := range p.UserIDGroupPairs {
		g := of
		g.peerGroupID = r.GroupID
		out = append(out, g)
	}
	for _, r := range p.PrefixLists {
		g := of
		g.prefixListID = r.ListID
		out = append(out, g)
	}
	return out
}

func singleSourceRulesOf(live ec2types.IpPermission) (out []singleSourceRule) {
	p := permission{IPProtocol: stringValue(live.IpProtocol), FromPort: aws.ToInt32(live.FromPort), ToPort: aws.ToInt32(live.ToPort)}
	for _, r := range live.IpRanges {
		p.IPRanges = append(p.IPRanges, struct{ CIDRIP string }{stringValue(r.CidrIp)})
	}
	for _, r := range live.Ipv6Ranges {
		p.IPv6Ranges = append(p.IPv6Ranges, struct{ CIDRIPv6 string }{stringValue(r.CidrIpv6)})
	}
	for _, r := range live.UserIdGroupPairs {
		p.UserIDGroupPairs = append(p.UserIDGroupPairs, struct{ GroupID string }{stringValue(r.GroupId)})
	}
	for _, r := range live.PrefixListIds {
		p.PrefixLists = append(p.PrefixLists, struct{ ListID string }{stringValue(r.PrefixListId)})
	}
	return p.singleSourceRules()
}

func (g singleSourceRule) permission() ec2types.IpPermission {
	out := ec2types.IpPermission{IpProtocol: aws.String(g.protocol), FromPort: aws.Int32(g.from), ToPort: aws.Int32(g.to)}
	switch {
	case g.ipv4CIDR != "":
		out.IpRanges = []ec2types.IpRange{{CidrIp: aws.String(g.ipv4CIDR)}}
	case g.ipv6CIDR != "":
		out.Ipv6Ranges = []ec2types.Ipv6Range{{CidrIpv6: aws.String(g.ipv6CIDR)}}
	case g.peerGroupID != "":
		out.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: aws.String(g.peerGroupID)}}
	default:
		out.PrefixListIds = []ec2types.PrefixListId{{PrefixListId: aws.String(g.prefixListID)}}
	}
	return out
}

// synthesize creates or updates the managed security group. It adds the deletion of other security groups with the tags of
// the stack to finalDeletions.
func (d securityGroups) synthesize() error {
	have, err := d.securityGroupsWithTags(naming.StackTags(d.Cluster, d.stack))
	if err != nil {
		return err
	}
	m, err := matchResources(d.deployment, document.TypeSecurityGroup, wrapTagged(have), func(string, taggedResource[ec2types.SecurityGroup]) (bool, error) { return false, nil })
	if err != nil {
		return err
	}
	for _, id := range m.create {
		var want securityGroupSpec
		if err := d.decodeSpec(document.TypeSecurityGroup, id, &want); err != nil {
			return err
		}
		group, err := d.createSecurityGroup(want.GroupName, want.Description, d.desiredTags(id, want.Tags))
		if err != nil {
			return fmt.Errorf("security group %s: %w", want.GroupName, err)
		}
		if err := d.updatePermissions(group, nil, want); err != nil {
			return err
		}
		d.setReference(document.TypeSecurityGroup, id, "groupID", group)
	}
	for i, u := range m.update {
		if i > 0 && m.update[i-1].id == u.id {
			m.remove = append(m.remove, u.existing)
			continue
		}
		var want securityGroupSpec
		if err := d.decodeSpec(document.TypeSecurityGroup, u.id, &want); err != nil {
			return err
		}
		if err := d.retagSecurityGroup(u.existing.id, d.desiredTags(u.id, want.Tags), u.existing.tags); err != nil {
			return err
		}
		if err := d.updatePermissions(u.existing.id, u.existing.resource.IpPermissions, want); err != nil {
			return err
		}
		d.setReference(document.TypeSecurityGroup, u.id, "groupID", u.existing.id)
	}
	d.finalDeletions = append(d.finalDeletions, func() error {
		for _, g := range m.remove {
			if err := d.retry("DependencyViolation", 2*time.Second, 10*time.Second, func() error {
				d.announceChange("DeleteSecurityGroup", g.id)
				_, err := d.ec2.DeleteSecurityGroup(d.ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String(g.id)})
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// wrapTagged wraps resources for matchResources, whose result then includes their IDs and tags.
func wrapTagged[T any](have []taggedResource[T]) (out []taggedResource[taggedResource[T]]) {
	for _, h := range have {
		out = append(out, taggedResource[taggedResource[T]]{h.id, h, h.tags})
	}
	return out
}

// updatePermissions adds missing ingress rules to a security group, and then revokes ingress rules that are not desired.
func (d securityGroups) updatePermissions(group string, live []ec2types.IpPermission, want securityGroupSpec) error {
	var has, wants []singleSourceRule
	for _, p := range live {
		has = append(has, singleSourceRulesOf(p)...)
	}
	for _, p := range want.Ingress {
		wants = append(wants, p.singleSourceRules()...)
	}
	without := func(list, others []singleSourceRule) (out []ec2types.IpPermission) {
		for _, g := range list {
			if !slices.Contains(others, g) {
				out = append(out, g.permission())
			}
		}
		return out
	}
	if add := without(wants, has); len(add) > 0 {
		d.announceChange("AuthorizeSecurityGroupIngress", group)
		if _, err := d.ec2.AuthorizeSecurityGroupIngress(d.ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(group), IpPermissions: add}); err != nil {
			return err
		}
	}
	if gone := without(has, wants); len(gone) > 0 {
		d.announceChange("RevokeSecurityGroupIngress", group)
		if _, err := d.ec2.RevokeSecurityGroupIngress(d.ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String(group), IpPermissions: gone}); err != nil {
			return err
		}
	}
	return nil
}
