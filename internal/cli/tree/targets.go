package tree

import (
	"cmp"
	"slices"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// BoundTo returns the endpoints that are to be registered, by the ARN of the target group. A target group is
// left out whose endpoints cannot be determined from the objects, or that is not filled by one binding
// of this cluster alone.
func BoundTo(store *cluster.Memory, c config.Config) map[string][]targets.Endpoint {
	opt := controller.BindingConfig(c, "", nil)
	out, several := map[string][]targets.Endpoint{}, map[string]bool{}
	for _, o := range store.All(cluster.KindBinding) {
		b := o.(*elbv2.TargetGroupBinding)
		arn := b.Spec.TargetGroupARN
		if _, twice := out[arn]; twice || b.Spec.MultiClusterTargetGroup {
			several[arn] = true
		}
		if arn == "" || b.Spec.TargetType == nil || several[arn] || b.DeletionTimestamp != nil {
			continue
		}
		v := cluster.NewView(store)
		found := targets.Resolve(v, b, opt.Targets)
		endpoints := found.Endpoints()
		tooMany := opt.MaxTargets > 0 && len(endpoints) > opt.MaxTargets
		if v.Err() == nil && !found.NotFound && !found.SourceMissing && !found.Faulty && !found.Unknown && !tooMany {
			out[arn] = endpoints
		}
	}
	for arn := range several {
		delete(out, arn)
	}
	return out
}

func targetsOf(h observed.Health) []Target {
	out := []Target{}
	for _, t := range h.Targets {
		out = append(out, Target{ID: t.ID, Port: t.Port, State: t.State, Reason: t.Reason, Description: t.Description})
	}
	slices.SortStableFunc(out, func(a, b Target) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Port, b.Port)) })
	return out
}

// compareTargets marks targets that are no endpoints, and adds endpoints that are not registered.
func compareTargets(h observed.Health, endpoints []targets.Endpoint) []Target {
	want := map[string]bool{}
	for _, e := range endpoints {
		want[e.Identity()] = true
	}
	out, registered := []Target{}, map[string]bool{}
	for _, t := range h.Targets {
		one := Target{ID: t.ID, Port: t.Port, State: t.State, Reason: t.Reason, Description: t.Description}
		if t.State != "draining" {
			registered[targets.IdentityOf(t)] = true
			if !want[targets.IdentityOf(t)] {
				one.Compared = surplus
			}
		}
		out = append(out, one)
	}
	for _, e := range endpoints {
		if !registered[e.Identity()] {
			registered[e.Identity()] = true // endpoints may be listed twice
			out = append(out, Target{ID: e.ID, Port: e.Port, State: "not registered", Compared: missing})
		}
	}
	slices.SortStableFunc(out, func(a, b Target) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Port, b.Port)) })
	return out
}
