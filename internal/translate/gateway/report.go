package gateway

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway/status"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// Report writes the status of the Gateway, its ListenerSets and its routes, the annotations of the Gateway that others
// read, and events on the Gateway. What it writes depends on the objects and the outcome, and a status that is as it
// should be is not written.
func (f *Frontend) Report(v *cluster.View, o engine.Outcome) []cluster.Patch {
	l := f.load(v, o.ID)
	source := source(o.ID.Kind)
	if l.class == nil {
		return append(status.Events(o, l.gw, source, false), f.forget(v, o.ID, l)...)
	}
	if o.Err != nil && o.FailedIn == engine.Observing && o.Stack.Contested {
		// What is live decides between listeners, and is not known. What is said of them stays.
		return status.Events(o, l.gw, source, false)
	}
	r := status.Report{
		View: v, Outcome: o, Gateway: l.gw, Controller: l.class.Spec.ControllerName, ListenerSets: f.opt.ListenerSets, Imports: f.opt.ImportCertificates,
		Attached: attach.Evaluate(v, l.gw, o.ID.Kind, attach.Options{ListenerSets: f.opt.ListenerSets, Live: desiredRoutes{o.Stack}}),
	}
	r.Config, _ = gatewayconfig.Resolve(v, l.gw, l.class)
	s := status.Of(r)
	out := append(s.RouteAndSetEdits(), planPatches(l.gw, o)...)
	if o.Stack.DryRun {
		if !s.Blocked() && !s.Refused() {
			return append(out, status.Events(o, l.gw, source, false)...)
		}
	} else {
		out = append(out, addOnNotes(l.gw, o)...)
	}
	out = append(out, s.OfGateway())
	return append(out, status.Events(o, l.gw, source, s.BecomesProgrammed())...)
}

// desiredRoutes are the routes of a desired state that was carried out.
type desiredRoutes struct{ stack model.Stack }

// Serves implements attach.Live.
func (d desiredRoutes) Serves(port int32, route finding.Ref, hosts []string) bool {
	return desiresRoute(d.stack, port, route, hosts)
}

// source returns what events of a kind of stack are recorded with.
func source(kind model.Kind) string {
	if kind == model.NLBGateway {
		return string(gatewayconfig.NLBController)
	}
	return string(gatewayconfig.ALBController)
}

// forget takes the entries of a Gateway that is not served any more off its routes, and its verdict off its
// ListenerSets. Where another kind of load balancer serves it now, or another class of ours, the entries of those
// stay.
func (f *Frontend) forget(v *cluster.View, id model.StackID, l loaded) []cluster.Patch {
	if l.excluded {
		return nil // what is live stays, and so does what is said of it
	}
	gone := f.previousControllers(v, id, l.gw)
	if len(gone) == 0 {
		return nil
	}
	return status.Forget(v, refOf(cluster.KindGateway, id.Namespace, id.Name), gone, !f.isServed(v, l.gw))
}

// isServed reports whether a class of ours serves a Gateway, with whatever kind of load balancer.
func (f *Frontend) isServed(v *cluster.View, gw *gwv1.Gateway) bool {
	if gw == nil || gw.DeletionTimestamp != nil {
		return false
	}
	_, ours := gatewayconfig.StackKind(v, gw)
	return ours
}

// previousControllers returns the names under which the stack of a Gateway wrote statuses that nothing renews any more.
func (f *Frontend) previousControllers(v *cluster.View, id model.StackID, gw *gwv1.Gateway) []gwv1.GatewayController {
	own := gatewayconfig.ALBController
	if id.Kind == model.NLBGateway {
		own = gatewayconfig.NLBController
	}
	names := []gwv1.GatewayController{own, gatewayconfig.AnyController}
	if !f.isServed(v, gw) {
		return names
	}
	now := gatewayconfig.ClassOf(v, gw).Spec.ControllerName
	return slices.DeleteFunc(names, func(n gwv1.GatewayController) bool { return n == now })
}
