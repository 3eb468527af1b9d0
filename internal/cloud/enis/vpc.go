package enis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

// vpcRanges are the CIDR ranges of a VPC.
type vpcRanges struct {
	ranges    []string
	invisible bool // the VPC does not exist, or the account cannot see it
}

// VPCRanges implements bindings.Cloud.
func (p *ENIs) VPCRanges(ctx context.Context, vpc string) ([]string, error) {
	maxAge := func(f vpcRanges) time.Duration {
		if f.invisible {
			return durations.EditableFactAge
		}
		return durations.RarelyChangedAge
	}
	f, err := p.ranges.GetWithAge(ctx, "vpc "+vpc, maxAge, func(ctx context.Context) (vpcRanges, error) {
		out, err := p.API.EC2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{vpc}})
		if sdk.IsGone(err) {
			return vpcRanges{invisible: true}, nil
		}
		if err != nil {
			return vpcRanges{}, fmt.Errorf("read VPC %s: %w", vpc, err)
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
		return vpcRanges{ranges: ranges}, nil
	})
	if err != nil {
		return nil, err
	}
	if f.invisible {
		return nil, sdk.NewError(failure.Gone, "read VPC "+vpc, "the VPC does not exist, or this account cannot see it")
	}
	return f.ranges, nil
}
