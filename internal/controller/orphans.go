package controller

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Orphan is a stack with AWS resources that no object of the cluster owns. The resources are never deleted without an
// object, because a user may have removed the finalizer of the object to keep the load balancer.
type Orphan struct {
	ID        model.StackID
	Resources []string // ARNs and IDs, in the order of the inventory
}

// OrphanFix is the part of messages about orphans that explains what users can do.
const OrphanFix = "delete the resources in AWS; or, to have the controller delete them, create an object of that kind and name, or an Ingress of that IngressGroup, and delete it"

// OwnedLister lists the AWS resources of the cluster for one kind of stacks, by stack.
type OwnedLister interface {
	Owned(ctx context.Context, kind model.Kind) (map[model.StackID][]string, error)
}

// FindOrphans returns the stacks with AWS resources that no object of the cluster owns, sorted. If only is not empty, this
// is the only namespace that is watched. IngressGroups are omitted in this case, because they may have members in other
// namespaces.
func FindOrphans(ctx context.Context, aws OwnedLister, view func() *cluster.View, frontends engine.Frontends, only string) ([]Orphan, error) {
	var out []Orphan
	for kind, f := range frontends {
		finder, ok := f.(interface {
			HasObjects(v *cluster.View, id model.StackID) bool
		})
		if !ok {
			continue
		}
		owned, err := aws.Owned(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("list resources of the cluster: %w", err)
		}
		v := view().Unsubscribed() // read after the list of resources, so that the view has the objects for which these resources were created
		for id, resources := range owned {
			if only != "" && id.Namespace != only {
				continue
			}
			id = ownership.FullStackID(v, id)
			if finder.HasObjects(v, id) {
				resources = unusedResources(v, f, id, resources)
			}
			if len(resources) > 0 {
				out = append(out, Orphan{id, resources})
			}
		}
		if err := v.Err(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b Orphan) int { return a.ID.Compare(b.ID) })
	return out, nil
}

// unusedResources returns the resources of a stack that the object of the stack does not use. It returns nil if the frontend
// cannot determine them.
func unusedResources(v *cluster.View, f engine.Frontend, id model.StackID, resources []string) []string {
	if s, ok := f.(interface {
		SurplusResources(v *cluster.View, id model.StackID, resources []string) []string
	}); ok {
		return s.SurplusResources(v, id, resources)
	}
	return nil
}

// watchOrphans searches for orphans periodically until ctx ends. It logs each orphan once, and sets the number of orphaned
// resources in metrics.
func watchOrphans(ctx context.Context, synced func(context.Context) error, find func(context.Context) ([]Orphan, error), m *Metrics, log logr.Logger) error {
	if err := synced(ctx); err != nil {
		return nil //nolint:nilerr // the process is stopping
	}
	known := map[string]bool{}
	for wait := durations.SweepInterval; pause(ctx, wait); wait = durations.OrphanSearchInterval {
		found, err := find(ctx)
		if err != nil {
			log.V(1).Info("failed to find orphans", "err", err.Error())
			continue
		}
		resources, still := 0, map[string]bool{}
		for _, o := range found {
			resources += len(o.Resources)
			text := fmt.Sprint(o)
			still[text] = true
			if !known[text] {
				log.Info("found orphans", "stack", o.ID.String(), "resources", o.Resources, "effect", "no object uses the resources; they are not deleted", "fix", OrphanFix)
			}
		}
		m.orphans.WithLabelValues().Set(float64(resources))
		known = still
	}
	return nil
}
