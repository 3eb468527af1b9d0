package input

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// unattachedFindings returns a finding for each parentRef of a route that attaches to no listener of the Gateway id, and for
// each listener and ListenerSet that is not served. The controller writes these reasons to the status of the objects, but
// objects in files have no status. It omits routes and ListenerSets outside the scope of the command.
func (d *Source) unattachedFindings(store *cluster.Memory, id model.StackID) (out finding.List) {
	gw, ok := cluster.Get[*gwv1.Gateway](cluster.NewView(store), cluster.KindGateway, id.Namespace, id.Name)
	if !ok || !id.Kind.IsGateway() {
		return nil
	}
	add := func(ref finding.Ref, field string, p attach.Problem) {
		out.Add(finding.Finding{Object: ref, Field: field, Reason: finding.Reason(p.Reason), Severity: finding.Error, Message: p.Message, Blocks: finding.BlocksMember})
	}
	attached := attach.Evaluate(cluster.NewView(store), gw, id.Kind, attach.Options{ListenerSets: d.Config.Gates.IsEnabled(config.GatewayListenerSet)})
	for _, r := range attached.Routes {
		ref := cluster.RefOf(r.Object)
		for _, p := range r.Parents {
			if p.Problem != (attach.Problem{}) && d.includesMember(ref, id) {
				add(ref, fmt.Sprintf("spec.parentRefs[%d]", p.Index), p.Problem)
			}
		}
	}
	for _, s := range attached.Sets {
		if ref := cluster.RefOf(s.Object); !s.Accepted && d.includesMember(ref, id) {
			add(ref, "spec.parentRef", attach.Problem{Reason: string(gwv1.ListenerSetReasonNotAllowed),
				Message: "the Gateway does not admit the ListenerSet; none of its listeners is served; let the owner of the Gateway set spec.allowedListeners"})
		}
	}
	for _, l := range attached.Listeners {
		if !l.IsValid() {
			add(l.Parent, fmt.Sprintf("spec.listeners[%d]", l.Index), l.Problem)
		}
	}
	return out
}

// includesMember reports whether a scope includes a route or ListenerSet that refers to a Gateway: the scope covers
// everything, or it includes one of the two objects or its namespace.
func (s *scope) includesMember(ref cluster.Ref, gateway model.StackID) bool {
	isEither := func(o cluster.Ref) bool {
		return o == ref || o == cluster.Ref{Kind: cluster.KindGateway, Namespace: gateway.Namespace, Name: gateway.Name}
	}
	switch {
	case s.coversEverything():
		return true
	case len(s.Named) > 0:
		return slices.ContainsFunc(s.Named, isEither)
	case len(s.fileChanges) > 0:
		return slices.ContainsFunc(s.fileChanges, func(c objectChange) bool { return isEither(cluster.RefOf(c.after)) })
	}
	return s.Namespace == ref.Namespace || s.Namespace == gateway.Namespace
}
