package enis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// ENIs finds the ENIs of nodes and pods, and reads and changes the rules of the security groups of these ENIs. It caches
// what it reads.
type ENIs struct {
	*sdk.Client
	ranges *sdk.Answers[vpcRanges]
	// admitting has the IDs of the security groups without the tag of a cluster that have rules from a security group.
	admitting *sdk.Answers[[]string]

	cache.Guard
	cache eniCache
}

// New returns ENIs. Reset must be called before the first use.
func New(client *sdk.Client) *ENIs {
	return &ENIs{Client: client, ranges: sdk.NewAnswers[vpcRanges](client), admitting: sdk.NewAnswers[[]string](client)}
}

// Reset empties the cache.
func (p *ENIs) Reset() {
	p.ranges.Expire()
	p.admitting.Expire()
	p.WithLock(func() { p.cache = newENICache() })
}

// eniCache has the cached ENIs, and the cached security groups of nodes and pods.
type eniCache struct {
	enisByKey map[keyKind]map[string]cachedENIs // by key, for each kind of key
	tags      map[string]cachedTags             // tags of security groups, by ID

	securityGroups map[string]cachedRules // by ID
	taggedReadAt   time.Time
}

// cachedENIs are the ENIs that were found for a key. The list is empty if no ENI was found.
type cachedENIs struct {
	list   []network.ENI
	readAt time.Time
}

type cachedTags struct {
	tags   map[string]string
	readAt time.Time
}

func newENICache() eniCache {
	return eniCache{
		enisByKey: map[keyKind]map[string]cachedENIs{byInstance: {}, byID: {}, byAddress: {}},
		tags:      map[string]cachedTags{}, securityGroups: map[string]cachedRules{},
	}
}

// ENIs implements bindings.EndpointSecurityGroups.
func (p *ENIs) ENIs(ctx context.Context, q bindings.ENIQuery) (bindings.ENIs, error) {
	for _, l := range []eniLookup{{byInstance, q.Instances, q.ExpectedAddresses}, {byID, q.IDs, nil}, {byAddress, q.Addresses, nil}} {
		if err := p.readMissing(ctx, l, p.EarliestReadTime(q.MaxAge)); err != nil {
			return bindings.ENIs{}, fmt.Errorf("find ENIs by %s: %w", l.keyKind, err)
		}
	}
	return p.enisFromCache(q), nil
}

// keyKind is the kind of key by which ENIs are found.
type keyKind string

const (
	byInstance keyKind = "instances"
	byID       keyKind = "IDs"
	byAddress  keyKind = "addresses"
)

// eniLookup is a search for ENIs by keys of one kind.
type eniLookup struct {
	keyKind           keyKind
	keys              []string
	expectedAddresses map[string][]string // addresses that the ENIs of a key are expected to have
}

// readByKeys reads ENIs from AWS, and returns them by key. A key without an ENI is not in the result.
func (p *ENIs) readByKeys(ctx context.Context, by keyKind, keys []string) (out map[string][]network.ENI, err error) {
	switch by {
	case byInstance:
		out, err = p.readInstances(ctx, keys)
	case byID:
		out, err = p.readENIs(ctx, keys)
	default:
		out, err = p.readAddresses(ctx, keys)
	}
	if err != nil {
		return nil, err
	}
	return out, p.setSecurityGroupTags(ctx, out)
}

// readMissing reads the ENIs of the keys in l that are not cached, or were cached before the time since or longer than
// durations.RarelyChangedAge ago. It also reads the ENIs of a key again, at most once per durations.Moment, if no ENI was
// found for the key or the ENIs do not have all expected addresses.
func (p *ENIs) readMissing(ctx context.Context, l eniLookup, since time.Time) error {
	start := p.Config.Clock.Now().Add(-durations.Moment)
	missing := func() (out []string) {
		p.WithLock(func() {
			for _, key := range l.keys {
				f := p.cache.enisByKey[l.keyKind][key]
				lacks := len(f.list) == 0 || !haveAllAddresses(f.list, l.expectedAddresses[key])
				if !p.IsYounger(f.readAt, durations.RarelyChangedAge) || f.readAt.Before(since) || lacks && !f.readAt.After(start) {
					out = append(out, key)
				}
			}
		})
		return out
	}
	for len(missing()) > 0 {
		err := p.ReadShared(ctx, string(l.keyKind), func() error {
			keys := sdk.SortedUnique(missing())
			if len(keys) == 0 {
				return nil
			}
			at := p.Config.Clock.Now()
			got, err := p.readByKeys(ctx, l.keyKind, keys)
			if err != nil {
				return err
			}
			p.WithLock(func() {
				found := p.cache.enisByKey[l.keyKind]
				maps.DeleteFunc(found, func(_ string, f cachedENIs) bool { return !p.IsYounger(f.readAt, durations.RarelyChangedAge) })
				for _, key := range keys {
					found[key] = cachedENIs{got[key], at}
				}
			})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// haveAllAddresses reports whether each address belongs to one of the ENIs in list.
func haveAllAddresses(list []network.ENI, addresses []string) bool {
	return !slices.ContainsFunc(addresses, func(a string) bool {
		_, ok := network.ENIWithAddress(a, list)
		return !ok
	})
}

func (p *ENIs) enisFromCache(q bindings.ENIQuery) bindings.ENIs {
	out := bindings.ENIs{ByInstance: map[string][]network.ENI{}, ByID: map[string]network.ENI{}, ByAddress: map[string]network.ENI{}}
	p.WithLock(func() {
		e := p.cache.enisByKey
		for _, k := range q.Instances {
			if l := e[byInstance][k].list; len(l) > 0 {
				out.ByInstance[k] = l
			}
		}
		for _, k := range q.IDs {
			if l := e[byID][k].list; len(l) > 0 {
				out.ByID[k] = l[0]
			}
		}
		for _, k := range q.Addresses {
			if l := e[byAddress][k].list; len(l) > 0 {
				out.ByAddress[k] = l[0]
			}
		}
	})
	return out
}

// readInstances reads the ENIs of instances, and returns them by instance ID. It sends the IDs as a filter, because
// otherwise a single ID that does not exist would make the whole call fail.
func (p *ENIs) readInstances(ctx context.Context, ids []string) (map[string][]network.ENI, error) {
	out := map[string][]network.ENI{}
	for batch := range slices.Chunk(ids, sdk.MaxFilterValues) {
		for page, err := range sdk.Pages(ctx, ec2.NewDescribeInstancesPaginator(p.API.EC2, &ec2.DescribeInstancesInput{Filters: sdk.Filters("instance-id", batch...)})) {
			if err != nil {
				return nil, err
			}
			for _, r := range page.Reservations {
				for _, i := range r.Instances {
					for _, n := range i.NetworkInterfaces {
						id := aws.ToString(i.InstanceId)
						out[id] = append(out[id], instanceENI(n))
					}
				}
			}
		}
	}
	for _, l := range out {
		slices.SortFunc(l, func(a, b network.ENI) int { return int(a.DeviceIndex) - int(b.DeviceIndex) })
	}
	return out, nil
}

func (p *ENIs) readENIs(ctx context.Context, ids []string) (map[string][]network.ENI, error) {
	out := map[string][]network.ENI{}
	for batch := range slices.Chunk(ids, sdk.MaxFilterValues) {
		err := p.forEachENI(ctx, sdk.Filters("network-interface-id", batch...), func(i network.ENI) { out[i.ID] = []network.ENI{i} })
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *ENIs) readAddresses(ctx context.Context, addresses []string) (map[string][]network.ENI, error) {
	out := map[string][]network.ENI{}
	for _, family := range []struct {
		filter string
		isIPv6 bool
	}{{"addresses.private-ip-address", false}, {"ipv6-addresses.ipv6-address", true}} {
		isOther := func(a string) bool { return strings.Contains(a, ":") != family.isIPv6 }
		for batch := range slices.Chunk(slices.DeleteFunc(slices.Clone(addresses), isOther), sdk.MaxFilterValues) {
			err := p.forEachENI(ctx, append(sdk.Filters("vpc-id", p.VPC), sdk.Filter(family.filter, batch...)), func(i network.ENI) {
				for _, a := range batch {
					if i.HasAddress(a) {
						out[a] = append(out[a], i)
					}
				}
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for _, l := range out {
		slices.SortFunc(l, func(a, b network.ENI) int { return strings.Compare(a.ID, b.ID) })
	}
	return out, nil
}

func (p *ENIs) forEachENI(ctx context.Context, f []ec2types.Filter, do func(network.ENI)) error {
	for page, err := range sdk.Pages(ctx, ec2.NewDescribeNetworkInterfacesPaginator(p.API.EC2, &ec2.DescribeNetworkInterfacesInput{Filters: f})) {
		if err != nil {
			return err
		}
		for _, n := range page.NetworkInterfaces {
			i := network.ENI{ID: aws.ToString(n.NetworkInterfaceId), SecurityGroups: eniSecurityGroups(n.Groups)}
			if n.Attachment != nil {
				i.DeviceIndex = aws.ToInt32(n.Attachment.DeviceIndex)
			}
			i.Addresses = slices.Concat(
				fieldTexts(n.PrivateIpAddresses, func(a ec2types.NetworkInterfacePrivateIpAddress) *string { return a.PrivateIpAddress }),
				fieldTexts(n.Ipv6Addresses, func(a ec2types.NetworkInterfaceIpv6Address) *string { return a.Ipv6Address }))
			slices.Sort(i.Addresses)
			i.Prefixes = slices.Concat(
				fieldTexts(n.Ipv4Prefixes, func(p ec2types.Ipv4PrefixSpecification) *string { return p.Ipv4Prefix }),
				fieldTexts(n.Ipv6Prefixes, func(p ec2types.Ipv6PrefixSpecification) *string { return p.Ipv6Prefix }))
			do(i)
		}
	}
	return nil
}

func instanceENI(n ec2types.InstanceNetworkInterface) network.ENI {
	i := network.ENI{ID: aws.ToString(n.NetworkInterfaceId), SecurityGroups: eniSecurityGroups(n.Groups)}
	if n.Attachment != nil {
		i.DeviceIndex = aws.ToInt32(n.Attachment.DeviceIndex)
	}
	i.Addresses = slices.Concat(
		fieldTexts(n.PrivateIpAddresses, func(a ec2types.InstancePrivateIpAddress) *string { return a.PrivateIpAddress }),
		fieldTexts(n.Ipv6Addresses, func(a ec2types.InstanceIpv6Address) *string { return a.Ipv6Address }))
	slices.Sort(i.Addresses)
	i.Prefixes = slices.Concat(
		fieldTexts(n.Ipv4Prefixes, func(p ec2types.InstanceIpv4Prefix) *string { return p.Ipv4Prefix }),
		fieldTexts(n.Ipv6Prefixes, func(p ec2types.InstanceIpv6Prefix) *string { return p.Ipv6Prefix }))
	return i
}

// fieldTexts returns one field of each item in a list.
func fieldTexts[T any](list []T, field func(T) *string) []string {
	var out []string
	for _, v := range list {
		out = append(out, aws.ToString(field(v)))
	}
	return out
}

func eniSecurityGroups(groups []ec2types.GroupIdentifier) []network.ENISecurityGroup {
	var out []network.ENISecurityGroup
	for _, g := range groups {
		out = append(out, network.ENISecurityGroup{ID: aws.ToString(g.GroupId)})
	}
	slices.SortFunc(out, func(a, b network.ENISecurityGroup) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// setSecurityGroupTags adds the tags of security groups to ENIs that have several security groups, because the tags decide
// which of these security groups gets the rules.
func (p *ENIs) setSecurityGroupTags(ctx context.Context, found map[string][]network.ENI) error {
	each := func(do func(*network.ENISecurityGroup)) {
		for _, l := range found {
			for i := range l {
				if len(l[i].SecurityGroups) < 2 {
					continue
				}
				for j := range l[i].SecurityGroups {
					do(&l[i].SecurityGroups[j])
				}
			}
		}
	}
	var unknown []string
	p.WithLock(func() {
		each(func(g *network.ENISecurityGroup) {
			if !p.IsYounger(p.cache.tags[g.ID].readAt, durations.RarelyChangedAge) {
				unknown = append(unknown, g.ID)
			}
		})
	})
	for batch := range slices.Chunk(sdk.SortedUnique(unknown), sdk.MaxFilterValues) {
		start := p.Config.Clock.Now()
		for page, err := range sdk.Pages(ctx, ec2.NewDescribeSecurityGroupsPaginator(p.API.EC2, &ec2.DescribeSecurityGroupsInput{Filters: sdk.Filters("group-id", batch...)})) {
			if err != nil {
				return err
			}
			p.WithLock(func() {
				for _, g := range page.SecurityGroups {
					p.cache.tags[aws.ToString(g.GroupId)] = cachedTags{convert.EC2TagsFromAWS(g.Tags), start}
				}
			})
		}
	}
	p.WithLock(func() {
		each(func(g *network.ENISecurityGroup) { g.Tags = p.cache.tags[g.ID].tags })
	})
	return nil
}
