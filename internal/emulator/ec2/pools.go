package ec2

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// CreateIpamPool creates an IPAM pool without addresses.
func (s *networks) CreateIpamPool(c *store.Call, in *ec2.CreateIpamPoolInput) (*ec2.CreateIpamPoolOutput, error) {
	p := c.Partition
	if pool := resourceByToken(c, p.IPAMPools, in.ClientToken); pool != nil {
		return &ec2.CreateIpamPoolOutput{IpamPool: new(s.describeIPAMPool(p, pool))}, nil
	}
	if in.AddressFamily == "" || aws.ToString(in.IpamScopeId) == "" {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameters IpamScopeId and AddressFamily")
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeIpamPool)
	if err != nil {
		return nil, err
	}
	pool := &store.IPAMPool{
		ID: s.store.NewID("ipam-pool-"), ScopeID: *in.IpamScopeId, Family: string(in.AddressFamily),
		Description: aws.ToString(in.Description), Locale: aws.ToString(in.Locale),
	}
	p.IPAMPools[pool.ID] = pool
	p.AddTags(pool.ID, tags)
	recordToken(c, in.ClientToken, pool.ID)
	return &ec2.CreateIpamPoolOutput{IpamPool: new(s.describeIPAMPool(p, pool))}, nil
}

// DescribeIpamPools lists IPAM pools.
func (s *networks) DescribeIpamPools(c *store.Call, in *ec2.DescribeIpamPoolsInput) (*ec2.DescribeIpamPoolsOutput, error) {
	p := c.Partition
	items, next, err := describe(s.core, c, kindIPAMPool, p.IPAMPools, describeQuery{in.IpamPoolIds, in.Filters, in.MaxResults, in.NextToken}, filters[*store.IPAMPool]{
		"ipam-pool-id":   func(x *store.IPAMPool) []string { return textValue(x.ID) },
		"ipam-scope-id":  func(x *store.IPAMPool) []string { return textValue(x.ScopeID) },
		"address-family": func(x *store.IPAMPool) []string { return textValue(x.Family) },
		"locale":         func(x *store.IPAMPool) []string { return textValue(x.Locale) },
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeIpamPoolsOutput{NextToken: next, IpamPools: []types.IpamPool{}}
	for _, x := range items {
		out.IpamPools = append(out.IpamPools, s.describeIPAMPool(p, x))
	}
	return out, nil
}

func (s *networks) describeIPAMPool(p *store.Partition, x *store.IPAMPool) types.IpamPool {
	return types.IpamPool{
		IpamPoolId: aws.String(x.ID), AddressFamily: types.AddressFamily(x.Family), Description: store.StringOrNil(x.Description),
		IpamPoolArn: aws.String("arn:" + p.AWSPartition().Name + ":ec2::" + p.Account + ":ipam-pool/" + x.ID), Locale: store.StringOrNil(x.Locale),
		OwnerId: aws.String(p.Account), IpamRegion: aws.String(p.Region), State: types.IpamPoolStateCreateComplete,
		Tags: s.tagList(p, x.ID),
	}
}

// DescribeCoipPools lists the pools of customer-owned IP addresses (CoIP), which belong to Outposts. No operation of the
// emulator creates such pools.
func (s *networks) DescribeCoipPools(c *store.Call, in *ec2.DescribeCoipPoolsInput) (*ec2.DescribeCoipPoolsOutput, error) {
	p := c.Partition
	items, next, err := describe(s.core, c, kindCoIPPool, p.CoIPPools, describeQuery{in.PoolIds, in.Filters, in.MaxResults, in.NextToken}, filters[*store.CoIPPool]{
		"coip-pool.pool-id":                      func(x *store.CoIPPool) []string { return textValue(x.ID) },
		"coip-pool.local-gateway-route-table-id": func(x *store.CoIPPool) []string { return textValue(x.RouteTableID) },
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeCoipPoolsOutput{NextToken: next, CoipPools: []types.CoipPool{}}
	for _, x := range items {
		item := types.CoipPool{
			PoolId: aws.String(x.ID), LocalGatewayRouteTableId: store.StringOrNil(x.RouteTableID),
			PoolArn: aws.String(p.ARN("ec2", "coip-pool/"+x.ID)), Tags: s.tagList(p, x.ID),
		}
		for _, b := range x.CIDRs {
			item.PoolCidrs = append(item.PoolCidrs, b.String())
		}
		out.CoipPools = append(out.CoipPools, item)
	}
	return out, nil
}
