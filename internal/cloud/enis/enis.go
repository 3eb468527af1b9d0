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

// ENIs finds the ENIs of nodes and pods, and changes the rules of their security groups.
type ENIs struct {
	*sdk.Client

	cache.Guard
	cache  eniCache
	ranges map[string]vpcRanges
}

// Reset forgets what was read.
func (p *ENIs) Reset() {
	p.With(func() { p.cache, p.ranges = newENICache(), map[string]vpcRanges{} })
}

// eniCache caches ENIs, and the security groups of nodes and pods.
type eniCache struct {
	found map[keyKind]map[string]cachedENIs // by key, for each kind of key
	tags  map[string]cachedTags             // of security groups

	groups   map[string]cachedRules // by id
	taggedAt time.Time
}

// cachedENIs are the ENIs that were found for a key, none if there is no such ENI.
type cachedENIs struct {
	list []network.ENI
	at   time.Time
}

type cachedTags struct {
	tags map[string]string
	at   time.Time
}

func newENICache() eniCache {
	return eniCache{
		found: map[keyKind]map[string]cachedENIs{byInstance: {}, byID: {}, byAddress: {}},
		tags:  map[string]cachedTags{}, groups: map[string]cachedRules{},
	}
}

// ENIs implements bindings.EndpointSecurityGroups.
func (p *ENIs) ENIs(ctx context.Context, q bindings.ENIQuery) (bindings.ENIs, error) {
	for _, l := range []lookup{{byInstance, q.Instances, q.Carried}, {byID, q.IDs, nil}, {byAddress, q.Addresses, nil}} {
		if err := p.readMissing(ctx, l, p.NotBefore(q.MaxAge)); err != nil {
			return bindings.ENIs{}, fmt.Errorf("find network interfaces by %s: %w", l.by, err)
		}
	}
	return p.fromCache(q), nil
}

// keyKind is the kind of key by which ENIs are found.
type keyKind string

const (
	byInstance keyKind = "instances"
	byID       keyKind = "interfaces"
	byAddress  keyKind = "addresses"
)

// lookup is a search for ENIs by keys of one kind.
type lookup struct {
	by      keyKind
	keys    []string
	carried map[string][]string // addresses that the ENIs of a key are expected to carry
}

// read reads ENIs from AWS.
func (p *ENIs) read(ctx context.Context, by keyKind, keys []string) (map[string][]network.ENI, error) {
	switch by {
	case byInstance:
		return p.readInstances(ctx, keys)
	case byID:
		return p.readENIs(ctx, keys)
	}
	return p.readAddresses(ctx, keys)
}

// readMissing reads the ENIs of those keys that were not read since the given time, or whose ENIs lack an address that they
// are expected to carry.
func (p *ENIs) readMissing(ctx context.Context, l lookup, since time.Time) error {
	start := p.Config.Clock.Now().Add(-durations.Moment)
	missing := func() (out []string) {
		p.With(func() {
			for _, key := range l.keys {
				f := p.cache.found[l.by][key]
				lacks := len(f.list) == 0 || !haveAllAddresses(f.list, l.carried[key])
				if !p.IsYounger(f.at, durations.Stable) || f.at.Before(since) || lacks && !f.at.After(start) {
					out = append(out, key)
				}
			}
		})
		return out
	}
	for len(missing()) > 0 {
		err := p.Share(ctx, string(l.by), func() error {
			keys := sdk.SortedUnique(missing())
			if len(keys) == 0 {
				return nil
			}
			at := p.Config.Clock.Now()
			got, err := p.read(ctx, l.by, keys)
			if err != nil {
				return err
			}
			p.With(func() {
				found := p.cache.found[l.by]
				maps.DeleteFunc(found, func(_ string, f cachedENIs) bool { return !p.IsYounger(f.at, durations.Stable) })
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

// haveAllAddresses reports whether the ENIs together carry all of the addresses.
func haveAllAddresses(list []network.ENI, addresses []string) bool {
	return !slices.ContainsFunc(addresses, func(a string) bool {
		_, ok := network.ENIOf(a, list)
		return !ok
	})
}

func (p *ENIs) fromCache(q bindings.ENIQuery) bindings.ENIs {
	out := bindings.ENIs{OfInstance: map[string][]network.ENI{}, ByID: map[string]network.ENI{}, ByAddress: map[string]network.ENI{}}
	p.With(func() {
		e := p.cache.found
		for _, k := range q.Instances {
			if l := e[byInstance][k].list; len(l) > 0 {
				out.OfInstance[k] = l
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

// readInstances reads the ENIs of instances. It uses a filter, since one id that does not exist would make the whole call
// fail.
func (p *ENIs) readInstances(ctx context.Context, ids []string) (map[string][]network.ENI, error) {
	out := map[string][]network.ENI{}
	for batch := range slices.Chunk(ids, sdk.FilterBatch) {
		pages := ec2.NewDescribeInstancesPaginator(p.API.EC2, &ec2.DescribeInstancesInput{Filters: sdk.Filters("instance-id", batch...)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
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
	return out, p.setSecurityGroupTags(ctx, out)
}

func (p *ENIs) readENIs(ctx context.Context, ids []string) (map[string][]network.ENI, error) {
	out := map[string][]network.ENI{}
	for batch := range slices.Chunk(ids, sdk.FilterBatch) {
		err := p.eachENI(ctx, sdk.Filters("network-interface-id", batch...), func(i network.ENI) { out[i.ID] = []network.ENI{i} })
		if err != nil {
			return nil, err
		}
	}
	return out, p.setSecurityGroupTags(ctx, out)
}

func (p *ENIs) readAddresses(ctx context.Context, addresses []string) (map[string][]network.ENI, error) {
	out := map[string][]network.ENI{}
	families := map[string][]string{}
	for _, a := range addresses {
		if strings.Contains(a, ":") {
			families["ipv6-addresses.ipv6-address"] = append(families["ipv6-addresses.ipv6-address"], a)
		} else {
			families["addresses.private-ip-address"] = append(families["addresses.private-ip-address"], a)
		}
	}
	for _, name := range []string{"addresses.private-ip-address", "ipv6-addresses.ipv6-address"} {
		for batch := range slices.Chunk(families[name], sdk.FilterBatch) {
			err := p.eachENI(ctx, append(sdk.Filters("vpc-id", p.VPC), sdk.Filter(name, batch...)), func(i network.ENI) {
				for _, a := range batch {
					if i.Carries(a) {
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
	return out, p.setSecurityGroupTags(ctx, out)
}

func (p *ENIs) eachENI(ctx context.Context, f []ec2types.Filter, do func(network.ENI)) error {
	pages := ec2.NewDescribeNetworkInterfacesPaginator(p.API.EC2, &ec2.DescribeNetworkInterfacesInput{Filters: f})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, n := range page.NetworkInterfaces {
			i := network.ENI{ID: aws.ToString(n.NetworkInterfaceId), Groups: eniSecurityGroups(n.Groups)}
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
	i := network.ENI{ID: aws.ToString(n.NetworkInterfaceId), Groups: eniSecurityGroups(n.Groups)}
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

// fieldTexts returns one field of each value of a list.
func fieldTexts[T any](list []T, field func(T) *string) []string {
	var out []string
	for _, v := range list {
		out = append(out, aws.ToString(field(v)))
	}
	return out
}

func eniSecurityGroups(groups []ec2types.GroupIdentifier) []network.ENIGroup {
	var out []network.ENIGroup
	for _, g := range groups {
		out = append(out, network.ENIGroup{ID: aws.ToString(g.GroupId)})
	}
	slices.SortFunc(out, func(a, b network.ENIGroup) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// setSecurityGroupTags fills in the tags of the security groups of ENIs with several: they decide which of the
// security groups gets the rules.
func (p *ENIs) setSecurityGroupTags(ctx context.Context, found map[string][]network.ENI) error {
	each := func(do func(*network.ENIGroup)) {
		for _, l := range found {
			for i := range l {
				if len(l[i].Groups) < 2 {
					continue
				}
				for j := range l[i].Groups {
					do(&l[i].Groups[j])
				}
			}
		}
	}
	var unknown []string
	p.With(func() {
		each(func(g *network.ENIGroup) {
			if !p.IsYounger(p.cache.tags[g.ID].at, durations.Stable) {
				unknown = append(unknown, g.ID)
			}
		})
	})
	for batch := range slices.Chunk(sdk.SortedUnique(unknown), sdk.FilterBatch) {
		start := p.Config.Clock.Now()
		pages := ec2.NewDescribeSecurityGroupsPaginator(p.API.EC2, &ec2.DescribeSecurityGroupsInput{Filters: sdk.Filters("group-id", batch...)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return err
			}
			p.With(func() {
				for _, g := range page.SecurityGroups {
					p.cache.tags[aws.ToString(g.GroupId)] = cachedTags{convert.EC2TagsFromAWS(g.Tags), start}
				}
			})
		}
	}
	p.With(func() {
		each(func(g *network.ENIGroup) { g.Tags = p.cache.tags[g.ID].tags })
	})
	return nil
}
