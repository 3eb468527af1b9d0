package controller

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// addPersistence adds runnables to the manager that store checkpoints and memberships while this process leads, and sets
// line.Preparer to load them. It also sets cl.Store and line.ActiveRuns. It does nothing if no namespace for the Secrets is
// known, for example outside of a cluster without leader election.
func addPersistence(s Setup, mgr manager.Manager, live client.Client, source *kube.Source, cl *kube.Cluster, registry *checkpoint.Registry,
	fence engine.Fence, roots []cluster.Kind, line *queue.Controller[model.StackID]) error {
	log := s.Log.WithName("checkpoints")
	namespace, err := kube.LeaseNamespace(s.Config.Election.Namespace)
	if err != nil {
		log.V(1).Info("disabled checkpoints", "reason", err.Error())
		return nil
	}
	api := kube.ClientAPI{Client: live}
	line.ActiveRuns = &atomic.Int32{}
	c := &Checkpoints{Registry: registry, Fence: fence, Log: log, Store: kube.SecretStore{API: api, Namespace: namespace, Name: kube.CheckpointsName}, ActiveRuns: line.ActiveRuns}
	m := &Memberships{
		Members: cl.Members, Fence: fence, Log: log,
		Store: kube.SecretStore{API: api, Namespace: namespace, Name: kube.MembershipsName},
	}
	cl.Store = m
	line.Preparer = &persistedState{checkpoints: c, memberships: m, cluster: cl, source: source, rootKinds: roots, watchNamespace: s.Config.Kubernetes.WatchNamespace, enqueuer: line.Enqueuer}
	if err := mgr.Add(c); err != nil {
		return err
	}
	return mgr.Add(m)
}

// persistedState loads the checkpoints and memberships that the previous process has stored. It implements queue.Preparer
// and RootObjects.
type persistedState struct {
	checkpoints    *Checkpoints
	memberships    *Memberships
	cluster        *kube.Cluster
	source         *kube.Source
	rootKinds      []cluster.Kind
	watchNamespace string // the only namespace that is watched; empty: all
	enqueuer       *queue.Enqueuer[model.StackID]
}

// Prepare implements queue.Preparer. It loads the stored state, and returns the stacks that deleted objects have left.
func (k *persistedState) Prepare(ctx context.Context) []model.StackID {
	k.checkpoints.Load(ctx)
	return k.departedStacks(k.memberships.Load(ctx, k))
}

// departedStacks returns the stacks that the deleted objects in refs have left, if this process serves their kind.
func (k *persistedState) departedStacks(refs []cluster.Ref) []model.StackID {
	return slices.DeleteFunc(ownership.DepartedStacks(k.cluster.View().Unsubscribed(), refs), func(id model.StackID) bool {
		return !slices.Contains(k.rootKinds, ownership.RootKind(id.Kind)) // the previous process served a kind of stacks that this process does not serve
	})
}

// List implements RootObjects.
func (k *persistedState) List() ([]cluster.Object, error) {
	var out []cluster.Object
	for _, kind := range k.rootKinds {
		some, err := k.source.List(cluster.Query{Kind: kind})
		if err != nil {
			return nil, fmt.Errorf("list owners of load balancers of kind %s: %w", kind, err)
		}
		out = append(out, some...)
	}
	return out, nil
}

// IsWatched implements RootObjects.
func (k *persistedState) IsWatched(ref cluster.Ref) bool {
	return (k.watchNamespace == "" || ref.Namespace == k.watchNamespace) && k.source.Installed(ref.Kind)
}

// EnqueueDeparted implements RootObjects.
func (k *persistedState) EnqueueDeparted(refs []cluster.Ref) {
	for _, id := range k.departedStacks(refs) {
		k.enqueuer.Enqueue(id)
	}
}
