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

// EndpointsByTargetGroup returns the endpoints that should be registered in each target group. The keys are ARNs. It omits a
// target group if its endpoints cannot be determined from the objects, or if several TargetGroupBindings may register
// targets in it, including those of other clusters.
func EndpointsByTargetGroup(store *cluster.Memory, c config.Config) map[string][]targets.Endpoint {
	opt := controller.BindingConfig(c, "", nil)
	out, bound, several := map[string][]targets.Endpoint{}, map[string]bool{}, map[string]bool{}
	for _, o := range store.All(cluster.KindBinding) {
		b := o.(*elbv2.TargetGroupBinding)
		arn := b.Spec.TargetGroupARN
		if bound[arn] || b.Spec.MultiClusterTargetGroup {
			several[arn] = true
		}
		bound[arn] = true
		if arn == "" || b.Spec.TargetType == nil || several[arn] || b.DeletionTimestamp != nil {
			continue
		}
		v := cluster.NewView(store)
		resolved := targets.Resolve(v, b, opt.Targets)
		endpoints := resolved.Endpoints()
		tooMany := opt.MaxTargetsPerTargetGroup > 0 && len(endpoints) > opt.MaxTargetsPerTargetGroup
		if v.Err() == nil && !resolved.BackendMissing && !resolved.SourceMissing && !resolved.Faulty && !resolved.ViewInconsistent && !tooMany {
			out[arn] = endpoints
		}
	}
	for arn := range several {
		delete(out, arn)
	}
	return out
}

// compareTargets returns the registered targets, and the endpoints that are not registered, sorted by ID and port. A target
// that is not an endpoint is surplus, and an endpoint that is not registered is missing. A draining target is never surplus.
// If known is false, the endpoints are not known, so no target is surplus.
func compareTargets(h observed.Health, endpoints []targets.Endpoint, known bool) []Target {
	desired := map[string]bool{}
	for _, e := range endpoints {
		desired[e.Identity()] = true
	}
	out, registered := []Target{}, map[string]bool{}
	for _, t := range h.Targets {
		target := Target{ID: t.ID, Port: t.Port, State: t.State, Reason: t.Reason, Description: t.Description}
		if t.State != "draining" {
			registered[targets.IdentityOf(t)] = true
			if known && !desired[targets.IdentityOf(t)] {
				target.Compared = stateSurplus
			}
		}
		out = append(out, target)
	}
	for _, e := range endpoints {
		if !registered[e.Identity()] {
			registered[e.Identity()] = true // endpoints may be listed twice
			out = append(out, Target{ID: e.ID, Port: e.Port, State: "not registered", Compared: stateMissing})
		}
	}
	slices.SortStableFunc(out, func(a, b Target) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Port, b.Port)) })
	return out
}
