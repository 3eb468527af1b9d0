package serve

import (
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// convertTargetGroup converts a target group, with those of its targets that have an address.
func (b *builder) convertTargetGroup(g *store.TargetGroup) dataplane.TargetGroup {
	out := dataplane.TargetGroup{
		ARN: g.ARN, Protocol: dataplane.Protocol(g.Protocol), ProtocolVersion: dataplane.ProtocolVersion(g.ProtocolVersion),
		IsLambda: g.Type == elbtypes.TargetTypeEnumLambda, IsALB: g.Type == elbtypes.TargetTypeEnumAlb, Attributes: maps.Clone(g.Attributes), HealthCheck: convertHealthCheck(g.Check),
	}
	b.p.RemoveDrainedTargets(g, b.now)
	for _, t := range g.Targets {
		if t.IsDraining() {
			b.scheduleRebuild(t.DrainUntil)
		}
		target := dataplane.Target{
			ID: t.ID, Port: uint16(t.Port), Zone: b.targetZone(g, t), State: b.initialState(g, t), Epoch: g.RegistrationID(t), QUICServerID: t.QUICServerID,
		}
		switch {
		case out.IsLambda:
		case out.IsALB:
			target.Nodes = b.convertNodes(b.p.ELB.LoadBalancers[t.ID])
		default:
			address, err := b.targetAddress(g, t)
			if err != nil {
				if target.State != dataplane.StateUnused {
					b.addError("target group %s: %w", g.Name, err)
				}
				continue
			}
			target.Address = address
		}
		out.Targets = append(out.Targets, target)
	}
	return out
}

func convertHealthCheck(h store.HealthCheck) dataplane.HealthCheck {
	out := dataplane.HealthCheck{
		Disabled: !h.Enabled, Protocol: dataplane.Protocol(h.Protocol), Path: h.Path, Matcher: h.HTTPCodes,
		Interval: time.Duration(h.IntervalSeconds) * time.Second, Timeout: time.Duration(h.TimeoutSeconds) * time.Second,
		HealthyThreshold: int(h.HealthyThreshold), UnhealthyThreshold: int(h.UnhealthyThreshold),
	}
	if h.GRPCCodes != "" {
		out.Matcher = h.GRPCCodes
	}
	if n, err := strconv.ParseUint(h.Port, 10, 16); err == nil { // otherwise h.Port is "traffic-port", for which Port is 0
		out.Port = uint16(n)
	}
	return out
}

// initialState returns the state that a target initially has in the data plane.
func (b *builder) initialState(g *store.TargetGroup, t *store.Target) dataplane.TargetState {
	switch b.p.TargetHealth(g, t, b.now).State {
	case elbtypes.TargetHealthStateEnumDraining:
		return dataplane.StateDraining
	case elbtypes.TargetHealthStateEnumUnused:
		return dataplane.StateUnused
	case elbtypes.TargetHealthStateEnumHealthy, elbtypes.TargetHealthStateEnumUnavailable:
		return dataplane.StateHealthy
	case elbtypes.TargetHealthStateEnumUnhealthy, elbtypes.TargetHealthStateEnumUnhealthyDraining:
		return dataplane.StateUnhealthy
	}
	return dataplane.StateInitial
}

func (b *builder) targetZone(g *store.TargetGroup, t *store.Target) string {
	if i := b.p.Instances[t.ID]; g.Type == elbtypes.TargetTypeEnumInstance && i != nil {
		return i.Zone
	}
	return t.Zone
}

// targetAddress returns the private address of a target. For an instance, this is the primary address of its first ENI.
func (b *builder) targetAddress(g *store.TargetGroup, t *store.Target) (netip.Addr, error) {
	if g.Type != elbtypes.TargetTypeEnumInstance {
		return netip.ParseAddr(t.ID)
	}
	return instanceAddress(b.p, t.ID)
}

func instanceAddress(p *store.Partition, id string) (netip.Addr, error) {
	i := p.Instances[id]
	if i != nil && len(i.Interfaces) > 0 {
		if eni := p.NetworkInterfaces[i.Interfaces[0]]; eni != nil && len(eni.Private) > 0 {
			return eni.Private[0].Addr, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("instance %s has no address", id)
}
