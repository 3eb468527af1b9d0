package explain

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// unattached says by which parentRefs a route is attached to no listener of a Gateway, or a ListenerSet has listeners
// that are out of service, and why. The controller writes that into the status of the object, which a file does not have
// and the API server has only later.
func unattached(store *cluster.Memory, id model.StackID, ref cluster.Ref, cfg config.Config) []explainedFinding {
	out := []explainedFinding{}
	v := cluster.NewView(store)
	gw, ok := cluster.Get[*gwv1.Gateway](v, cluster.KindGateway, id.Namespace, id.Name)
	if !ok || id.Kind != model.ALBGateway && id.Kind != model.NLBGateway {
		return out
	}
	add := func(field string, p attach.Problem) {
		out = append(out, explainedFinding{Finding: output.Finding{
			Severity: finding.Error.String(), Reason: finding.Reason(p.Reason), Object: objectOf(ref), Field: field, Message: p.Message, Blocks: finding.BlocksMember.String(),
		}})
	}
	found := attach.Of(v, gw, id.Kind, attach.Options{ListenerSets: cfg.Gates.On(config.GatewayListenerSet)})
	for _, r := range found.Routes {
		if cluster.RefOf(r.Object) != ref {
			continue
		}
		for _, p := range r.Parents {
			if p.Problem != (attach.Problem{}) {
				add(fmt.Sprintf("spec.parentRefs[%d]", p.Index), p.Problem)
			}
		}
	}
	for _, s := range found.Sets {
		if !s.Accepted && cluster.RefOf(s.Object) == ref {
			add("spec.parentRef", attach.Problem{Reason: string(gwv1.ListenerSetReasonNotAllowed),
				Message: "the Gateway does not admit the ListenerSet; none of its listeners is served; ask the owner of the Gateway for spec.allowedListeners"})
		}
	}
	for _, l := range found.Listeners {
		if l.Parent == finding.Ref(objectOf(ref)) && !l.Valid() {
			add(fmt.Sprintf("spec.listeners[%d]", l.Index), l.Problem)
		}
	}
	return out
}
