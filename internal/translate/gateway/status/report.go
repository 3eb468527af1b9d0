// Package status reports the result of a run in the status of a Gateway, its ListenerSets and its routes, and in events.
package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
	shared "github.com/fulcrum-lb/fulcrum/internal/translate/report"
)

// Report is the input from which New builds the status of a Gateway that is served.
type Report struct {
	View       *cluster.View
	Outcome    engine.Outcome
	Gateway    *gwv1.Gateway
	Controller gwv1.GatewayController
	// ListenerSets reports whether ListenerSets are read. Imports reports whether TLS Secrets are imported.
	ListenerSets, Imports bool
	Attached              attach.Result
	Config                gatewayconfig.Configuration
}

// New returns the Status that reports the outcome of a run.
func New(from Report) *Status {
	r := &Status{Report: from, found: map[finding.Ref]finding.List{}, ports: shared.ListenerPorts(from.Outcome)}
	for _, x := range from.Outcome.Findings {
		r.found[x.Object] = append(r.found[x.Object], x)
	}
	r.evaluateListeners()
	return r
}

// Status builds the status of a Gateway, its ListenerSets and its routes.
type Status struct {
	Report
	// ports are the ports on which the load balancer listens.
	ports []int32
	// found has the findings, by the object that they are about.
	found map[finding.Ref]finding.List

	listeners []listenerResult // by index in Attached.Listeners
}

// RouteAndListenerSetPatches returns the patches for the status of the routes and ListenerSets of the Gateway.
func (r *Status) RouteAndListenerSetPatches() []cluster.Patch {
	return append(r.routePatches(), r.listenerSetPatches()...)
}

func (r *Status) ref() finding.Ref { return cluster.RefOf(r.Gateway) }

// liveLoadBalancer returns the load balancer of the Gateway in AWS. It returns false if there is none, or if the state of
// AWS is not known.
func (r *Status) liveLoadBalancer() (engine.LiveLoadBalancer, bool) {
	lb, ok := r.Outcome.LiveLoadBalancers[model.LoadBalancerID]
	return lb, ok
}

// blocksGateway reports whether a finding holds the whole Gateway and not only one listener.
func blocksGateway(x finding.Finding) bool { return x.Blocks >= finding.BlocksMember && x.Port == 0 }

// IsBlocked reports whether the whole Gateway is held, because its desired state cannot be determined.
func (r *Status) IsBlocked() bool {
	return slices.ContainsFunc(r.found[r.ref()], blocksGateway)
}

// IsRefused reports whether condition Accepted in the status of the Gateway is False.
func (r *Status) IsRefused() bool {
	return meta.IsStatusConditionFalse(r.Gateway.Status.Conditions, string(gwv1.GatewayConditionAccepted))
}

// Events returns the events about findings on the Gateway, and about success. source is the source of the events. programmed
// reports whether the Gateway is now programmed for the first time. Findings on routes and ListenerSets have no events,
// because their conditions report them.
func Events(o engine.Outcome, gw *gwv1.Gateway, source string, programmed bool) []cluster.Patch {
	if gw == nil {
		return nil
	}
	ref := cluster.RefOf(gw)
	var out []cluster.Patch
	faulty := false
	for _, x := range o.Findings.Sorted() {
		faulty = faulty || x.Severity == finding.Error && x.Object == ref
		if e, ok := shared.Event(x, o.Stack.Leaving); ok && x.Object == ref && (e.Warning || e.Once) {
			e.Source = source
			out = append(out, e)
		}
	}
	lb, live := o.LiveLoadBalancers[model.LoadBalancerID]
	done := o.Changed && (o.Done || len(o.FailedSteps) > 0) || programmed
	if done && live && lb.Active && !faulty && !o.Stack.Held.AllResources && slices.ContainsFunc(o.Stack.Members, func(m model.Member) bool { return m.Ref == ref }) {
		out = append(out, cluster.Event{Ref: ref, Source: source, Reason: shared.EventReconciled, Message: "Successfully reconciled"})
	}
	return out
}
