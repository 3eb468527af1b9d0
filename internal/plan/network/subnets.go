package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// minFreeIPs is the number of free addresses that AWS requires in each subnet of a new load balancer.
const minFreeIPs = 8

// SubnetRequest has the settings by which subnets are chosen among the candidates.
type SubnetRequest struct {
	Choice      model.SubnetChoice
	Scheme      model.Scheme
	AddressType model.AddressType
	// Cluster is the name of the cluster, for which subnets may be tagged.
	Cluster string
	// ClusterTagCheck refuses subnets that are tagged only for other clusters.
	ClusterTagCheck bool
	// SingleSubnet admits an ALB in one Availability Zone.
	SingleSubnet bool
	ALB          bool
	// Live has the IDs of the subnets that the load balancer already uses. These need no free addresses.
	Live []string
	// EventObject is the object on which findings are reported if the choice of subnets has no origin.
	EventObject finding.Ref
}

// ChosenSubnets has the IDs of the chosen subnets, and the reasons why other candidates were refused. IDs are in the order
// of the references if the members name the subnets, and ascending otherwise.
type ChosenSubnets struct {
	IDs      []string
	Refusals []Refusal
}

// Refusal is the reason why a candidate subnet was not chosen.
type Refusal struct{ ID, Why string }

// ChooseSubnets chooses the subnets of a load balancer among the candidates. If no usable subnets can be chosen, it returns
// a finding that blocks the stack, in addition to the refusals.
func ChooseSubnets(r SubnetRequest, a observed.SubnetAnswer) (ChosenSubnets, *finding.Finding) {
	if c, ok := r.Choice.(model.SubnetsNamed); ok {
		return chooseNamedSubnets(r, c, a)
	}
	return chooseOnePerZone(r, a)
}

// chooseOnePerZone chooses one suitable subnet in each zone: one that is tagged for this cluster, or else the first by ID.
func chooseOnePerZone(r SubnetRequest, a observed.SubnetAnswer) (ChosenSubnets, *finding.Finding) {
	var out ChosenSubnets
	var count refusalCounts
	best := map[string]observed.Subnet{}
	candidates := slices.Clone(a.Candidates)
	slices.SortFunc(candidates, func(x, y observed.Subnet) int {
		return cmp.Or(cmp.Compare(r.tagRank(x), r.tagRank(y)), cmp.Compare(x.ID, y.ID))
	})
	for _, s := range candidates {
		if why := r.refusalReason(s, &count); why != "" {
			out.Refusals = append(out.Refusals, Refusal{s.ID, why})
			continue
		}
		if taken, ok := best[s.Zone]; ok {
			out.Refusals = append(out.Refusals, Refusal{s.ID, fmt.Sprintf("zone %s is served by %s", s.Zone, taken.ID)})
			continue
		}
		best[s.Zone] = s
	}
	slices.SortFunc(out.Refusals, func(x, y Refusal) int { return cmp.Compare(x.ID, y.ID) })
	chosen := make([]observed.Subnet, 0, len(best))
	for _, s := range best {
		chosen = append(chosen, s)
	}
	slices.SortFunc(chosen, func(x, y observed.Subnet) int { return cmp.Compare(x.ID, y.ID) })
	f := r.noSubnetsFinding(a, count)
	if len(chosen) > 0 {
		f = r.checkZones(chosen)
	}
	if f != nil {
		f.Message += refusalsText(out.Refusals)
		return out, f
	}
	out.IDs = subnetIDs(chosen)
	return out, nil
}

// maxRefusalsListed is the maximum number of refusals that a message lists.
const maxRefusalsListed = 10

// refusalsText returns the refusals as the end of a message; empty if there are none.
func refusalsText(all []Refusal) string {
	var parts []string
	for _, r := range all[:min(len(all), maxRefusalsListed)] {
		parts = append(parts, r.ID+": "+r.Why)
	}
	if more := len(all) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; not usable: " + strings.Join(parts, ", ")
}

// tagRank is a sort key: subnets that are tagged for this cluster come before other subnets.
func (r SubnetRequest) tagRank(s observed.Subnet) int {
	if _, ours := s.Tags[ClusterTagPrefix+r.Cluster]; ours {
		return 0
	}
	return 1
}

// refusalCounts counts refused candidates by reason.
type refusalCounts struct{ otherCluster, fewIPs, noIPv6 int }

// refusalReason returns the first reason against a candidate subnet, and counts it; empty if there is none.
func (r SubnetRequest) refusalReason(s observed.Subnet, count *refusalCounts) string {
	switch {
	case r.ClusterTagCheck && r.isTaggedForOtherClusters(s):
		count.otherCluster++
		return "it is tagged for other clusters only"
	case s.FreeIPs < minFreeIPs && !slices.Contains(r.Live, s.ID):
		count.fewIPs++
		return fmt.Sprintf("it has %d free addresses, and %d are needed", s.FreeIPs, minFreeIPs)
	case r.AddressType.HasIPv6() && len(s.IPv6CIDRs) == 0:
		count.noIPv6++
		return "it has no IPv6 range"
	}
	return ""
}

// isTaggedForOtherClusters reports whether a subnet is tagged for other clusters but not for this cluster.
func (r SubnetRequest) isTaggedForOtherClusters(s observed.Subnet) bool {
	if r.tagRank(s) == 0 {
		return false
	}
	for key := range s.Tags {
		if strings.HasPrefix(key, strings.TrimSuffix(ClusterTagPrefix, "/")) {
			return true
		}
	}
	return false
}

// noSubnetsFinding returns the finding that no candidate subnet can be used.
func (r SubnetRequest) noSubnetsFinding(a observed.SubnetAnswer, count refusalCounts) *finding.Finding {
	if len(a.Candidates) == 0 {
		return r.subnetFinding(finding.SubnetsNotFound, "no subnet of the VPC fits "+r.purposeText(), r.noSubnetsFix())
	}
	msg := fmt.Sprintf("none of the %d subnets for %s can be used: %d have only the tags of other clusters, %d have fewer than %d free addresses",
		len(a.Candidates), r.purposeText(), count.otherCluster, count.fewIPs, minFreeIPs)
	if r.AddressType.HasIPv6() {
		msg += fmt.Sprintf(", %d have no IPv6 range", count.noIPv6)
	}
	return r.subnetFinding(finding.SubnetsUnsuitable, msg, r.noSubnetsFix())
}

// purposeText returns the purpose of the subnets, as a part of a message.
func (r SubnetRequest) purposeText() string {
	if _, ok := r.Choice.(model.SubnetsTagged); ok {
		return "the subnet tags"
	}
	return fmt.Sprintf("a load balancer of scheme %s", r.Scheme)
}

// noSubnetsFix returns the fix in a finding that no subnet was found.
func (r SubnetRequest) noSubnetsFix() string {
	if _, ok := r.Choice.(model.SubnetsTagged); ok {
		return "add these tags to suitable subnets, or correct the tags"
	}
	return fmt.Sprintf("tag suitable subnets with %s=1, or name them", SubnetRoleTag(r.Scheme))
}

// SubnetRoleTag returns the key of the tag by which subnets for load balancers of a scheme are discovered.
func SubnetRoleTag(s model.Scheme) string {
	if s == model.InternetFacing {
		return naming.SubnetRolePublic
	}
	return naming.SubnetRoleInternal
}

// subnetFinding returns a finding that blocks the stack, on the origin of the subnet choice.
func (r SubnetRequest) subnetFinding(reason finding.Reason, message, fix string) *finding.Finding {
	f := finding.Finding{
		Object: r.EventObject, Reason: reason, Severity: finding.Error, Message: message, Fix: fix, Blocks: finding.BlocksStack,
	}
	var of finding.Origin
	switch c := r.Choice.(type) {
	case model.SubnetsNamed:
		of = c.Of
	case model.SubnetsTagged:
		of = c.Of
	}
	f.Field = of.Field
	if !of.Object.IsZero() {
		f.Object = of.Object
	}
	return &f
}

func subnetIDs(subnets []observed.Subnet) []string {
	out := make([]string, len(subnets))
	for i, s := range subnets {
		out[i] = s.ID
	}
	return out
}
