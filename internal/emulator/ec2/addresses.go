package ec2

import (
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// AllocateAddress allocates an Elastic IP address.
func (s *networks) AllocateAddress(c *store.Call, in *ec2.AllocateAddressInput) (*ec2.AllocateAddressOutput, error) {
	p := c.Partition
	if in.Domain != "" && in.Domain != types.DomainTypeVpc {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Value (%s) for parameter domain is invalid", in.Domain)
	}
	if len(p.Addresses) >= s.store.Quota("elastic-ips", 100) {
		return nil, store.Errorf(store.UnprovenSource, "AddressLimitExceeded", "The maximum number of addresses has been reached.")
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeElasticIp)
	if err != nil {
		return nil, err
	}
	a := &store.Address{AllocationID: s.store.NewID("eipalloc-"), PublicIP: freePublicAddress(p)}
	p.Addresses[a.AllocationID] = a
	p.AddTags(a.AllocationID, tags)
	return &ec2.AllocateAddressOutput{
		AllocationId: aws.String(a.AllocationID), PublicIp: aws.String(a.PublicIP.String()), Domain: types.DomainTypeVpc,
		NetworkBorderGroup: aws.String(c.Region), PublicIpv4Pool: aws.String("amazon"),
	}, nil
}

// freePublicAddress returns a public address that is not allocated. It is in a range that is reserved for benchmarks, so
// that no host on the internet has it.
func freePublicAddress(p *store.Partition) netip.Addr {
	taken := map[netip.Addr]bool{}
	for _, a := range p.Addresses {
		taken[a.PublicIP] = true
	}
	block := netip.MustParsePrefix("198.18.0.0/15")
	for n := 1; ; n++ {
		if a := store.IPv4At(block, n); !taken[a] {
			return a
		}
	}
}

// ReleaseAddress releases an Elastic IP address.
func (s *networks) ReleaseAddress(c *store.Call, in *ec2.ReleaseAddressInput) (*ec2.ReleaseAddressOutput, error) {
	a, err := findResource(kindAddress, c.Partition.Addresses, in.AllocationId)
	if err != nil {
		return nil, err
	}
	if a.AssociationID != "" {
		return nil, store.Errorf(store.UnprovenSource, "InvalidIPAddress.InUse", "Address %s is in use.", a.PublicIP)
	}
	delete(c.Partition.Addresses, a.AllocationID)
	delete(c.Partition.Tags, a.AllocationID)
	return &ec2.ReleaseAddressOutput{}, nil
}

// DescribeAddresses lists Elastic IP addresses. The operation has no pages.
func (s *networks) DescribeAddresses(c *store.Call, in *ec2.DescribeAddressesInput) (*ec2.DescribeAddressesOutput, error) {
	p := c.Partition
	if err := checkIDs(kindAddress, p.Addresses, in.AllocationIds); err != nil {
		return nil, err
	}
	ids := store.SortedKeys(p.Addresses)
	if len(in.AllocationIds) > 0 {
		ids = slices.Compact(slices.Sorted(slices.Values(in.AllocationIds)))
	}
	for _, ip := range in.PublicIps {
		if !slices.ContainsFunc(ids, func(id string) bool { return p.Addresses[id].PublicIP.String() == ip }) {
			return nil, store.Errorf(store.UnprovenSource, "InvalidAddress.NotFound", "Address '%s' not found.", ip)
		}
	}
	if len(in.PublicIps) > 0 {
		ids = withoutMatching(ids, func(id string) bool { return !slices.Contains(in.PublicIps, p.Addresses[id].PublicIP.String()) })
	}
	ids, err := filterItems(ids, in.Filters, filters[string]{
		"allocation-id":        func(id string) []string { return textValue(id) },
		"association-id":       func(id string) []string { return textValue(p.Addresses[id].AssociationID) },
		"public-ip":            func(id string) []string { return textValue(p.Addresses[id].PublicIP.String()) },
		"network-interface-id": func(id string) []string { return textValue(p.Addresses[id].InterfaceID) },
		"private-ip-address":   func(id string) []string { return textValue(privateAddressText(p.Addresses[id])) },
		"domain":               func(string) []string { return textValue("vpc") },
	}, func(id string) map[string]string { return p.Tags[id] })
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeAddressesOutput{Addresses: []types.Address{}}
	for _, id := range ids {
		a := p.Addresses[id]
		item := types.Address{
			AllocationId: aws.String(a.AllocationID), PublicIp: aws.String(a.PublicIP.String()), Domain: types.DomainTypeVpc,
			AssociationId: store.StringOrNil(a.AssociationID), NetworkInterfaceId: store.StringOrNil(a.InterfaceID), PrivateIpAddress: store.StringOrNil(privateAddressText(a)),
			NetworkBorderGroup: aws.String(c.Region), PublicIpv4Pool: aws.String("amazon"), Tags: s.tagList(p, id),
		}
		if eni := p.NetworkInterfaces[a.InterfaceID]; eni != nil {
			item.NetworkInterfaceOwnerId = aws.String(eni.Owner)
		}
		out.Addresses = append(out.Addresses, item)
	}
	store.Shuffle(s.store, out.Addresses)
	return out, nil
}

func privateAddressText(a *store.Address) string {
	if !a.PrivateIP.IsValid() {
		return ""
	}
	return a.PrivateIP.String()
}
