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

// securityGroups deploys security groups.
type securityGroups struct{ *deploy }

// groupsWith returns the security groups of the VPC with tags.
func (d securityGroups) groupsWith(tags map[string]string) (out []tagged[ec2types.SecurityGroup], err error) {
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
			of := tagged[ec2types.SecurityGroup]{text(g.GroupId), g, map[string]string{}}
			for _, t := range g.Tags {
				of.tags[text(t.Key)] = text(t.Value)
			}
			out = append(out, of)
		}
	}
	slices.SortFunc(out, func(a, b tagged[ec2types.SecurityGroup]) int { return cmp.Compare(a.id, b.id) })
	return out, nil
}

// backendGroup finds or creates the shared security group, and corrects its tags once in a process. It is never
// deleted, as an Ingress or Gateway with a finalizer always needs it.
func (d securityGroups) backendGroup() error {
	if d.backend != "" {
		return nil
	}
	want := naming.BackendGroupTags(d.Cluster, nil)
	found, err := d.groupsWith(want)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		d.backend = found[0].id
		return d.retagGroup(d.backend, want, found[0].tags)
	}
	d.backend, err = d.createGroup(naming.BackendGroup(d.Cluster), naming.BackendGroupDescription, want)
	return err
}

func (d securityGroups) createGroup(name, description string, tags map[string]string) (string, error) {
	d.announce("CreateSecurityGroup", name)
	out, err := d.ec2.CreateSecurityGroup(d.ctx, &ec2.CreateSecurityGroupInput{
		GroupName: aws.String(name), Description: aws.String(description), VpcId: aws.String(d.VPC),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: ec2Tags(tags)}},
	})
	if err != nil {
		return "", err
	}
	return text(out.GroupId), nil
}

type groupSpec struct {
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

// grant is an ingress rule with one source. Descriptions are not compared.
type grant struct {
	protocol           string
	from, to           int32
	v4, v6, list, peer string
}

func (p permission) grants() (out []grant) {
	of := grant{protocol: p.IPProtocol, from: p.FromPort, to: p.ToPort}
	for _, r := range p.IPRanges {
		g := of
		g.v4 = r.CIDRIP
		out = append(out, g)
	}
	for _, r := range p.IPv6Ranges {
		g := of
		g.v6 = r.CIDRIPv6
		out = append(out, g)
	}
	for _, r := range p.UserIDGroupPairs {
		g := of
		g.peer = r.GroupID
		out = append(out, g)
	}
	for _, r := range p.PrefixLists {
		g := of
		g.list = r.ListID
		out = append(out, g)
	}
	return out
}

func grantsOf(live ec2types.IpPermission) (out []grant) {
	p := permission{IPProtocol: text(live.IpProtocol), FromPort: aws.ToInt32(live.FromPort), ToPort: aws.ToInt32(live.ToPort)}
	for _, r := range live.IpRanges {
		p.IPRanges = append(p.IPRanges, struct{ CIDRIP string }{text(r.CidrIp)})
	}
	for _, r := range live.Ipv6Ranges {
		p.IPv6Ranges = append(p.IPv6Ranges, struct{ CIDRIPv6 string }{text(r.CidrIpv6)})
	}
	for _, r := range live.UserIdGroupPairs {
		p.UserIDGroupPairs = append(p.UserIDGroupPairs, struct{ GroupID string }{text(r.GroupId)})
	}
	for _, r := range live.PrefixListIds {
		p.PrefixLists = append(p.PrefixLists, struct{ ListID string }{text(r.PrefixListId)})
	}
	return p.grants()
}

func (g grant) permission() ec2types.IpPermission {
	out := ec2types.IpPermission{IpProtocol: aws.String(g.protocol), FromPort: aws.Int32(g.from), ToPort: aws.Int32(g.to)}
	switch {
	case g.v4 != "":
		out.IpRanges = []ec2types.IpRange{{CidrIp: aws.String(g.v4)}}
	case g.v6 != "":
		out.Ipv6Ranges = []ec2types.Ipv6Range{{CidrIpv6: aws.String(g.v6)}}
	case g.peer != "":
		out.UserIdGroupPairs = []ec2types.UserIdGroupPair{{GroupId: aws.String(g.peer)}}
	default:
		out.PrefixListIds = []ec2types.PrefixListId{{PrefixListId: aws.String(g.list)}}
	}
	return out
}

// synthesize creates and updates the managed security group. Other security groups with its ID, and security groups
// that are not desired, are deleted at the end.
func (d securityGroups) synthesize() error {
	have, err := d.groupsWith(naming.StackTags(d.Cluster, d.stack))
	if err != nil {
		return err
	}
	m, err := match(d.deploy, document.TypeSecurityGroup, wrapped(have), func(string, tagged[ec2types.SecurityGroup]) (bool, error) { return false, nil })
	if err != nil {
		return err
	}
	for _, id := range m.create {
		var want groupSpec
		if err := d.spec(document.TypeSecurityGroup, id, &want); err != nil {
			return err
		}
		group, err := d.createGroup(want.GroupName, want.Description, d.ownTags(id, want.Tags))
		if err != nil {
			return fmt.Errorf("security group %s: %w", want.GroupName, err)
		}
		if err := d.permissions(group, nil, want); err != nil {
			return err
		}
		d.setReference(document.TypeSecurityGroup, id, "groupID", group)
	}
	for i, u := range m.update {
		if i > 0 && m.update[i-1].id == u.id {
			m.remove = append(m.remove, u.have)
			continue
		}
		var want groupSpec
		if err := d.spec(document.TypeSecurityGroup, u.id, &want); err != nil {
			return err
		}
		if err := d.retagGroup(u.have.id, d.ownTags(u.id, want.Tags), u.have.tags); err != nil {
			return err
		}
		if err := d.permissions(u.have.id, u.have.of.IpPermissions, want); err != nil {
			return err
		}
		d.setReference(document.TypeSecurityGroup, u.id, "groupID", u.have.id)
	}
	d.post = append(d.post, func() error {
		for _, g := range m.remove {
			if err := d.retry("DependencyViolation", 2*time.Second, 10*time.Second, func() error {
				d.announce("DeleteSecurityGroup", g.id)
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

// wrapped wraps resources so that match keeps their tags.
func wrapped[T any](have []tagged[T]) (out []tagged[tagged[T]]) {
	for _, h := range have {
		out = append(out, tagged[tagged[T]]{h.id, h, h.tags})
	}
	return out
}

// permissions adds missing rules and revokes rules that are not desired.
func (d securityGroups) permissions(group string, live []ec2types.IpPermission, want groupSpec) error {
	var has, wants []grant
	for _, p := range live {
		has = append(has, grantsOf(p)...)
	}
	for _, p := range want.Ingress {
		wants = append(wants, p.grants()...)
	}
	without := func(list, others []grant) (out []ec2types.IpPermission) {
		for _, g := range list {
			if !slices.Contains(others, g) {
				out = append(out, g.permission())
			}
		}
		return out
	}
	if add := without(wants, has); len(add) > 0 {
		d.announce("AuthorizeSecurityGroupIngress", group)
		if _, err := d.ec2.AuthorizeSecurityGroupIngress(d.ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(group), IpPermissions: add}); err != nil {
			return err
		}
	}
	if gone := without(has, wants); len(gone) > 0 {
		d.announce("RevokeSecurityGroupIngress", group)
		if _, err := d.ec2.RevokeSecurityGroupIngress(d.ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String(group), IpPermissions: gone}); err != nil {
			return err
		}
	}
	return nil
}
