package enis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

// vpcRanges are the CIDR ranges of a VPC.
type vpcRanges struct {
	ranges    []string
	invisible bool // the VPC does not exist, or the account cannot see it
	readAt    time.Time
}

// cacheVPCRanges caches the ranges of a VPC, and removes old ranges. Users choose the IDs of VPCs, and thereby the number of
// entries.
func (p *ENIs) cacheVPCRanges(vpc string, f vpcRanges) {
	p.WithLock(func() {
		cache.Put(p.ranges, vpc, f, func(old vpcRanges) bool { return !p.IsYounger(old.readAt, durations.CacheRetention) })
	})
}

// VPCRanges implements bindings.Cloud.
func (p *ENIs) VPCRanges(ctx context.Context, vpc string) ([]string, error) {
	cached := func() (f vpcRanges, ok bool) {
		p.WithLock(func() {
			f = p.ranges[vpc]
			ok = p.IsYounger(f.readAt, durations.RarelyChangedAge) && (!f.invisible || p.IsYounger(f.readAt, durations.EditableFactAge))
		})
		return f, ok
	}
	f, err := sdk.CachedOrRead(ctx, p.ReadOptional, "vpc "+vpc, cached, func() error {
		start := p.Config.Clock.Now()
		out, err := p.API.EC2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{vpc}})
		if sdk.IsGone(err) {
			p.cacheVPCRanges(vpc, vpcRanges{invisible: true, readAt: start})
			return nil
		}
		if err != nil {
			return fmt.Errorf("read VPC %s: %w", vpc, err)
		}
		var ranges []string
		for _, v := range out.Vpcs {
			for _, a := range v.CidrBlockAssociationSet {
				if a.CidrBlockState != nil && a.CidrBlockState.State == ec2types.VpcCidrBlockStateCodeAssociated {
					ranges = append(ranges, aws.ToString(a.CidrBlock))
				}
			}
			for _, a := range v.Ipv6CidrBlockAssociationSet {
				if a.Ipv6CidrBlockState != nil && a.Ipv6CidrBlockState.State == ec2types.VpcCidrBlockStateCodeAssociated {
					ranges = append(ranges, aws.ToString(a.Ipv6CidrBlock))
				}
			}
		}
		slices.Sort(ranges)
		p.cacheVPCRanges(vpc, vpcRanges{ranges: ranges, readAt: start})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if f.invisible {
		return nil, sdk.NewError(failure.Gone, "read VPC "+vpc, "the VPC does not exist, or this account cannot see it")
	}
	return f.ranges, nil
}
