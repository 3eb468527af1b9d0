package ec2

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// AuthorizeSecurityGroupIngress adds the inbound rules of a request to a security group. It adds none if it returns an
// error.
func (s *securityGroups) AuthorizeSecurityGroupIngress(c *store.Call, in *ec2.AuthorizeSecurityGroupIngressInput) (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
	g, err := s.findSecurityGroup(c, in.GroupId, in.GroupName)
	if err != nil {
		return nil, err
	}
	list, err := requestedPermissions(in.IpPermissions, in.IpProtocol, in.FromPort, in.ToPort, in.CidrIp)
	if err != nil {
		return nil, err
	}
	added, err := s.authorize(c, g, &g.Ingress, list, in.TagSpecifications)
	if err != nil {
		return nil, err
	}
	return &ec2.AuthorizeSecurityGroupIngressOutput{Return: aws.Bool(true), SecurityGroupRules: s.describeRules(c.Partition, g, added, false)}, nil
}

// AuthorizeSecurityGroupEgress adds the outbound rules of a request to a security group. It adds none if it returns an
// error.
func (s *securityGroups) AuthorizeSecurityGroupEgress(c *store.Call, in *ec2.AuthorizeSecurityGroupEgressInput) (*ec2.AuthorizeSecurityGroupEgressOutput, error) {
	g, err := s.findSecurityGroup(c, in.GroupId, nil)
	if err != nil {
		return nil, err
	}
	added, err := s.authorize(c, g, &g.Egress, in.IpPermissions, in.TagSpecifications)
	if err != nil {
		return nil, err
	}
	return &ec2.AuthorizeSecurityGroupEgressOutput{Return: aws.Bool(true), SecurityGroupRules: s.describeRules(c.Partition, g, added, true)}, nil
}

// requestedPermissions returns the permissions in a request. They are either in list, or one permission is in the other
// parameters.
func requestedPermissions(list []types.IpPermission, protocol *string, from, to *int32, cidr *string) ([]types.IpPermission, *store.Error) {
	if protocol == nil && from == nil && to == nil && cidr == nil {
		return list, nil
	}
	if len(list) > 0 {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterCombination", "The parameter ipPermissions cannot be used with the parameters ipProtocol, fromPort, toPort and cidrIp")
	}
	return []types.IpPermission{{IpProtocol: protocol, FromPort: from, ToPort: to, IpRanges: []types.IpRange{{CidrIp: cidr}}}}, nil
}

// authorize adds rules for the permissions in list to have, which is a list of rules of security group g, and returns the
// added rules. specs contains the tags for the added rules.
func (s *securityGroups) authorize(c *store.Call, g *store.SecurityGroup, have *[]store.SecurityGroupRule, list []types.IpPermission, specs []types.TagSpecification) ([]store.SecurityGroupRule, *store.Error) {
	add, err := s.readPermissions(c, g, list)
	if err != nil {
		return nil, err
	}
	tags, err := tagsFor(specs, types.ResourceTypeSecurityGroupRule)
	if err != nil {
		return nil, err
	}
	for _, r := range add {
		if slices.ContainsFunc(*have, func(old store.SecurityGroupRule) bool { return ruleKeyOf(old) == ruleKeyOf(r) }) {
			return nil, store.Errorf(store.ReportSource("hashicorp/terraform#1874"), "InvalidPermission.Duplicate", "the specified rule \"%s\" already exists", formatRule(r))
		}
	}
	if err := s.checkRuleQuota(c.Partition, slices.Concat(*have, add)); err != nil {
		return nil, err
	}
	for i := range add {
		add[i].ID = s.store.NewID("sgr-")
		c.Partition.AddTags(add[i].ID, tags)
	}
	*have = slices.Concat(*have, add)
	return add, nil
}

// checkRuleQuota returns an error if a security group would have too many IPv4 or IPv6 rules. A rule with a security group
// as peer counts for both address families. A rule with a prefix list counts as many times as the maximum number of entries
// in the list.
func (s *securityGroups) checkRuleQuota(p *store.Partition, rules []store.SecurityGroupRule) *store.Error {
	v4, v6 := 0, 0
	for _, r := range rules {
		switch {
		case r.Peer.Group != "":
			v4++
			v6++
		case r.Peer.PrefixList != "":
			list := p.PrefixLists[r.Peer.PrefixList]
			if list == nil {
				continue
			}
			if list.Family == "IPv6" {
				v6 += int(list.MaxEntries)
			} else {
				v4 += int(list.MaxEntries)
			}
		case r.Peer.CIDR.Addr().Is4():
			v4++
		default:
			v6++
		}
	}
	if max(v4, v6) > s.store.Quota("rules-per-security-group", 60) {
		return store.Errorf(store.ReportSource("dan-v/awslambdaproxy#25"), "RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")
	}
	return nil
}

// RevokeSecurityGroupIngress removes the inbound rules that match the permissions or the rule IDs in a request.
func (s *securityGroups) RevokeSecurityGroupIngress(c *store.Call, in *ec2.RevokeSecurityGroupIngressInput) (*ec2.RevokeSecurityGroupIngressOutput, error) {
	g, err := s.findSecurityGroup(c, in.GroupId, in.GroupName)
	if err != nil {
		return nil, err
	}
	list, err := requestedPermissions(in.IpPermissions, in.IpProtocol, in.FromPort, in.ToPort, in.CidrIp)
	if err != nil {
		return nil, err
	}
	r, err := s.revoke(c, g, &g.Ingress, list, in.SecurityGroupRuleIds, false)
	if err != nil {
		return nil, err
	}
	return &ec2.RevokeSecurityGroupIngressOutput{Return: aws.Bool(true), RevokedSecurityGroupRules: r.revokedRules, UnknownIpPermissions: r.unknownPermissions}, nil
}

// RevokeSecurityGroupEgress removes the outbound rules that match the permissions or the rule IDs in a request.
func (s *securityGroups) RevokeSecurityGroupEgress(c *store.Call, in *ec2.RevokeSecurityGroupEgressInput) (*ec2.RevokeSecurityGroupEgressOutput, error) {
	g, err := s.findSecurityGroup(c, in.GroupId, nil)
	if err != nil {
		return nil, err
	}
	r, err := s.revoke(c, g, &g.Egress, in.IpPermissions, in.SecurityGroupRuleIds, true)
	if err != nil {
		return nil, err
	}
	return &ec2.RevokeSecurityGroupEgressOutput{Return: aws.Bool(true), RevokedSecurityGroupRules: r.revokedRules, UnknownIpPermissions: r.unknownPermissions}, nil
}

// revokeResult is the result of a revoke request.
type revokeResult struct {
	revokedRules       []types.RevokedSecurityGroupRule
	unknownPermissions []types.IpPermission
}

// revoke removes rules from have, which is a list of rules of security group g. It removes the rules for the permissions in
// list and the rules with the IDs. It removes none if it returns an error.
func (s *securityGroups) revoke(c *store.Call, g *store.SecurityGroup, have *[]store.SecurityGroupRule, list []types.IpPermission, ids []string, egress bool) (revokeResult, *store.Error) {
	var out revokeResult
	drop := map[string]bool{}
	for _, id := range ids {
		if err := kindSecurityGroupRule.checkID(id); err != nil {
			return out, err
		}
		if !slices.ContainsFunc(*have, func(r store.SecurityGroupRule) bool { return r.ID == id }) {
			return out, kindSecurityGroupRule.notFoundError(id)
		}
		drop[id] = true
	}
	if len(ids) == 0 || len(list) > 0 {
		unwanted, err := s.readPermissions(c, g, list)
		if err != nil {
			return out, err
		}
		var unknown []store.SecurityGroupRule
		for _, r := range unwanted {
			i := slices.IndexFunc(*have, func(old store.SecurityGroupRule) bool { return ruleKeyOf(old) == ruleKeyOf(r) })
			if i < 0 {
				unknown = append(unknown, r)
				continue
			}
			drop[(*have)[i].ID] = true
		}
		if v := c.Partition.VPCs[g.VPCID]; len(unknown) > 0 && (v == nil || !v.IsDefault) {
			return out, store.Errorf(store.ReportSource("cloud-custodian/cloud-custodian#6099"), "InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
		}
		out.unknownPermissions = s.describePermissions(unknown)
	}
	var kept []store.SecurityGroupRule
	for _, r := range *have {
		if !drop[r.ID] {
			kept = append(kept, r)
			continue
		}
		delete(c.Partition.Tags, r.ID)
		out.revokedRules = append(out.revokedRules, types.RevokedSecurityGroupRule{
			GroupId: aws.String(g.ID), SecurityGroupRuleId: aws.String(r.ID), IsEgress: aws.Bool(egress),
			IpProtocol: aws.String(r.Protocol), FromPort: portOrAll(r.From), ToPort: portOrAll(r.To),
			CidrIpv4: store.StringOrNil(r.CIDR(true)), CidrIpv6: store.StringOrNil(r.CIDR(false)), PrefixListId: store.StringOrNil(r.Peer.PrefixList),
			ReferencedGroupId: store.StringOrNil(r.Peer.Group), Description: store.StringOrNil(r.Description),
		})
	}
	*have = kept
	return out, nil
}

// UpdateSecurityGroupRuleDescriptionsIngress changes the descriptions of inbound rules.
func (s *securityGroups) UpdateSecurityGroupRuleDescriptionsIngress(c *store.Call, in *ec2.UpdateSecurityGroupRuleDescriptionsIngressInput) (*ec2.UpdateSecurityGroupRuleDescriptionsIngressOutput, error) {
	g, err := s.findSecurityGroup(c, in.GroupId, nil)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, d := range in.SecurityGroupRuleDescriptions {
		id := aws.ToString(d.SecurityGroupRuleId)
		if !slices.ContainsFunc(g.Ingress, func(r store.SecurityGroupRule) bool { return r.ID == id }) {
			return nil, kindSecurityGroupRule.notFoundError(id)
		}
		texts[id] = aws.ToString(d.Description)
	}
	if len(texts) == 0 || len(in.IpPermissions) > 0 {
		rules, err := s.readPermissions(c, g, in.IpPermissions)
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			i := slices.IndexFunc(g.Ingress, func(old store.SecurityGroupRule) bool { return ruleKeyOf(old) == ruleKeyOf(r) })
			if i < 0 {
				return nil, store.Errorf(store.ReportSource("cloud-custodian/cloud-custodian#6099"), "InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
			}
			texts[g.Ingress[i].ID] = r.Description
		}
	}
	for i, r := range g.Ingress {
		if text, ok := texts[r.ID]; ok {
			g.Ingress[i].Description = text
		}
	}
	return &ec2.UpdateSecurityGroupRuleDescriptionsIngressOutput{Return: aws.Bool(true)}, nil
}

// DescribeSecurityGroupRules lists the rules of security groups.
func (s *securityGroups) DescribeSecurityGroupRules(c *store.Call, in *ec2.DescribeSecurityGroupRulesInput) (*ec2.DescribeSecurityGroupRulesOutput, error) {
	all := map[string]*types.SecurityGroupRule{}
	for _, g := range c.Partition.SecurityGroups {
		for _, list := range [][]types.SecurityGroupRule{s.describeRules(c.Partition, g, g.Ingress, false), s.describeRules(c.Partition, g, g.Egress, true)} {
			for _, r := range list {
				all[*r.SecurityGroupRuleId] = &r
			}
		}
	}
	items, next, err := describe(s.core, c, kindSecurityGroupRule, all, describeQuery{in.SecurityGroupRuleIds, in.Filters, in.MaxResults, in.NextToken}, filters[*types.SecurityGroupRule]{
		"group-id":               func(r *types.SecurityGroupRule) []string { return textValue(*r.GroupId) },
		"security-group-rule-id": func(r *types.SecurityGroupRule) []string { return textValue(*r.SecurityGroupRuleId) },
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSecurityGroupRulesOutput{NextToken: next, SecurityGroupRules: []types.SecurityGroupRule{}}
	for _, r := range items {
		out.SecurityGroupRules = append(out.SecurityGroupRules, *r)
	}
	return out, nil
}

func (s *securityGroups) describeRules(p *store.Partition, g *store.SecurityGroup, rules []store.SecurityGroupRule, egress bool) []types.SecurityGroupRule {
	out := make([]types.SecurityGroupRule, 0, len(rules))
	for _, r := range rules {
		item := types.SecurityGroupRule{
			SecurityGroupRuleId: aws.String(r.ID), GroupId: aws.String(g.ID), GroupOwnerId: aws.String(p.Account),
			SecurityGroupRuleArn: aws.String(p.ARN("ec2", "security-group-rule/"+r.ID)),
			IsEgress:             aws.Bool(egress), IpProtocol: aws.String(r.Protocol),
			FromPort: portOrAll(r.From), ToPort: portOrAll(r.To),
			CidrIpv4: store.StringOrNil(r.CIDR(true)), CidrIpv6: store.StringOrNil(r.CIDR(false)), PrefixListId: store.StringOrNil(r.Peer.PrefixList),
			Description: store.StringOrNil(r.Description), Tags: s.tagList(p, r.ID),
		}
		if r.Peer.Group != "" {
			item.ReferencedGroupInfo = &types.ReferencedSecurityGroup{GroupId: aws.String(r.Peer.Group), UserId: aws.String(r.Peer.GroupOwner)}
		}
		out = append(out, item)
	}
	return out
}

// portOrAll returns the port, or -1 for a rule without ports, as DescribeSecurityGroupRules does.
func portOrAll(n *int32) *int32 {
	if n == nil {
		return aws.Int32(-1)
	}
	return n
}

// ruleExists reports whether any security group has a rule with the ID.
func ruleExists(p *store.Partition, id string) bool {
	isRule := func(r store.SecurityGroupRule) bool { return r.ID == id }
	for _, g := range p.SecurityGroups {
		if slices.ContainsFunc(g.Ingress, isRule) || slices.ContainsFunc(g.Egress, isRule) {
			return true
		}
	}
	return false
}
