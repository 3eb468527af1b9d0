package harness

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

// Moment is a world at an instant, in which another controller can start: see Options.From.
type Moment struct {
	AWS     []byte // of all accounts and regions
	Objects []cluster.Object
	World   Seeded
}

// momentKinds are the kinds of objects that belong to a moment. Events do not.
var momentKinds = append([]cluster.Kind{
	cluster.KindNamespace, cluster.KindNode, cluster.KindPod, cluster.KindEndpointSlice, cluster.KindEndpoints, cluster.KindSecret,
	cluster.KindIngressClass, cluster.KindIngressClassParams, cluster.KindIngress, cluster.KindService, cluster.KindBinding,
	cluster.KindGatewayClass, cluster.KindGateway, cluster.KindListenerSet, cluster.KindReferenceGrant, cluster.KindLoadBalancerConfiguration,
	cluster.KindTargetGroupConfiguration, cluster.KindListenerRuleConfiguration, cluster.KindGlobalAccelerator,
}, cluster.RouteKinds...)

// MomentOf returns a world as it is now.
func MomentOf(r *Harness) Moment {
	r.T.Helper()
	w := r.Emulator.Store()
	w.Lock()
	state, err := w.Export()
	w.Unlock()
	if err != nil {
		r.T.Fatal(err)
	}
	m := Moment{AWS: state, World: r.World.clone()}
	for _, kind := range momentKinds {
		m.Objects = append(m.Objects, r.Store.All(kind)...)
	}
	return m
}

// restore brings a new emulator and an empty cluster to the moment.
func (m *Moment) restore(em *emulator.Emulator, objects *cluster.Memory) (Seeded, error) {
	w := em.Store()
	w.Lock()
	defer w.Unlock()
	if err := w.Restore(m.AWS); err != nil {
		return Seeded{}, err
	}
	return m.World.clone(), objects.Put(m.Objects...)
}

// begin makes what there is before the controller starts.
func begin(ctx context.Context, em *emulator.Emulator, objects *cluster.Memory, opt Options) (Seeded, error) {
	if opt.From != nil {
		return opt.From.restore(em, objects)
	}
	seed := func() (Seeded, error) { return seedOnce(ctx, em, opt.Emulator, opt.Addresses) }
	if opt.Beside != nil {
		seed = func() (Seeded, error) { return seedElsewhere(ctx, em) }
	}
	world, err := seed()
	if err != nil {
		return world, err
	}
	return world, SeedNodes(objects, world)
}
