package ec2

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// protocolNames maps protocol numbers, and the name "all", to the protocol names that EC2 returns.
var protocolNames = map[string]string{"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "all": "-1"}

// ruleKey identifies a security group rule by all of its properties except the description and the ID.
type ruleKey struct {
	protocol, from, to string
	peer               store.Peer
}

func ruleKeyOf(r store.SecurityGroupRule) ruleKey {
	return ruleKey{r.Protocol, formatNumber(r.From), formatNumber(r.To), r.Peer}
}

func formatNumber(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// readPermissions converts the permissions in a request for security group g to rules in canonical form, one rule for each
// peer.
func (s *securityGroups) readPermissions(c *store.Call, g *store.SecurityGroup, list []types.IpPermission) ([]store.SecurityGroupRule, *store.Error) {
	if len(list) == 0 {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter ipPermissions")
	}
	var rules []store.SecurityGroupRule
	for _, perm := range list {
		base, err := readProtocol(perm)
		if err != nil {
			return nil, err
		}
		peers, err := s.readPeers(c, g, perm)
		if err != nil {
			return nil, err
		}
		for _, p := range peers {
			r := base
			r.Peer, r.Description = p.Peer, p.Description
			rules = append(rules, r)
		}
	}
	seen := map[ruleKey]bool{}
	for _, r := range rules {
		if seen[ruleKeyOf(r)] {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "The same permission must not appear multiple times")
		}
		seen[ruleKeyOf(r)] = true
	}
	return rules, nil
}

// readProtocol returns a rule with the protocol and the ports of a permission.
func readProtocol(perm types.IpPermission) (store.SecurityGroupRule, *store.Error) {
	var r store.SecurityGroupRule
	protocol := strings.ToLower(aws.ToString(perm.IpProtocol))
	if protocol == "" {
		return r, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter ipProtocol")
	}
	if name, ok := protocolNames[protocol]; ok {
		protocol = name
	}
	r.Protocol = protocol
	switch protocol {
	case "tcp", "udp":
		if perm.FromPort == nil || perm.ToPort == nil {
			return r, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Invalid value 'Must specify both from and to ports with TCP/UDP.' for portRange.")
		}
		from, to := *perm.FromPort, *perm.ToPort
		if from == -1 && to == -1 { // all ports
			from, to = 0, 65535
		}
		if from < 0 || to > 65535 || from > to {
			return r, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Invalid value '%d-%d' for portRange. Ports must be between 0 and 65535, the first not above the last.", from, to)
		}
		r.From, r.To = aws.Int32(from), aws.Int32(to)
	case "icmp", "icmpv6":
		r.From, r.To = aws.Int32(-1), aws.Int32(-1)
		if perm.FromPort != nil {
			r.From = aws.Int32(*perm.FromPort)
		}
		if perm.ToPort != nil {
			r.To = aws.Int32(*perm.ToPort)
		}
	case "-1":
	default:
		if n, err := strconv.Atoi(protocol); err != nil || n < 0 || n > 255 {
			return r, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Invalid value '%s' for IP protocol. Unknown protocol.", protocol)
		}
	}
	return r, nil
}

// describedPeer is the source or destination of a security group rule, with the description of the rule.
type describedPeer struct {
	Peer        store.Peer
	Description string
}

func (s *securityGroups) readPeers(c *store.Call, g *store.SecurityGroup, perm types.IpPermission) ([]describedPeer, *store.Error) {
	var out []describedPeer
	add := func(p store.Peer, description *string) *store.Error {
		text := aws.ToString(description)
		if len(text) > 255 || !securityGroupTextPattern.MatchString(text) {
			return store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Invalid rule description. Valid descriptions are strings less than 256 characters from the following set:  a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*")
		}
		out = append(out, describedPeer{p, text})
		return nil
	}
	for _, r := range perm.IpRanges {
		block, err := readCIDR(aws.ToString(r.CidrIp), true)
		if err != nil {
			return nil, err
		}
		if err := add(store.Peer{CIDR: block}, r.Description); err != nil {
			return nil, err
		}
	}
	for _, r := range perm.Ipv6Ranges {
		block, err := readCIDR(aws.ToString(r.CidrIpv6), false)
		if err != nil {
			return nil, err
		}
		if err := add(store.Peer{CIDR: block}, r.Description); err != nil {
			return nil, err
		}
	}
	for _, r := range perm.PrefixListIds {
		list, err := findResource(kindPrefixList, c.Partition.PrefixLists, r.PrefixListId)
		if err != nil {
			return nil, err
		}
		if err := add(store.Peer{PrefixList: list.ID}, r.Description); err != nil {
			return nil, err
		}
	}
	for _, r := range perm.UserIdGroupPairs {
		peer, err := s.readSecurityGroupPeer(c, g, r)
		if err != nil {
			return nil, err
		}
		if err := add(peer, r.Description); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain a peer: a CIDR block, a prefix list or a security group")
	}
	return out, nil
}

func readCIDR(text string, v4 bool) (netip.Prefix, *store.Error) {
	block, err := netip.ParsePrefix(text)
	if err != nil || block.Addr().Is4() != v4 {
		return netip.Prefix{}, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "CIDR block %s is malformed", text)
	}
	return block.Masked(), nil
}

// readSecurityGroupPeer reads a reference to another security group, which may belong to another account.
func (s *securityGroups) readSecurityGroupPeer(c *store.Call, g *store.SecurityGroup, pair types.UserIdGroupPair) (store.Peer, *store.Error) {
	owner := aws.ToString(pair.UserId)
	if owner == "" {
		owner = c.Account
	}
	p := s.store.Partition(owner, c.Region)
	if pair.GroupId == nil && pair.GroupName != nil {
		for _, other := range p.SecurityGroups {
			if other.Name == *pair.GroupName && other.VPCID == g.VPCID {
				return store.Peer{Group: other.ID, GroupOwner: owner}, nil
			}
		}
		return store.Peer{}, store.Errorf(store.UnprovenSource, "InvalidGroup.NotFound", "The security group '%s' does not exist", *pair.GroupName)
	}
	other, err := findResource(kindSecurityGroup, p.SecurityGroups, pair.GroupId)
	if err != nil {
		return store.Peer{}, err
	}
	if owner == c.Account && other.VPCID != g.VPCID {
		return store.Peer{}, store.Errorf(store.ReportSource("kubernetes-sigs/aws-load-balancer-controller#1862"), "InvalidGroup.NotFound", "You have specified two resources that belong to different networks.")
	}
	return store.Peer{Group: other.ID, GroupOwner: owner}, nil
}

// describePermissions returns rules in the form of DescribeSecurityGroups: one permission for each protocol and port range,
// with all of its peers.
func (s *securityGroups) describePermissions(rules []store.SecurityGroupRule) []types.IpPermission {
	byPorts := map[string]*types.IpPermission{}
	for _, r := range rules {
		key := fmt.Sprintf("%s %s %s", r.Protocol, formatNumber(r.From), formatNumber(r.To))
		perm := byPorts[key]
		if perm == nil {
			perm = &types.IpPermission{
				IpProtocol: aws.String(r.Protocol), FromPort: r.From, ToPort: r.To,
				IpRanges: []types.IpRange{}, Ipv6Ranges: []types.Ipv6Range{},
				PrefixListIds: []types.PrefixListId{}, UserIdGroupPairs: []types.UserIdGroupPair{},
			}
			byPorts[key] = perm
		}
		description := store.StringOrNil(r.Description)
		switch {
		case r.Peer.Group != "":
			perm.UserIdGroupPairs = append(perm.UserIdGroupPairs, types.UserIdGroupPair{
				GroupId: aws.String(r.Peer.Group), UserId: aws.String(r.Peer.GroupOwner), Description: description})
		case r.Peer.PrefixList != "":
			perm.PrefixListIds = append(perm.PrefixListIds, types.PrefixListId{
				PrefixListId: aws.String(r.Peer.PrefixList), Description: description})
		case r.Peer.CIDR.Addr().Is4():
			perm.IpRanges = append(perm.IpRanges, types.IpRange{CidrIp: aws.String(r.CIDR(true)), Description: description})
		default:
			perm.Ipv6Ranges = append(perm.Ipv6Ranges, types.Ipv6Range{CidrIpv6: aws.String(r.CIDR(false)), Description: description})
		}
	}
	out := make([]types.IpPermission, 0, len(byPorts))
	for _, key := range store.SortedKeys(byPorts) {
		out = append(out, *byPorts[key])
	}
	return store.Shuffle(s.store, out)
}

// formatRule returns a rule as text for error messages.
func formatRule(r store.SecurityGroupRule) string {
	peer := r.Peer.Group + r.Peer.PrefixList
	if r.Peer.CIDR.IsValid() {
		peer = r.Peer.CIDR.String()
	}
	if r.Protocol == "-1" {
		return fmt.Sprintf("peer: %s, ALL, ALLOW", peer)
	}
	if r.From == nil {
		return fmt.Sprintf("peer: %s, %s, ALLOW", peer, strings.ToUpper(r.Protocol))
	}
	return fmt.Sprintf("peer: %s, %s, from port: %d, to port: %d, ALLOW", peer, strings.ToUpper(r.Protocol), *r.From, *r.To)
}
