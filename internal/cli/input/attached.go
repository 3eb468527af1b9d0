package input

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// unattached reports by which parentRefs routes are attached to no listener of a Gateway, and which listeners and
// ListenerSets are out of service, and why. The controller writes that into the status of the objects, which a file does
// not have and the API server has only later. Of other namespaces than the command is about, no route is named.
func (d *Source) unattached(store *cluster.Memory, id model.StackID) (out finding.List) {
	gw, ok := cluster.Get[*gwv1.Gateway](cluster.NewView(store), cluster.KindGateway, id.Namespace, id.Name)
	if !ok || !id.Kind.OfGateway() {
		return nil
	}
	add := func(ref finding.Ref, field string, p attach.Problem) {
		out.Add(finding.Finding{Object: ref, Field: field, Reason: finding.Reason(p.Reason), Severity: finding.Error, Message: p.Message, Blocks: finding.BlocksMember})
	}
	found := attach.Evaluate(cluster.NewView(store), gw, id.Kind, attach.Options{ListenerSets: d.Config.Gates.On(config.GatewayListenerSet)})
	for _, r := range found.Routes {
		ref := cluster.RefOf(r.Object)
		for _, p := range r.Parents {
			if p.Problem != (attach.Problem{}) && d.asksAbout(ref, id) {
				add(ownership.RefOf(r.Object), fmt.Sprintf("spec.parentRefs[%d]", p.Index), p.Problem)
			}
		}
	}
	for _, s := range found.Sets {
		if ref := cluster.RefOf(s.Object); !s.Accepted && d.asksAbout(ref, id) {
			add(ownership.RefOf(s.Object), "spec.parentRef", attach.Problem{Reason: string(gwv1.ListenerSetReasonNotAllowed),
				Message: "the Gateway does not admit the ListenerSet; none of its listeners is served; ask the owner of the Gateway for spec.allowedListeners"})
		}
	}
	for _, l := range found.Listeners {
		if !l.Valid() {
			add(l.Parent, fmt.Sprintf("spec.listeners[%d]", l.Index), l.Problem)
		}
	}
	return out
}

// asksAbout reports whether a command is about an object that asks to be attached to a Gateway: it names the object or its
// namespace, or the Gateway or that of it.
func (s *scope) asksAbout(ref cluster.Ref, gateway model.StackID) bool {
	asked := func(o cluster.Ref) bool {
		return o == ref || o == cluster.Ref{Kind: cluster.KindGateway, Namespace: gateway.Namespace, Name: gateway.Name}
	}
	switch {
	case s.isEverything():
		return true
	case len(s.Named) > 0:
		return slices.ContainsFunc(s.Named, asked)
	case len(s.touched) > 0:
		return slices.ContainsFunc(s.touched, func(c change) bool { return asked(cluster.RefOf(c.after)) })
	}
	return s.Namespace == ref.Namespace || s.Namespace == gateway.Namespace
}
