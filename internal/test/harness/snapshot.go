package harness

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

// Snapshot is a copy of the emulated AWS and the cluster of a harness. It can be the Options.InitialState of another
// harness.
type Snapshot struct {
	AWS     []byte // state of all accounts and regions
	Objects []cluster.Object
	Seeded  Seeded
}

// snapshotKinds are the kinds of the objects in a Snapshot. Events are not included.
var snapshotKinds = append([]cluster.Kind{
	cluster.KindNamespace, cluster.KindNode, cluster.KindPod, cluster.KindEndpointSlice, cluster.KindEndpoints, cluster.KindSecret,
	cluster.KindIngressClass, cluster.KindIngressClassParams, cluster.KindIngress, cluster.KindService, cluster.KindBinding,
	cluster.KindGatewayClass, cluster.KindGateway, cluster.KindListenerSet, cluster.KindReferenceGrant, cluster.KindLoadBalancerConfiguration,
	cluster.KindTargetGroupConfiguration, cluster.KindListenerRuleConfiguration, cluster.KindGlobalAccelerator,
}, cluster.RouteKinds...)

// SnapshotOf returns a copy of the current state of a harness.
func SnapshotOf(r *Harness) Snapshot {
	r.T.Helper()
	w := r.Emulator.Store()
	w.Lock()
	state, err := w.Export()
	w.Unlock()
	if err != nil {
		r.T.Fatal(err)
	}
	m := Snapshot{AWS: state, Seeded: r.Seeded.clone()}
	for _, kind := range snapshotKinds {
		m.Objects = append(m.Objects, r.Store.All(kind)...)
	}
	return m
}

// restore loads the snapshot into a new emulator and an empty cluster.
func (m *Snapshot) restore(em *emulator.Emulator, objects *cluster.Memory) (Seeded, error) {
	w := em.Store()
	w.Lock()
	defer w.Unlock()
	if err := w.Restore(m.AWS); err != nil {
		return Seeded{}, err
	}
	return m.Seeded.clone(), objects.Put(m.Objects...)
}

// createInitialState creates the state of AWS and the cluster before the first start of the controller: that of
// Options.InitialState, or the seeded state.
func createInitialState(ctx context.Context, em *emulator.Emulator, objects *cluster.Memory, opt Options) (Seeded, error) {
	if opt.InitialState != nil {
		return opt.InitialState.restore(em, objects)
	}
	seed := func() (Seeded, error) { return seedOnce(ctx, em, opt.Emulator, opt.Addresses) }
	if opt.SharesAWSWith != nil {
		seed = func() (Seeded, error) { return seedSecondRegion(ctx, em) }
	}
	world, err := seed()
	if err != nil {
		return world, err
	}
	return world, SeedNodes(objects, world)
}
