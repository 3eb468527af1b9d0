package gateway

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	shared "github.com/fulcrum-lb/fulcrum/internal/translate/report"

	"slices"
)

// isDryRun reports whether the dry-run annotation of a Gateway has an effect: the plan is shown and not carried out. The
// annotation has no effect while the Gateway is being deleted, or if it has a load balancer already, unless the Gateway took
// this load balancer over and can return it.
func isDryRun(gw *gwv1.Gateway, id model.StackID) bool {
	_, adopts := gw.Annotations[naming.AdoptAnnotation]
	return gw.Annotations[naming.DryRunAnnotation] == "true" && gw.DeletionTimestamp == nil && (adopts || !slices.Contains(gw.Finalizers, naming.Finalizer(id)))
}

// planPatches returns patches that write the plan of a dry run into an annotation of the Gateway, or remove the annotation
// if there is no dry run. If there is no plan, because the stack is held, the annotation is not changed.
func planPatches(gw *gwv1.Gateway, o engine.Outcome) []cluster.Patch {
	want := ""
	if o.Stack.DryRun {
		if o.Document == nil {
			return nil
		}
		want = o.Document.JSON()
	}
	if gw.Annotations[cluster.GatewayPlanAnnotation] == want {
		return nil
	}
	ref := cluster.RefOf(gw)
	return []cluster.Patch{cluster.Annotation{
		Ref: ref, Key: cluster.GatewayPlanAnnotation, Value: want,
		TooLarge: shared.PlanTooLargeEvent(ref, cluster.GatewayPlanAnnotation, len(want), "read it with fulcrum plan -o json, or use fewer routes"),
	}}
}
