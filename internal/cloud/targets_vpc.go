package cloud

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// VPCRanges implements bindings.Cloud.
func (c *Cloud) VPCRanges(ctx context.Context, vpc string) ([]string, error) {
	cached := func() (f vpcRanges, ok bool) {
		c.facts.with(func() {
			f = c.facts.ranges[vpc]
			ok = c.younger(f.at, rangesFor) && (!f.unseen || c.younger(f.at, unseenFor))
		})
		return f, ok
	}
	answer := func(f vpcRanges) ([]string, error) {
		if f.unseen {
			return nil, failed(engine.Gone, "read VPC "+vpc, "it is not seen by this account")
		}
		return f.ranges, nil
	}
	f, err := asked(ctx, c.client, "vpc "+vpc, cached, func() error {
		start := c.cfg.Now()
		out, err := c.api.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{vpc}})
		if isGone(err) {
			c.facts.with(func() { c.facts.ranges[vpc] = vpcRanges{unseen: true, at: start} })
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
		c.facts.with(func() { c.facts.ranges[vpc] = vpcRanges{ranges: ranges, at: start} })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer(f)
}
