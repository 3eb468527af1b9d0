package network

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Where a subnet is. A load balancer cannot span several.
const (
	regular    = "availability-zone"
	localZone  = "local-zone"
	wavelength = "wavelength-zone"
	outpost    = "outpost"
)

// locale of a subnet, or "" and false for an unknown zone type.
func locale(s observed.Subnet) (string, bool) {
	if s.Outpost != "" {
		return outpost, true
	}
	switch s.ZoneType {
	case regular, localZone, wavelength:
		return s.ZoneType, true
	}
	return "", false
}

// check returns why the chosen subnets, at least one, cannot carry one load balancer together.
func (r SubnetRequest) check(chosen []observed.Subnet) *finding.Finding {
	byLocale := map[string][]string{}
	for _, s := range chosen {
		l, ok := locale(s)
		if !ok {
			return r.fault(finding.SubnetsUnsuitable,
				fmt.Sprintf("subnet %s is in zone %s of unknown type %q", s.ID, s.Zone, s.ZoneType), "choose other subnets")
		}
		byLocale[l] = append(byLocale[l], s.ID)
	}
	if len(byLocale) > 1 {
		var parts []string
		for _, l := range slices.Sorted(maps.Keys(byLocale)) {
			parts = append(parts, l+" ("+strings.Join(byLocale[l], ", ")+")")
		}
		return r.fault(finding.SubnetsUnsuitable, "the subnets are in several kinds of zones: "+strings.Join(parts, ", "),
			"choose subnets of one kind of zone")
	}
	least := 1
	if r.ALB && !r.SingleSubnet && len(byLocale[regular]) > 0 {
		least = 2
	}
	if len(chosen) < least {
		return r.fault(finding.SubnetsUnsuitable,
			fmt.Sprintf("%d subnets in different zones are needed, and %d can be used (%s)", least, len(chosen), strings.Join(ids(chosen), ", ")),
			"make subnets of more zones available")
	}
	return nil
}
