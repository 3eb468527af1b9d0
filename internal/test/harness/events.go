package harness

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayclass"
)

// loadMemberships loads the memberships that the previous process stored. It queues the stacks that lost a member
// while no process ran, because no informer reports such members.
func (p *process) loadMemberships() {
	if p.memberships == nil {
		return
	}
	roots := rootObjects{process: p}
	roots.EnqueueDeparted(p.memberships.Load(p.ctx, roots))
}

// rootObjects implements controller.RootObjects and queue.Preparer.
type rootObjects struct {
	process  *process
	enqueuer *queue.Enqueuer[model.StackID] // nil without workers
}

// Prepare implements queue.Preparer.
func (o rootObjects) Prepare(ctx context.Context) []model.StackID {
	o.process.checkpoints.Load(ctx)
	return ownership.DepartedStacks(o.process.k8s.View(), o.process.memberships.Load(ctx, o))
}

// List implements controller.RootObjects.
func (o rootObjects) List() ([]cluster.Object, error) {
	return o.process.harness.possibleMembers(), nil
}

// IsWatched implements controller.RootObjects.
func (rootObjects) IsWatched(cluster.Ref) bool { return true }

// EnqueueDeparted implements controller.RootObjects.
func (o rootObjects) EnqueueDeparted(refs []cluster.Ref) {
	for _, id := range ownership.DepartedStacks(o.process.k8s.View(), refs) {
		if o.enqueuer != nil {
			o.enqueuer.Enqueue(id)
		} else {
			o.process.queue.add(itemKey{stack: id}, time.Now())
		}
	}
}

// possibleMembers returns all objects of the kinds that may be members of stacks.
func (r *Harness) possibleMembers() []cluster.Object {
	var out []cluster.Object
	for _, typ := range cluster.Types() {
		if cluster.IsRootKind(typ.Kind) {
			out = append(out, r.Store.All(typ.Kind)...)
		}
	}
	return out
}

// gatewayAPIVersions returns the installed versions of the Gateway API CRDs.
func gatewayAPIVersions() *controller.Versions {
	out := &controller.Versions{}
	out.Set(map[string]string{"gatewayclasses.gateway.networking.k8s.io": consts.BundleVersion})
	return out
}

// enqueueExistingObjects queues all stacks, bindings and classes that existing objects affect, as informers do at their start.
func (p *process) enqueueExistingObjects() {
	all := append(p.harness.possibleMembers(), p.harness.Store.All(cluster.KindBinding)...)
	for _, kind := range append(slices.Clone(gatewayclass.Kinds), cluster.RouteKinds...) {
		all = append(all, p.harness.Store.All(kind)...)
	}
	for _, obj := range all {
		p.enqueueAffected(nil, obj)
	}
}

// enqueueAffected queues the stacks, bindings and classes that a change of an object affects. old is nil for a new
// object, and new is nil for a deleted object.
func (p *process) enqueueAffected(old, new cluster.Object) {
	now := time.Now()
	// These steps have the same order as in informers and their event handlers.
	old, new = storedForm(old), storedForm(new)
	if cluster.SameContent(old, new) {
		return
	}
	for _, obj := range []cluster.Object{old, new} {
		if obj == nil {
			continue
		}
		if _, ok := cluster.KindOf(obj); !ok {
			return // informers do not store such objects
		}
	}
	stacks, err := p.stackTriggers.AffectedItems(old, new)
	if err != nil {
		p.harness.T.Error(err)
	}
	for _, id := range stacks {
		p.queue.add(itemKey{stack: id}, now)
	}
	if p.harness.opt.StacksOnly {
		return
	}
	keys, err := p.bindingTriggers.AffectedItems(old, new)
	if err != nil {
		p.harness.T.Error(err)
	}
	for _, k := range keys {
		p.queue.add(itemKey{binding: k}, now)
	}
	classes, err := p.classes.Triggers.AffectedItems(old, new)
	if err != nil {
		p.harness.T.Error(err)
	}
	for _, ref := range classes {
		p.queue.add(itemKey{class: ref}, now)
	}
}

// storedForm returns an object with only the fields that informers store, or nil for nil.
func storedForm(obj cluster.Object) cluster.Object {
	r := cluster.ReducedSource{QUICEnv: targets.DefaultQUICVariable}
	return r.Reduce(obj)
}

// saveCheckpoints stores the checkpoints and memberships, as the controller does periodically and when it stops. It
// does nothing without checkpoints or after a kill.
func (p *process) saveCheckpoints() {
	if p.checkpoints != nil && p.ctx.Err() == nil {
		p.checkpoints.Save(p.ctx)
		p.memberships.Save(p.ctx)
		p.lastSave = time.Now()
	}
}

// synchronousCheckpoints are checkpoints for a process without goroutines. Removals are stored before the run
// continues.
type synchronousCheckpoints struct {
	*checkpoint.Registry
	process *process
}

func (s synchronousCheckpoints) Forget(id model.StackID) <-chan struct{} {
	return s.saveNow(s.Registry.Forget(id))
}

func (s synchronousCheckpoints) ForgetSecretHash(id model.StackID, arn string) <-chan struct{} {
	return s.saveNow(s.Registry.ForgetSecretHash(id, arn))
}

func (s synchronousCheckpoints) saveNow(written <-chan struct{}) <-chan struct{} {
	if written != nil && s.process.ctx.Err() == nil {
		s.process.checkpoints.Save(s.process.ctx)
	}
	return written
}
