package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// IsSubnetID reports whether a reference names a subnet by ID rather than by its Name tag.
func IsSubnetID(ref string) bool { return strings.HasPrefix(ref, "subnet-") }

// chooseNamedSubnets returns the subnets that c names, in the order of the references. If several subnets have the same Name
// tag, each repetition of the name selects the next of these subnets, by ID.
func chooseNamedSubnets(r SubnetRequest, c model.SubnetsNamed, a observed.SubnetAnswer) (ChosenSubnets, *finding.Finding) {
	byID := map[string]observed.Subnet{}
	byName := map[string][]observed.Subnet{}
	candidates := slices.Clone(a.Candidates)
	slices.SortFunc(candidates, func(x, y observed.Subnet) int { return cmp.Compare(x.ID, y.ID) })
	for _, s := range candidates {
		if _, seen := byID[s.ID]; seen {
			continue
		}
		byID[s.ID] = s
		byName[s.Name] = append(byName[s.Name], s)
	}
	var chosen []observed.Subnet
	var missing, repeated []string
	used := map[string]bool{}
	timesUsed := map[string]int{} // number of subnets that are already chosen for a name
	for _, ref := range c.Refs {
		var s observed.Subnet
		var ok bool
		if IsSubnetID(ref) {
			s, ok = byID[ref]
		} else if n := timesUsed[ref]; n < len(byName[ref]) {
			s, ok = byName[ref][n], true
			timesUsed[ref]++
		} else if n > 0 {
			repeated = append(repeated, ref)
			continue
		}
		switch {
		case !ok:
			missing = append(missing, ref)
		case used[s.ID]:
			repeated = append(repeated, ref)
		default:
			used[s.ID] = true
			chosen = append(chosen, s)
		}
	}
	switch {
	case len(missing) > 0:
		return ChosenSubnets{}, r.subnetFinding(finding.SubnetsNotFound, "there is no subnet "+strings.Join(missing, ", "), "correct the id or name")
	case len(repeated) > 0:
		return ChosenSubnets{}, r.subnetFinding(finding.SubnetsUnsuitable,
			"a subnet is named more often than there are subnets of that ID or name: "+strings.Join(repeated, ", "), "name each subnet once")
	case len(chosen) == 0:
		return ChosenSubnets{}, r.subnetFinding(finding.SubnetsNotFound, "the list of subnets is empty", "name at least one subnet")
	}
	zones := map[string]string{}
	for _, s := range chosen {
		if other, taken := zones[s.Zone]; taken {
			return ChosenSubnets{}, r.subnetFinding(finding.SubnetsUnsuitable,
				fmt.Sprintf("subnets %s and %s are both in zone %s", other, s.ID, s.Zone), "name one subnet per zone")
		}
		zones[s.Zone] = s.ID
	}
	if f := r.checkZones(chosen); f != nil {
		return ChosenSubnets{}, f
	}
	if r.AddressType.HasIPv6() {
		for _, s := range chosen {
			if len(s.IPv6CIDRs) == 0 {
				return ChosenSubnets{}, r.subnetFinding(finding.SubnetsUnsuitable,
					fmt.Sprintf("subnet %s has no IPv6 range, which address type %s needs", s.ID, r.AddressType),
					"give the subnet an IPv6 range, or use address type ipv4")
			}
		}
	}
	return ChosenSubnets{IDs: subnetIDs(chosen)}, nil
}
