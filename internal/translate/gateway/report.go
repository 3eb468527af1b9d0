package gateway

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
	shared "github.com/fulcrum-lb/fulcrum/internal/translate/report"
)

// Report writes the status of the Gateway, its ListenerSets and its routes, the annotations of the Gateway that others
// read, and events on the Gateway. What it writes depends on the objects and the outcome, and a status that is as it
// should be is not written.
func (f *Frontend) Report(v *cluster.View, o engine.Outcome) []cluster.Patch {
	l := f.load(v, o.ID)
	if l.class == nil {
		return append(events(o, l.gw, f.source(o.ID.Kind), false), f.forget(v, o.ID, l)...)
	}
	if o.Err != nil && o.FailedIn == engine.Observing && o.Stack.Contested {
		// What is live decides between listeners, and is not known. What is said of them stays.
		return events(o, l.gw, f.source(o.ID.Kind), false)
	}
	r := &report{v: v, o: o, gw: l.gw, controller: l.class.Spec.ControllerName, sets: f.opt.ListenerSets, imports: f.opt.ImportCertificates, found: map[finding.Ref]finding.List{}}
	for _, x := range o.Findings {
		r.found[x.Object] = append(r.found[x.Object], x)
	}
	r.attached = attach.Of(v, l.gw, o.ID.Kind, attach.Options{ListenerSets: f.opt.ListenerSets, Serves: func(port int32, route finding.Ref, hosts []string) bool {
		return desires(o.Stack, port, route, hosts)
	}})
	r.config, _ = gatewayconfig.Of(v, l.gw, l.class)
	r.ports = shared.Listens(o)
	r.reportListeners()
	out := append(r.routeEdits(), r.setEdits()...)
	out = append(out, planNote(l.gw, o)...)
	if o.Stack.DryRun {
		if !r.blocked() {
			return append(out, events(o, l.gw, f.source(o.ID.Kind), false)...)
		}
	} else {
		out = append(out, addOnNotes(l.gw, o)...)
	}
	out = append(out, r.gatewayEdit())
	return append(out, events(o, l.gw, f.source(o.ID.Kind), r.becomesProgrammed())...)
}

// source is what events of a kind of stack are recorded with.
func (f *Frontend) source(kind model.Kind) string {
	if kind == model.NLBGateway {
		return string(gatewayconfig.NLBController)
	}
	return string(gatewayconfig.ALBController)
}

// report is one report about a Gateway that is served.
type report struct {
	v          *cluster.View
	o          engine.Outcome
	gw         *gwv1.Gateway
	controller gwv1.GatewayController
	sets       bool // ListenerSets are read
	imports    bool // TLS Secrets are imported
	attached   attach.Result
	config     gatewayconfig.Configuration
	// ports are those on which the load balancer listens.
	ports []int32
	// found are the findings by object.
	found map[finding.Ref]finding.List

	listeners []listenerVerdict // by place in attached.Listeners
}

func (r *report) ref() finding.Ref { return ownership.RefOf(r.gw) }

// live is the load balancer of the Gateway; false if there is none, or it is not known.
func (r *report) live() (engine.Live, bool) {
	lb, ok := r.o.Live[model.LoadBalancerID]
	return lb, ok
}

// blocksGateway reports whether a finding on a Gateway holds all of it, and not a listener alone.
func blocksGateway(x finding.Finding) bool { return x.Blocks >= finding.BlocksMember && x.Port == 0 }

// blocked reports whether the Gateway is held as a whole, because what it asks for cannot be determined.
func (r *report) blocked() bool {
	return slices.ContainsFunc(r.found[r.ref()], blocksGateway)
}

// events are those of the findings on the Gateway, and of a success. What is wrong with routes and ListenerSets is in
// their conditions.
func events(o engine.Outcome, gw *gwv1.Gateway, source string, programmed bool) []cluster.Patch {
	if gw == nil {
		return nil
	}
	ref := ownership.RefOf(gw)
	var out []cluster.Patch
	faulty := false
	for _, x := range o.Findings.Sorted() {
		faulty = faulty || x.Severity == finding.Error && x.Object == ref
		if e, ok := shared.Event(x, o.Stack.Leaving); ok && x.Object == ref && (e.Warning || e.Once) {
			e.Source = source
			out = append(out, e)
		}
	}
	lb, live := o.Live[model.LoadBalancerID]
	done := o.Changed && (o.Done || len(o.Failed) > 0) || programmed
	if done && live && lb.Active && !faulty && !o.Stack.Held.Everything && slices.ContainsFunc(o.Stack.Members, func(m model.Member) bool { return m.Ref == ref }) {
		out = append(out, cluster.Event{Ref: shared.RefTo(ref), Source: source, Reason: shared.EventReconciled, Message: "Successfully reconciled"})
	}
	return out
}
