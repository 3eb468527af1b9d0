package bindingplan

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Target is a target as the AWS API expects it.
type Target struct {
	ID   string // instance id or address
	Port int32
	Zone string // "all" or the name of a zone; empty: AWS determines the zone
	// ServerID is the QUIC server id, "0x" and 16 hexadecimal digits; set for QUIC target groups only.
	ServerID string
}

// allZones is the zone of an address outside of the VPC, which all zones can reach.
const allZones = "all"

// TargetsFor returns the targets for endpoints. An address outside of the VPC of the target group is registered with a zone,
// as AWS requires.
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

// IsOutsideVPC reports whether an address is outside of the VPC. All addresses are outside if the ranges of the VPC are
// unknown.
func (n Network) IsOutsideVPC(address string) bool { return !network.IsInRanges(address, n.Ranges) }

// zoneOf returns the zone of an endpoint outside of the VPC.
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
