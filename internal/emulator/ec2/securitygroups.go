package ec2

import (
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// securityGroupTextPattern matches the names and descriptions that EC2 allows for security groups and their rules.
var securityGroupTextPattern = regexp.MustCompile(`^[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]*$`)

// CreateSecurityGroup creates a security group that allows all outbound and no inbound traffic.
func (s *securityGroups) CreateSecurityGroup(c *store.Call, in *ec2.CreateSecurityGroupInput) (*ec2.CreateSecurityGroupOutput, error) {
	p := c.Partition
	name, description := aws.ToString(in.GroupName), aws.ToString(in.Description)
	if name == "" {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter GroupName")
	}
	if description == "" {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter GroupDescription")
	}
	if err := checkSecurityGroupName(name); err != nil {
		return nil, err
	}
	if len(description) > 255 || !securityGroupTextPattern.MatchString(description) {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Value (%s) for parameter GroupDescription is invalid. Character sets beyond ASCII are not supported.", description)
	}
	v, err := s.securityGroupVPC(c, in.VpcId)
	if err != nil {
		return nil, err
	}
	for _, g := range p.SecurityGroups {
		if g.VPCID == v.ID && strings.EqualFold(g.Name, name) {
			return nil, store.Errorf(store.ReportSource("hashicorp/terraform#15428"), "InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", name, v.ID)
		}
	}
	if len(p.SecurityGroups) >= s.store.Quota("security-groups-per-region", 2500) {
		return nil, store.Errorf(store.UnprovenSource, "SecurityGroupLimitExceeded", "The maximum number of security groups has been reached.")
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeSecurityGroup)
	if err != nil {
		return nil, err
	}
	g := p.CreateSecurityGroup(v.ID, name, description)
	p.AddTags(g.ID, tags)
	return &ec2.CreateSecurityGroupOutput{
		GroupId: aws.String(g.ID), Tags: s.tagList(p, g.ID),
		SecurityGroupArn: aws.String(p.ARN("ec2", "security-group/"+g.ID)),
	}, nil
}

func checkSecurityGroupName(name string) *store.Error {
	switch {
	case strings.EqualFold(name, "default"):
		return store.Errorf(store.UnprovenSource, "InvalidGroup.Reserved", "The security group '%s' is reserved", name)
	case strings.HasPrefix(name, "sg-"):
		return store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Value (%s) for parameter GroupName is invalid. Group names may not be in the format sg-*.", name)
	case len(name) > 255 || !securityGroupTextPattern.MatchString(name):
		return store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Value (%s) for parameter GroupName is invalid. Character sets beyond ASCII are not supported.", name)
	}
	return nil
}

// securityGroupVPC returns the VPC for a new security group. id is the VPC ID in the request; if it is nil, the default VPC
// is used.
func (s *securityGroups) securityGroupVPC(c *store.Call, id *string) (*store.VPC, *store.Error) {
	if id != nil {
		return findResource(kindVPC, c.Partition.VPCs, id)
	}
	if v := c.Partition.DefaultVPC(); v != nil {
		return v, nil
	}
	return nil, store.Errorf(store.UnprovenSource, "VPCIdNotSpecified", "No default VPC for this user")
}

// findSecurityGroup returns the security group with an ID. If id is nil, it returns the security group with a name in the
// default VPC.
func (s *core) findSecurityGroup(c *store.Call, id, name *string) (*store.SecurityGroup, *store.Error) {
	if id != nil {
		return findResource(kindSecurityGroup, c.Partition.SecurityGroups, id)
	}
	if name == nil {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter groupName or groupId")
	}
	v := c.Partition.DefaultVPC()
	for _, g := range c.Partition.SecurityGroups {
		if v != nil && g.VPCID == v.ID && g.Name == *name {
			return g, nil
		}
	}
	return nil, store.Errorf(store.UnprovenSource, "InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC", *name)
}

// DeleteSecurityGroup deletes a security group that no ENI and no rule of another security group uses.
func (s *securityGroups) DeleteSecurityGroup(c *store.Call, in *ec2.DeleteSecurityGroupInput) (*ec2.DeleteSecurityGroupOutput, error) {
	p := c.Partition
	g, err := s.findSecurityGroup(c, in.GroupId, in.GroupName)
	if err != nil {
		return nil, err
	}
	if g.Name == "default" {
		return nil, store.Errorf(store.UnprovenSource, "CannotDelete", "the specified group: \"%s\" name: \"default\" cannot be deleted by a user", g.ID)
	}
	if len(p.ResourcesUsingSecurityGroup(g.ID)) > 0 {
		return nil, store.Errorf(store.ReportSource("hashicorp/terraform-provider-aws#1671"), "DependencyViolation", "resource %s has a dependent object", g.ID)
	}
	for _, r := range append(g.Ingress, g.Egress...) {
		delete(p.Tags, r.ID)
	}
	delete(p.SecurityGroups, g.ID)
	delete(p.Tags, g.ID)
	return &ec2.DeleteSecurityGroupOutput{Return: aws.Bool(true), GroupId: aws.String(g.ID)}, nil
}

// DescribeSecurityGroups lists security groups with their rules.
func (s *securityGroups) DescribeSecurityGroups(c *store.Call, in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
	p := c.Partition
	type group = store.SecurityGroup
	ids := in.GroupIds
	for _, name := range in.GroupNames {
		g, err := s.findSecurityGroup(c, nil, aws.String(name))
		if err != nil {
			return nil, err
		}
		ids = append(ids, g.ID)
	}
	known := filters[*group]{
		"group-id":    func(g *group) []string { return textValue(g.ID) },
		"group-name":  func(g *group) []string { return textValue(g.Name) },
		"vpc-id":      func(g *group) []string { return textValue(g.VPCID) },
		"owner-id":    func(*group) []string { return textValue(c.Account) },
		"description": func(g *group) []string { return textValue(g.Description) },
	}
	addRuleFilters(known, "ip-permission.", func(g *group) []store.SecurityGroupRule { return g.Ingress })
	addRuleFilters(known, "egress.ip-permission.", func(g *group) []store.SecurityGroupRule { return g.Egress })
	items, next, err := describe(s.core, c, kindSecurityGroup, p.SecurityGroups, describeQuery{ids, in.Filters, in.MaxResults, in.NextToken}, known)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSecurityGroupsOutput{NextToken: next, SecurityGroups: []types.SecurityGroup{}}
	for _, g := range items {
		out.SecurityGroups = append(out.SecurityGroups, types.SecurityGroup{
			GroupId: aws.String(g.ID), GroupName: aws.String(g.Name), Description: aws.String(g.Description),
			VpcId: aws.String(g.VPCID), OwnerId: aws.String(c.Account),
			SecurityGroupArn: aws.String(p.ARN("ec2", "security-group/"+g.ID)),
			IpPermissions:    s.describePermissions(g.Ingress), IpPermissionsEgress: s.describePermissions(g.Egress),
			Tags: s.tagList(p, g.ID),
		})
	}
	return out, nil
}

// addRuleFilters adds filters on the properties of rules to known. rules returns the inbound or the outbound rules of a
// security group. The names of the filters begin with prefix.
func addRuleFilters(known filters[*store.SecurityGroup], prefix string, rules func(*store.SecurityGroup) []store.SecurityGroupRule) {
	add := func(name string, field func(store.SecurityGroupRule) string) {
		known[prefix+name] = func(g *store.SecurityGroup) (out []string) {
			for _, r := range rules(g) {
				out = append(out, textValue(field(r))...)
			}
			return out
		}
	}
	add("cidr", func(r store.SecurityGroupRule) string { return r.CIDR(true) })
	add("ipv6-cidr", func(r store.SecurityGroupRule) string { return r.CIDR(false) })
	add("from-port", func(r store.SecurityGroupRule) string { return formatNumber(r.From) })
	add("to-port", func(r store.SecurityGroupRule) string { return formatNumber(r.To) })
	add("protocol", func(r store.SecurityGroupRule) string { return r.Protocol })
	add("group-id", func(r store.SecurityGroupRule) string { return r.Peer.Group })
	add("user-id", func(r store.SecurityGroupRule) string { return r.Peer.GroupOwner })
	add("prefix-list-id", func(r store.SecurityGroupRule) string { return r.Peer.PrefixList })
}
