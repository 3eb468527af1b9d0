package bindingplan

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Target is a target with the parameters of the AWS API.
type Target struct {
	ID   string // instance id or address
	Port int32
	Zone string // "all" or the name of a zone; empty: AWS determines the zone
	// ServerID is the QUIC server id, "0x" and 16 hexadecimal digits; set for QUIC target groups only.
	ServerID string
}

// allZones is the Availability Zone value for an address outside of the VPC that can get traffic from all zones.
const allZones = "all"

// TargetsFor returns the targets for endpoints. An address outside of the VPC of the target group gets an Availability Zone,
// because AWS requires it. It returns an error if the address ranges of the VPC or a required zone are unknown.
func (f *Facts) TargetsFor(endpoints []targets.Endpoint) ([]Target, error) {
	n := f.Network
	if !targets.HasInstanceTargets(f.CompletedBinding) && n.Failure != nil {
		return nil, n.Failure.Err
	}
	out := make([]Target, 0, len(endpoints))
	for _, e := range endpoints {
		t := Target{ID: e.ID, Port: e.Port, ServerID: e.ServerID}
		if e.Pod != nil && n.IsOutsideVPC(e.ID) {
			var err error
			if t.Zone, err = f.zoneOf(e); err != nil {
				return nil, err
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// IsOutsideVPC reports whether an address is outside of the VPC. If the address ranges of the VPC are unknown, all addresses
// are outside.
func (n Network) IsOutsideVPC(address string) bool { return !network.IsInRanges(address, n.Ranges) }

// zoneOf returns the Availability Zone with which an endpoint outside of the VPC is registered. It returns an error if AWS
// requires the zone but the node of the pod is not known.
func (f *Facts) zoneOf(e targets.Endpoint) (string, error) {
	if f.CompletedBinding.Spec.IamRoleArnToAssume != "" || !f.Network.ZonesRequired {
		return allZones, nil
	}
	zone, known := f.Network.Zones[e.Pod.Spec.NodeName] // a node does not change its zone
	if !known {
		return "", fmt.Errorf("AWS requires the zone of pod %s/%s, but its node %q is not known", e.Pod.Namespace, e.Pod.Name, e.Pod.Spec.NodeName)
	}
	if zone != "" {
		return zone, nil
	}
	return allZones, nil
}
