package ec2

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// DescribeAvailabilityZones lists Availability Zones. Zones that are not opted in are only listed if the request sets
// AllAvailabilityZones.
func (s *networks) DescribeAvailabilityZones(c *store.Call, in *ec2.DescribeAvailabilityZonesInput) (*ec2.DescribeAvailabilityZonesOutput, error) {
	all := aws.ToBool(in.AllAvailabilityZones)
	var zones []*store.Zone
	for _, z := range c.Partition.Zones {
		if all || z.OptIn != "not-opted-in" {
			zones = append(zones, z)
		}
	}
	if len(in.ZoneNames)+len(in.ZoneIds) > 0 {
		var named []*store.Zone
		for _, z := range zones {
			if slices.Contains(in.ZoneNames, z.Name) || slices.Contains(in.ZoneIds, z.ID) {
				named = append(named, z)
			}
		}
		for _, name := range in.ZoneNames {
			if !slices.ContainsFunc(named, func(z *store.Zone) bool { return z.Name == name }) {
				return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Invalid availability zone: [%s]", name)
			}
		}
		for _, id := range in.ZoneIds {
			if !slices.ContainsFunc(named, func(z *store.Zone) bool { return z.ID == id }) {
				return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Invalid availability zone-id: [%s]", id)
			}
		}
		zones = named
	}
	zones, err := filterItems(zones, in.Filters, filters[*store.Zone]{
		"zone-name":        func(z *store.Zone) []string { return textValue(z.Name) },
		"zone-id":          func(z *store.Zone) []string { return textValue(z.ID) },
		"zone-type":        func(z *store.Zone) []string { return textValue(z.Type) },
		"state":            func(z *store.Zone) []string { return textValue(z.State) },
		"opt-in-status":    func(z *store.Zone) []string { return textValue(z.OptIn) },
		"region-name":      func(*store.Zone) []string { return textValue(c.Region) },
		"group-name":       func(z *store.Zone) []string { return textValue(z.Group) },
		"parent-zone-name": func(z *store.Zone) []string { return textValue(z.Parent) },
	}, nil)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeAvailabilityZonesOutput{AvailabilityZones: []types.AvailabilityZone{}}
	for _, z := range zones {
		az := types.AvailabilityZone{
			ZoneName: aws.String(z.Name), ZoneId: aws.String(z.ID), ZoneType: aws.String(z.Type),
			State: types.AvailabilityZoneState(z.State), RegionName: aws.String(c.Region),
			OptInStatus: types.AvailabilityZoneOptInStatus(z.OptIn), GroupName: aws.String(z.Group),
			NetworkBorderGroup: aws.String(z.BorderGroup),
		}
		if z.Parent != "" {
			az.ParentZoneName = aws.String(z.Parent)
		}
		out.AvailabilityZones = append(out.AvailabilityZones, az)
	}
	store.Shuffle(s.store, out.AvailabilityZones)
	return out, nil
}

// DescribeRegions lists the regions in the request. Without region names it lists the region of the call and the regions
// with the global services. It has no complete list of regions, because the emulator accepts any region name.
func (s *networks) DescribeRegions(c *store.Call, in *ec2.DescribeRegionsInput) (*ec2.DescribeRegionsOutput, error) {
	names := in.RegionNames
	if len(names) == 0 {
		names = []string{c.Region, s.store.AWSPartition().Home}
		if s.store.AWSPartition().Name == "aws" {
			names = append(names, "us-west-2")
		}
		names = slices.Compact(slices.Sorted(slices.Values(names)))
	}
	out := &ec2.DescribeRegionsOutput{}
	for _, name := range names {
		out.Regions = append(out.Regions, types.Region{
			RegionName: aws.String(name), Endpoint: aws.String("ec2." + name + "." + s.store.AWSPartition().Suffix),
			OptInStatus: aws.String("opt-in-not-required"),
		})
	}
	return out, nil
}
