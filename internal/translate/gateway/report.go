package gateway

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway/status"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// Report returns patches for the status of the Gateway, its ListenerSets and its routes, for annotations of the Gateway, and
// for its events. A status that is already correct is not patched.
func (f *Frontend) Report(v *cluster.View, o engine.Outcome) []cluster.Patch {
	l := f.loadGateway(v, o.ID)
	source := string(controllerOf(o.ID.Kind))
	if l.class == nil {
		return append(status.Events(o, l.gw, source, false), f.removeStatus(v, o.ID, l)...)
	}
	if o.Err != nil && o.FailedPhase == engine.ObservePhase && o.Stack.Contested {
		// The existing load balancer decides which of several conflicting listeners is served. Its state is not known now,
		// so the status of listeners is not changed.
		return status.Events(o, l.gw, source, false)
	}
	r := status.Report{
		View: v, Outcome: o, Gateway: l.gw, Controller: l.class.Spec.ControllerName, ListenerSets: f.readsListenerSets(v), Imports: f.opt.ImportCertificates,
		Attached: attach.Evaluate(v, l.gw, o.ID.Kind, attach.Options{ListenerSets: f.readsListenerSets(v), Live: desiredRoutes{o.Stack}}),
	}
	r.Config, _ = gatewayconfig.Resolve(v, l.gw, l.class)
	s := status.New(r)
	out := append(s.RouteAndListenerSetPatches(), planPatches(l.gw, o)...)
	if o.Stack.DryRun {
		if !s.IsBlocked() && !s.IsRefused() {
			return append(out, status.Events(o, l.gw, source, false)...)
		}
	} else {
		out = append(out, addOnPatches(l.gw, o)...)
	}
	out = append(out, s.GatewayPatch())
	return append(out, status.Events(o, l.gw, source, s.BecomesProgrammed())...)
}

// controllerOf returns the controller name for a kind of stack. It is also the source of events about the stack.
func controllerOf(kind model.Kind) gwv1.GatewayController {
	if kind == model.NLBGateway {
		return gatewayconfig.NLBController
	}
	return gatewayconfig.ALBController
}

// removeStatus removes the entries of a Gateway that is no longer served from the status of its routes and ListenerSets. If
// another class of this controller, or the frontend for the other kind of load balancer, serves the Gateway now, entries
// under its controller name stay.
func (f *Frontend) removeStatus(v *cluster.View, id model.StackID, l stackGateway) []cluster.Patch {
	if l.excluded {
		return nil // neither the load balancer nor the status is changed
	}
	gone := f.previousControllers(v, id, l.gw)
	if len(gone) == 0 {
		return nil
	}
	return status.RouteStatusRemovalPatches(v, cluster.Ref{Kind: cluster.KindGateway, Namespace: id.Namespace, Name: id.Name}, gone, !f.isServed(v, l.gw))
}

// isServed reports whether a Gateway is not being deleted and has a class of this controller, for any kind of load balancer.
func (f *Frontend) isServed(v *cluster.View, gw *gwv1.Gateway) bool {
	if gw == nil || gw.DeletionTimestamp != nil {
		return false
	}
	return gatewayconfig.IsOwnClass(gatewayconfig.ClassOf(v, gw))
}

// previousControllers returns controller names that this controller does not use for a Gateway now, but under which it may
// have written statuses earlier.
func (f *Frontend) previousControllers(v *cluster.View, id model.StackID, gw *gwv1.Gateway) []gwv1.GatewayController {
	names := []gwv1.GatewayController{controllerOf(id.Kind), gatewayconfig.FulcrumController}
	if !f.isServed(v, gw) {
		return names
	}
	now := gatewayconfig.ClassOf(v, gw).Spec.ControllerName
	return slices.DeleteFunc(names, func(n gwv1.GatewayController) bool { return n == now })
}
