package globalaccelerator

import (
	"net/netip"

	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const quotaAddressRanges = "byoip-ranges-per-account"

func parseAddressRange(text *string) (netip.Prefix, error) {
	if err := checkPresent("Cidr", text != nil); err != nil {
		return netip.Prefix{}, err
	}
	block, err := netip.ParsePrefix(*text)
	if err != nil || block != block.Masked() || !block.Addr().Is4() || block.Bits() > 24 {
		return netip.Prefix{}, invalidArgumentError(store.UnprovenSource, "The address range '%s' must be an IPv4 range with a prefix length of at most 24", *text)
	}
	return block, nil
}

// ProvisionByoipCidr provisions an address range for the account. It does not check that the account owns the range.
func (s *Service) ProvisionByoipCidr(c *store.Call, in *ga.ProvisionByoipCidrInput) (*ga.ProvisionByoipCidrOutput, error) {
	block, err := parseAddressRange(in.Cidr)
	if err != nil {
		return nil, err
	}
	proof := in.CidrAuthorizationContext
	if err := checkPresent("CidrAuthorizationContext", proof != nil && proof.Message != nil && proof.Signature != nil); err != nil {
		return nil, err
	}
	for _, p := range s.store.Partitions() {
		for _, r := range p.Accelerators.CIDRs {
			if r.Block.Overlaps(block) {
				return nil, store.Errorf(store.UnprovenSource, codeIncorrectCIDRState, "The address range '%s' is provisioned already", block)
			}
		}
	}
	st := s.acceleratorState(c)
	if most := s.store.Quota(quotaAddressRanges, 2); len(st.CIDRs) >= most {
		return nil, store.Errorf(store.UnprovenSource, codeLimit, "The limit of %d address ranges has been reached", most)
	}
	r := &store.AcceleratorCIDR{Block: block, Ready: c.Now.Add(s.store.Config.Accelerator.RangeDelay)}
	r.Events = append(r.Events, store.AcceleratorEvent{Message: "The address range is being provisioned", At: c.Now})
	st.CIDRs[block.String()] = r
	return &ga.ProvisionByoipCidrOutput{ByoipCidr: describeAddressRange(c, r)}, nil
}

// AdvertiseByoipCidr starts to advertise an address range to the internet.
func (s *Service) AdvertiseByoipCidr(c *store.Call, in *ga.AdvertiseByoipCidrInput) (*ga.AdvertiseByoipCidrOutput, error) {
	block, err := parseAddressRange(in.Cidr)
	if err != nil {
		return nil, err
	}
	r := s.acceleratorState(c).CIDRs[block.String()]
	if r == nil {
		return nil, store.Errorf(store.UnprovenSource, "ByoipCidrNotFoundException", "The address range '%s' was not found", block)
	}
	if state := r.State(c.Now); state != types.ByoipCidrStateReady {
		return nil, store.Errorf(store.UnprovenSource, codeIncorrectCIDRState, "The address range '%s' is in the state %s", block, string(state))
	}
	r.Advertised = c.Now.Add(s.store.Config.Accelerator.RangeDelay)
	r.Events = append(r.Events, store.AcceleratorEvent{Message: "The address range is being advertised", At: c.Now})
	return &ga.AdvertiseByoipCidrOutput{ByoipCidr: describeAddressRange(c, r)}, nil
}

// ListByoipCidrs lists the address ranges of the account.
func (s *Service) ListByoipCidrs(c *store.Call, in *ga.ListByoipCidrsInput) (*ga.ListByoipCidrsOutput, error) {
	var all []*store.AcceleratorCIDR
	for _, r := range s.acceleratorState(c).CIDRs {
		all = append(all, r)
	}
	all, next, err := page(s.store, "ranges", all, func(r *store.AcceleratorCIDR) string { return r.Block.String() }, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &ga.ListByoipCidrsOutput{NextToken: next, ByoipCidrs: []types.ByoipCidr{}}
	for _, r := range all {
		out.ByoipCidrs = append(out.ByoipCidrs, *describeAddressRange(c, r))
	}
	return out, nil
}

func describeAddressRange(c *store.Call, r *store.AcceleratorCIDR) *types.ByoipCidr {
	out := &types.ByoipCidr{Cidr: new(r.Block.String()), State: r.State(c.Now)}
	for _, e := range r.Events {
		out.Events = append(out.Events, types.ByoipCidrEvent{Message: new(e.Message), Timestamp: new(e.At)})
	}
	return out
}
