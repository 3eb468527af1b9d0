package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Orphan is what AWS has of a stack that no object of the cluster asks for. It is never deleted without an
// object: a user may have taken the finalizer off to keep the load balancer.
type Orphan struct {
	ID        model.StackID
	Resources []string // ARNs and ids, in order
}

// OrphanFix is what to do about an orphan.
const OrphanFix = "delete the resources in AWS; or, to have the controller delete them, create an object of that kind and name, or an Ingress of that IngressGroup, and delete it"

// Owner lists what AWS has of the cluster, by stack.
type Owner interface {
	Owned(ctx context.Context, kind model.Kind) (map[model.StackID][]string, error)
}

// FindOrphans compares what AWS has with the objects of the cluster. only, if not empty, is the only namespace
// that is watched: of IngressGroups, which other namespaces may have a part in, nothing is known then.
func FindOrphans(ctx context.Context, aws Owner, view func() *cluster.View, frontends engine.Frontends, only string) ([]Orphan, error) {
	var out []Orphan
	for kind, f := range frontends {
		asks, ok := f.(interface {
			Asked(v *cluster.View, id model.StackID) bool
		})
		if !ok {
			continue
		}
		owned, err := aws.Owned(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("list resources of the cluster: %w", err)
		}
		v := view().Unsubscribed() // younger than the list, so that what was made meanwhile has its object
		for id, resources := range owned {
			if only != "" && id.Namespace != only {
				continue
			}
			if asks.Asked(v, id) {
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

// unusedResources returns the resources of a stack that its object does not use, where its frontend says that.
func unusedResources(v *cluster.View, f engine.Frontend, id model.StackID, resources []string) []string {
	if s, ok := f.(interface {
		Surplus(v *cluster.View, id model.StackID, resources []string) []string
	}); ok {
		return s.Surplus(v, id, resources)
	}
	return nil
}

// watchOrphans logs each orphan once, and counts them, until ctx ends.
func watchOrphans(ctx context.Context, synced func(context.Context) error, find func(context.Context) ([]Orphan, error), m *Metrics, log logr.Logger) error {
	if err := synced(ctx); err != nil {
		return nil //nolint:nilerr // the process is stopping
	}
	known := map[string]bool{}
	for wait := durations.Sweep; ; wait = durations.Orphans {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		found, err := find(ctx)
		if err != nil {
			log.V(1).Info("failed to look for orphans", "err", err.Error())
			continue
		}
		resources, still := 0, map[string]bool{}
		for _, o := range found {
			resources += len(o.Resources)
			text := fmt.Sprint(o)
			still[text] = true
			if !known[text] {
				log.Info("found orphans", "stack", o.ID.String(), "resources", o.Resources, "effect", "no object asks for them; they stay", "fix", OrphanFix)
			}
		}
		m.orphans.WithLabelValues().Set(float64(resources))
		known = still
	}
}
