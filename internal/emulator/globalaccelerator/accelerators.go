package globalaccelerator

import (
	"net/netip"
	"slices"

	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	quotaAccelerators           = "standard-accelerators-per-account"
	ipv4AddressesPerAccelerator = 2 // number of static IPv4 addresses of an accelerator
)

// accelerators implements the operations on accelerators.
type accelerators struct{ *Service }

// CreateAccelerator creates an accelerator with its static IP addresses.
func (s accelerators) CreateAccelerator(c *store.Call, in *ga.CreateAcceleratorInput) (*ga.CreateAcceleratorOutput, error) {
	err := firstError(checkPresent("Name", in.Name != nil), checkName(in.Name), checkEnum("IpAddressType", in.IpAddressType, in.IpAddressType.Values()),
		checkMaxItems("IpAddresses", len(in.IpAddresses), ipv4AddressesPerAccelerator), checkTags(in.Tags, nil))
	if err != nil {
		return nil, err
	}
	given := *in
	given.IdempotencyToken = nil
	made, err := s.findByIdempotencyToken(c, in.IdempotencyToken, given)
	if err != nil {
		return nil, err
	}
	st := s.acceleratorState(c)
	if made.arn != "" {
		return &ga.CreateAcceleratorOutput{Accelerator: describeAccelerator(c, st.Accelerators[made.arn])}, nil
	}
	a := &store.Accelerator{
		ARN:  "arn:" + s.store.AWSPartition().Name + ":globalaccelerator::" + c.Account + ":accelerator/" + s.store.RandomUUID(),
		Name: *in.Name, Addressing: types.IpAddressTypeIpv4, Enabled: in.Enabled == nil || *in.Enabled,
		DNSName: "a" + s.store.RandomHex(16) + ".awsglobalaccelerator.com", Created: c.Now, Tags: map[string]string{},
	}
	if in.IpAddressType == types.IpAddressTypeDualStack && len(in.IpAddresses) > 0 {
		return nil, invalidArgumentError(store.UnprovenSource, "IP addresses cannot be specified for an accelerator with the IP address type DUAL_STACK")
	}
	if err := s.assignAddresses(c, a, in.IpAddresses); err != nil {
		return nil, err
	}
	if most := s.store.Quota(quotaAccelerators, 20); len(st.Accelerators) >= most {
		return nil, store.Errorf(store.UnprovenSource, codeLimit, "The limit of %d accelerators has been reached", most)
	}
	if in.IpAddressType == types.IpAddressTypeDualStack {
		s.addIPv6(a)
	}
	for _, t := range in.Tags {
		a.Tags[*t.Key] = *t.Value
	}
	st.Accelerators[a.ARN] = a
	s.storeIdempotencyToken(c, made, a.ARN)
	s.store.AddServiceLinkedRole(c.Account, store.LinkedServiceAccelerator)
	s.recordChange(c, a)
	return &ga.CreateAcceleratorOutput{Accelerator: describeAccelerator(c, a)}, nil
}

// assignAddresses sets the IPv4 addresses of an accelerator: first the requested addresses, which must be in address ranges
// of the account (BYOIP), then addresses of Amazon.
func (s accelerators) assignAddresses(c *store.Call, a *store.Accelerator, requested []string) error {
	var out []netip.Addr
	taken := map[netip.Prefix]bool{}
	for _, text := range requested {
		address, err := netip.ParseAddr(text)
		if err != nil || !address.Is4() {
			return invalidArgumentError(store.UnprovenSource, "The IP address '%s' is not an IPv4 address", text)
		}
		r := s.byoipRangeWithAddress(c, address)
		switch {
		case r == nil:
			return invalidArgumentError(store.UnprovenSource, "The IP address '%s' is not in an address range that was provisioned for the account", text)
		case taken[r.Block]:
			return invalidArgumentError(store.UnprovenSource, "The IP addresses must be of different address ranges")
		case s.acceleratorWithAddress(address) != nil && s.acceleratorWithAddress(address) != a:
			return invalidArgumentError(store.UnprovenSource, "The IP address '%s' is in use", text)
		}
		taken[r.Block] = true
		out = append(out, address)
	}
	// The accelerator keeps its current addresses of Amazon. It has at most one address of Amazon in each network zone.
	for _, zone := range s.store.Config.Accelerator.Zones {
		if len(out) == ipv4AddressesPerAccelerator {
			break
		}
		i := slices.IndexFunc(a.IPv4, zone.Public.Contains)
		if i >= 0 {
			out = append(out, a.IPv4[i])
			continue
		}
		out = append(out, s.randomFreeAddress(zone.Public))
	}
	a.IPv4 = out
	return nil
}

// byoipRangeWithAddress returns the address range (BYOIP) of the account that contains an address. It returns nil if there is
// none, or if its provisioning is pending.
func (s accelerators) byoipRangeWithAddress(c *store.Call, address netip.Addr) *store.AcceleratorCIDR {
	for _, r := range s.acceleratorState(c).CIDRs {
		if r.Block.Contains(address) && r.State(c.Now) != types.ByoipCidrStatePendingProvisioning {
			return r
		}
	}
	return nil
}

// acceleratorWithAddress returns the accelerator of any account that has an IP address, or nil.
func (s accelerators) acceleratorWithAddress(address netip.Addr) *store.Accelerator {
	for _, p := range s.store.Partitions() {
		for _, a := range p.Accelerators.Accelerators {
			if slices.Contains(a.IPv4, address) || slices.Contains(a.IPv6, address) {
				return a
			}
		}
	}
	return nil
}

// randomFreeAddress returns a random address of block that no accelerator has.
func (s accelerators) randomFreeAddress(block netip.Prefix) netip.Addr {
	for {
		if a := s.store.RandomAddress(block); s.acceleratorWithAddress(a) == nil {
			return a
		}
	}
}

func (s accelerators) addIPv6(a *store.Accelerator) {
	a.Addressing = types.IpAddressTypeDualStack
	a.DualStackDNSName = "a" + s.store.RandomHex(16) + ".dualstack.awsglobalaccelerator.com"
	for _, block := range s.store.Config.Accelerator.IPv6 {
		a.IPv6 = append(a.IPv6, s.randomFreeAddress(block))
	}
}

// UpdateAccelerator changes the name, the IP address type or the IP addresses of an accelerator, or enables or disables it.
func (s accelerators) UpdateAccelerator(c *store.Call, in *ga.UpdateAcceleratorInput) (*ga.UpdateAcceleratorOutput, error) {
	a, err := s.findAccelerator(c, in.AcceleratorArn)
	if err != nil {
		return nil, err
	}
	err = firstError(checkName(in.Name), checkEnum("IpAddressType", in.IpAddressType, in.IpAddressType.Values()), checkMaxItems("IpAddresses", len(in.IpAddresses), ipv4AddressesPerAccelerator))
	if err != nil {
		return nil, err
	}
	if len(in.IpAddresses) > 0 && (in.IpAddressType != "" || in.Enabled != nil && !*in.Enabled) {
		return nil, store.Errorf(store.UnprovenSource, "ConflictException", "IP addresses cannot be changed together with the IP address type, or while the accelerator is disabled")
	}
	if err := s.checkNoTransaction(c, a); err != nil {
		return nil, err
	}
	if in.IpAddressType == types.IpAddressTypeDualStack {
		if err := s.checkEndpointsSupportDualStack(c, a); err != nil {
			return nil, err
		}
	}
	if len(in.IpAddresses) > 0 {
		if a.Addressing == types.IpAddressTypeDualStack {
			return nil, invalidArgumentError(store.UnprovenSource, "IP addresses cannot be specified for an accelerator with the IP address type DUAL_STACK")
		}
		if err := s.assignAddresses(c, a, in.IpAddresses); err != nil {
			return nil, err
		}
	}
	if in.IpAddressType != "" && in.IpAddressType != a.Addressing {
		s.changeIPAddressType(c, a, in.IpAddressType)
	}
	if in.Name != nil {
		a.Name = *in.Name
	}
	if in.Enabled != nil {
		if a.Enabled && !*in.Enabled {
			a.DisabledFrom = c.Now.Add(s.store.Config.Accelerator.DeploymentDelay)
		}
		a.Enabled = *in.Enabled
	}
	s.recordChange(c, a)
	return &ga.UpdateAcceleratorOutput{Accelerator: describeAccelerator(c, a)}, nil
}

func (s accelerators) changeIPAddressType(c *store.Call, a *store.Accelerator, to types.IpAddressType) {
	if to == types.IpAddressTypeDualStack {
		s.addIPv6(a)
	} else {
		a.Addressing, a.IPv6, a.DualStackDNSName = to, nil, ""
	}
	a.Events = append(a.Events, store.AcceleratorEvent{Message: "The IP address type was changed to " + string(to), At: c.Now})
}

// checkEndpointsSupportDualStack returns an error if an endpoint of the accelerator cannot be used with a dual-stack
// accelerator.
func (s accelerators) checkEndpointsSupportDualStack(c *store.Call, a *store.Accelerator) error {
	for _, l := range a.Listeners {
		for _, g := range l.Groups {
			for _, e := range g.Endpoints {
				t, err := endpoints(s).findResource(c, g.Region, e.ID)
				if err == nil {
					err = t.checkDualStack()
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// DescribeAccelerator returns an accelerator.
func (s accelerators) DescribeAccelerator(c *store.Call, in *ga.DescribeAcceleratorInput) (*ga.DescribeAcceleratorOutput, error) {
	a, err := s.findAccelerator(c, in.AcceleratorArn)
	if err != nil {
		return nil, err
	}
	return &ga.DescribeAcceleratorOutput{Accelerator: describeAccelerator(c, a)}, nil
}

// DeleteAccelerator deletes an accelerator that is disabled and has no listeners.
func (s accelerators) DeleteAccelerator(c *store.Call, in *ga.DeleteAcceleratorInput) (*ga.DeleteAcceleratorOutput, error) {
	a, err := s.findAccelerator(c, in.AcceleratorArn)
	if err != nil {
		return nil, err
	}
	if err := s.checkNoTransaction(c, a); err != nil {
		return nil, err
	}
	switch {
	case !a.Enabled && c.Now.Before(a.DisabledFrom) && s.store.Config.Accelerator.BusyAfterDisable:
		return nil, transactionInProgressError(a)
	case a.Enabled || c.Now.Before(a.DisabledFrom):
		return nil, store.Errorf(store.UnprovenSource, codeNotDisabled, "The accelerator '%s' is not disabled", a.ARN)
	case len(a.Listeners) > 0:
		return nil, store.Errorf(store.UnprovenSource, "AssociatedListenerFoundException", "The accelerator '%s' has listeners", a.ARN)
	}
	delete(s.acceleratorState(c).Accelerators, a.ARN)
	return &ga.DeleteAcceleratorOutput{}, nil
}

// ListAccelerators lists the accelerators of the account.
func (s accelerators) ListAccelerators(c *store.Call, in *ga.ListAcceleratorsInput) (*ga.ListAcceleratorsOutput, error) {
	var all []*store.Accelerator
	for _, a := range s.acceleratorState(c).Accelerators {
		all = append(all, a)
	}
	all, next, err := page(s.store, "accelerators", all, func(a *store.Accelerator) string { return lastARNPart(a.ARN) }, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &ga.ListAcceleratorsOutput{NextToken: next, Accelerators: []types.Accelerator{}}
	for _, a := range all {
		out.Accelerators = append(out.Accelerators, *describeAccelerator(c, a))
	}
	return out, nil
}

func describeAccelerator(c *store.Call, a *store.Accelerator) *types.Accelerator {
	out := &types.Accelerator{
		AcceleratorArn: new(a.ARN), Name: new(a.Name), IpAddressType: a.Addressing, Enabled: new(a.Enabled), DnsName: new(a.DNSName),
		Status: a.Status(c.Now), CreatedTime: new(a.Created), LastModifiedTime: new(a.Modified),
		IpSets: []types.IpSet{newIPSet(types.IpAddressFamilyIPv4, a.IPv4)},
	}
	if a.Addressing == types.IpAddressTypeDualStack {
		out.DualStackDnsName = new(a.DualStackDNSName)
		out.IpSets = append(out.IpSets, newIPSet(types.IpAddressFamilyIPv6, a.IPv6))
	}
	for _, e := range a.Events {
		out.Events = append(out.Events, types.AcceleratorEvent{Message: new(e.Message), Timestamp: new(e.At)})
	}
	return out
}

func newIPSet(family types.IpAddressFamily, list []netip.Addr) types.IpSet {
	//lint:ignore SA1019 AWS answers with the deprecated field too
	out := types.IpSet{IpAddressFamily: family, IpFamily: new(string(family)), IpAddresses: []string{}}
	for _, a := range list {
		out.IpAddresses = append(out.IpAddresses, a.String())
	}
	return out
}
