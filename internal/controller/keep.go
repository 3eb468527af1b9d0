package controller

import (
	"context"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// keep stores the book, and what objects of the root kinds are part of, while this process leads. Without a namespace,
// which a process outside of a cluster that elects no leader may not have, nothing is kept.
func keep(s Setup, mgr manager.Manager, live client.Client, source *kube.Source, cl *kube.Cluster, book *checkpoint.Book,
	fence engine.Fence, roots []cluster.Kind, line *queue.Line[model.StackID]) error {
	log := s.Log.WithName("checkpoints")
	namespace, err := kube.LeaseNamespace(s.Config.Election.Namespace)
	if err != nil {
		log.V(1).Info("disabled checkpoints", "reason", err.Error())
		return nil
	}
	api := kube.Live{Client: live}
	c := &Checkpoints{Book: book, Fence: fence, Log: log, Store: kube.Checkpoints{API: api, Namespace: namespace}}
	m := &Memberships{
		Memory: cl.Members, Fence: fence, Log: log,
		Store: kube.Checkpoints{API: api, Namespace: namespace, Name: kube.MembershipsName},
	}
	cl.Keep = m.Keep
	only := s.Config.Kubernetes.WatchNamespace
	var gone []cluster.Ref
	line.Prepare = func(ctx context.Context) {
		c.Load(ctx)
		var now []cluster.Object
		for _, kind := range roots {
			some, err := source.List(cluster.Query{Kind: kind})
			if err != nil {
				log.Error(err, "failed to list owners of load balancers", "kind", kind)
				return
			}
			now = append(now, some...)
		}
		gone = m.Load(ctx, now, func(ref cluster.Ref) bool {
			return (only == "" || ref.Namespace == only) && source.Installed(ref.Kind)
		})
	}
	line.Also = func() []model.StackID {
		return slices.DeleteFunc(ownership.Left(cl.View().Unsubscribed(), gone), func(id model.StackID) bool {
			return !slices.Contains(roots, ownership.Root(id.Kind)) // stored by a process that had its frontend
		})
	}
	if err := mgr.Add(c); err != nil {
		return err
	}
	return mgr.Add(m)
}
