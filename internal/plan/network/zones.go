package network

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// The kinds of zones of subnets. All subnets of a load balancer have to be in zones of the same kind.
const (
	availabilityZone = "availability-zone"
	localZone        = "local-zone"
	wavelengthZone   = "wavelength-zone"
	outpost          = "outpost"
)

// zoneKind returns the kind of zone that a subnet is in; false if AWS returned an unknown kind.
func zoneKind(s observed.Subnet) (string, bool) {
	if s.Outpost != "" {
		return outpost, true
	}
	switch s.ZoneType {
	case availabilityZone, localZone, wavelengthZone:
		return s.ZoneType, true
	}
	return "", false
}

// checkZones returns a finding if the chosen subnets cannot be used together, because their zones are of different or
// unknown kinds, or too few; nil if they can be used together.
func (r SubnetRequest) checkZones(chosen []observed.Subnet) *finding.Finding {
	byKind := map[string][]string{}
	for _, s := range chosen {
		kind, ok := zoneKind(s)
		if !ok {
			return r.subnetFinding(finding.SubnetsUnsuitable,
				fmt.Sprintf("subnet %s is in zone %s of unknown type %q", s.ID, s.Zone, s.ZoneType), "choose other subnets")
		}
		byKind[kind] = append(byKind[kind], s.ID)
	}
	if len(byKind) > 1 {
		var parts []string
		for _, kind := range slices.Sorted(maps.Keys(byKind)) {
			parts = append(parts, kind+" ("+strings.Join(byKind[kind], ", ")+")")
		}
		return r.subnetFinding(finding.SubnetsUnsuitable, "the subnets are in several kinds of zones: "+strings.Join(parts, ", "),
			"choose subnets of one kind of zone")
	}
	least := 1
	if r.ALB && !r.SingleSubnet && len(byKind[availabilityZone]) > 0 {
		least = 2
	}
	if len(chosen) < least {
		return r.subnetFinding(finding.SubnetsUnsuitable,
			fmt.Sprintf("%d subnets in different zones are needed, but only %d can be used (%s)", least, len(chosen), strings.Join(subnetIDs(chosen), ", ")),
			"make subnets of more zones available")
	}
	return nil
}
