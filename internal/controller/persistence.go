package controller

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/go-logr/logr"
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
// known, as in a process outside of a cluster without leader election.
func addPersistence(s Setup, mgr manager.Manager, live client.Client, source *kube.Source, cl *kube.Cluster, book *checkpoint.Registry,
	fence engine.Fence, roots []cluster.Kind, line *queue.Controller[model.StackID]) error {
	log := s.Log.WithName("checkpoints")
	namespace, err := kube.LeaseNamespace(s.Config.Election.Namespace)
	if err != nil {
		log.V(1).Info("disabled checkpoints", "reason", err.Error())
		return nil
	}
	api := kube.ClientAPI{Client: live}
	line.ActiveRuns = &atomic.Int32{}
	c := &Checkpoints{Book: book, Fence: fence, Log: log, Store: kube.SecretStore{API: api, Namespace: namespace}, ActiveRuns: line.ActiveRuns}
	m := &Memberships{
		Members: cl.Members, Fence: fence, Log: log,
		Store: kube.SecretStore{API: api, Namespace: namespace, Name: kube.MembershipsName},
	}
	cl.Store = m
	line.Preparer = &persistedState{checkpoints: c, memberships: m, cluster: cl, source: source, rootKinds: roots, watchNamespace: s.Config.Kubernetes.WatchNamespace, log: log}
	if err := mgr.Add(c); err != nil {
		return err
	}
	return mgr.Add(m)
}

// persistedState loads the checkpoints and memberships that the previous process has stored. It implements queue.Preparer.
type persistedState struct {
	checkpoints    *Checkpoints
	memberships    *Memberships
	cluster        *kube.Cluster
	source         *kube.Source
	rootKinds      []cluster.Kind
	watchNamespace string // the only namespace that is watched; empty: all
	log            logr.Logger
}

// Prepare implements queue.Preparer. It loads the stored state, and returns the stacks that deleted objects have left.
func (k *persistedState) Prepare(ctx context.Context) []model.StackID {
	k.checkpoints.Load(ctx)
	gone := k.deletedRootObjects(ctx)
	return slices.DeleteFunc(ownership.DepartedStacks(k.cluster.View().Unsubscribed(), gone), func(id model.StackID) bool {
		return !slices.Contains(k.rootKinds, ownership.RootKind(id.Kind)) // the previous process served a kind of stacks that this process does not serve
	})
}

// deletedRootObjects loads the memberships, and returns the objects of the root kinds that have left a stack and do not
// exist any more.
func (k *persistedState) deletedRootObjects(ctx context.Context) []cluster.Ref {
	var now []cluster.Object
	for _, kind := range k.rootKinds {
		some, err := k.source.List(cluster.Query{Kind: kind})
		if err != nil {
			k.log.Error(err, "failed to list owners of load balancers", "kind", kind)
			return nil
		}
		now = append(now, some...)
	}
	return k.memberships.Load(ctx, now, func(ref cluster.Ref) bool {
		return (k.watchNamespace == "" || ref.Namespace == k.watchNamespace) && k.source.Installed(ref.Kind)
	})
}
