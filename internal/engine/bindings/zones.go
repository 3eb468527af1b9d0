package bindings

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/network"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// allZones is the zone of an address outside of the VPC, which is reached from everywhere.
const allZones = "all"

// zonesKept is how long it is remembered that AWS wants the zones of a binding's targets.
const zonesKept = time.Hour

// targetsOf turns endpoints into targets. An address outside of the target group's VPC has to be
// registered with a zone.
func (p *pass) targetsOf(ctx context.Context, endpoints []targets.Endpoint) ([]Target, error) {
	outside := func(string) bool { return false }
	if !targets.IsInstance(p.w) {
		var err error
		if outside, err = p.outside(ctx); err != nil {
			return nil, err
		}
	}
	out := make([]Target, 0, len(endpoints))
	for _, e := range endpoints {
		t := Target{ID: e.ID, Port: e.Port, ServerID: e.ServerID}
		if e.Pod != nil && outside(e.ID) {
			var err error
			if t.Zone, err = p.zoneOf(e); err != nil {
				return nil, err
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// outside tells which addresses are not of the VPC. Of a VPC that another account does not share,
// none are.
func (p *pass) outside(ctx context.Context) (func(string) bool, error) {
	vpc := p.w.Spec.VpcID
	if vpc == "" {
		vpc = p.r.VPC
	}
	ranges, err := p.r.Cloud.VPCRanges(ctx, vpc)
	if err != nil && p.r.Cloud.Class(err) == engine.Gone {
		if accountOf(p.b) != (Account{}) {
			return func(string) bool { return true }, nil
		}
		return nil, mistake{finding.Finding{
			Object: targets.Ref(p.b), Field: "spec.vpcID", Reason: finding.RejectedByAWS, Severity: finding.Error,
			Message: fmt.Sprintf("VPC %s does not exist, or this account does not see it", vpc), Fix: "correct spec.vpcID",
		}}
	}
	if err != nil {
		return nil, fmt.Errorf("read ranges of VPC %s: %w", vpc, err)
	}
	return func(ip string) bool { return !network.InRanges(ip, ranges) }, nil
}

// zoneOf is the zone that an endpoint outside of the VPC is registered with.
func (p *pass) zoneOf(e targets.Endpoint) (string, error) {
	if accountOf(p.b) != (Account{}) || !p.r.wantsZones(p.key) {
		return allZones, nil
	}
	v := p.r.Cluster.View() // a node does not change its zone
	node, ok := cluster.Get[*corev1.Node](v, cluster.KindNode, "", e.Pod.Spec.NodeName)
	if err := v.Err(); err != nil {
		return "", err
	}
	if !ok {
		return "", fmt.Errorf("AWS wants the zone of pod %s/%s, but its node %q is not known", e.Pod.Namespace, e.Pod.Name, e.Pod.Spec.NodeName)
	}
	if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
		return zone, nil
	}
	return allZones, nil
}

// wantsZones says whether AWS has asked for the zones of a binding's targets.
func (r *Reconciler) wantsZones(key Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.zoned[key]
	return ok && r.Now().Sub(at) < zonesKept
}

func (r *Reconciler) noteZones(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.zoned[key] = r.Now()
}
