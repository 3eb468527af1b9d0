package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// listenerVerdict is what is wrong with a listener. Zero problems are none.
type listenerVerdict struct {
	accepted, resolved, programmed attach.Problem
	// stopped is why it cannot serve, though it is as it should be and so is what it refers to.
	stopped attach.Problem
	// valid reports that the listener takes part in the load balancer, though perhaps not with all it refers to.
	valid bool
	// attached counts the routes that are attached and accepted.
	attached int32
}

// problem returns what is wrong with a listener, "" if nothing is.
func (v listenerVerdict) problem() string {
	return firstProblem(v.accepted, v.resolved, v.stopped).Message
}

// reportListeners reports of each listener what is wrong with it, once that is known of routes.
func (r *Status) reportListeners() {
	r.listeners = make([]listenerVerdict, len(r.Attached.Listeners))
	for i, route := range r.Attached.Routes {
		counted := map[int]bool{}
		for _, p := range route.Parents {
			for k, port := range r.portsOf(p) {
				a := p.Attachments[k]
				if !counted[a.Listener] && r.verdictOn(i, []int32{port}).accepted.Reason == "" {
					counted[a.Listener] = true
					r.listeners[a.Listener].attached++
				}
			}
		}
	}
	for i := range r.listeners {
		l, v := &r.Attached.Listeners[i], &r.listeners[i]
		v.accepted, v.resolved = l.Problem, l.RefProblem
		if v.accepted.Reason == string(gwv1.ListenerReasonInvalidRouteKinds) {
			v.accepted = attach.Problem{} // a matter of references
		}
		stops := listenerReport{r}.sortFindings(l, v)
		v.valid = l.Valid() && !stops
		if v.programmed.Reason == "" {
			v.programmed = listenerReport{r}.notProgrammedReason(l, v)
		}
	}
}

// listenerReport is what the status says of listeners.
type listenerReport struct{ *Status }

// sortFindings sorts the findings on a listener, and reports whether it cannot serve.
func (r listenerReport) sortFindings(l *attach.Listener, v *listenerVerdict) (stops bool) {
	field := fmt.Sprintf("spec.listeners[%d]", l.Index)
	for _, x := range r.found[l.Parent] {
		rest, here := strings.CutPrefix(x.Field, field)
		here = here && (rest == "" || rest[0] == '.')
		if ofPort := x.Port == int32(l.Spec.Port) && !strings.HasPrefix(x.Field, "spec.listeners["); !here && !ofPort {
			continue
		}
		reason, ok := listenerReasons[x.Reason]
		if !ok && x.Severity == finding.Error && strings.HasPrefix(rest, ".tls.certificateRefs") {
			reason, ok = string(x.Reason), true // such as a quota, which keeps what serves from being renewed
		}
		if ok && v.resolved.Reason == "" {
			v.resolved = attach.Problem{Reason: reason, Message: x.Text()}
		}
		if x.Blocks >= finding.BlocksListener {
			stops = true
			v.stopped = firstProblem(v.stopped, attach.Problem{Reason: string(gwv1.ListenerReasonInvalid), Message: x.Text()})
			v.programmed = firstProblem(v.programmed, attach.Problem{Reason: string(gwv1.ListenerReasonInvalid), Message: x.Text()})
		}
	}
	return stops || r.uncertified(l)
}

// uncertified reports whether a listener may use none of the Secrets that it names, and has no other certificates.
func (r listenerReport) uncertified(l *attach.Listener) bool {
	switch l.RefProblem.Reason {
	case string(gwv1.ListenerReasonInvalidCertificateRef), string(gwv1.ListenerReasonRefNotPermitted):
	default:
		return false
	}
	if len(l.Certificates) > 0 || r.configured(l) {
		return false
	}
	// Where Secrets are not imported, certificates are found by the hostnames.
	return r.Imports || !slices.Contains(r.ports, int32(l.Spec.Port))
}

// configured reports whether the configuration names certificates for a listener, so that it needs none of its own.
func (r listenerReport) configured(l *attach.Listener) bool {
	entry, _ := r.Config.Listener(r.ref(), string(l.Spec.Protocol), int32(l.Spec.Port))
	return entry != nil && (entry.DefaultCertificate != nil && *entry.DefaultCertificate != "" || len(entry.Certificates) > 0)
}

// refusesConnections reports whether connections to a port are refused because that is what its routes ask for, as none
// of them has a backend. A network load balancer has no other way: AWS makes no listener without a target group. Older
// controllers never said of such a port that it is programmed, so their classes do not either.
func (r listenerReport) refusesConnections(port int32) bool {
	lb := r.Outcome.Stack.LoadBalancer
	return r.Controller == gatewayconfig.AnyController && r.Outcome.ID.Kind == model.NLBGateway && lb != nil &&
		!slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool { return l.Port == port }) && !slices.Contains(r.ports, port)
}

// notProgrammedReason returns why a listener is not in service.
func (r listenerReport) notProgrammedReason(l *attach.Listener, v *listenerVerdict) attach.Problem {
	lb, live := r.liveLoadBalancer()
	switch {
	case !l.Valid():
		return attach.Problem{Reason: l.Problem.Reason, Message: "Listener is not accepted."}
	case !v.valid:
		return attach.Problem{Reason: string(gwv1.ListenerReasonInvalid), Message: v.resolved.Message}
	case !live && r.isProgrammed() && r.Outcome.Err != nil:
		return attach.Problem{} // the load balancer was there, and serves on
	case !live || !lb.Active:
		return attach.Problem{Reason: string(gwv1.ListenerReasonPending), Message: "Listener is pending to be programmed."}
	case r.refusesConnections(int32(l.Spec.Port)):
		return attach.Problem{}
	case len(r.Attached.RoutesOnPort(l.Spec.Port)) > 0 && !slices.Contains(r.ports, int32(l.Spec.Port)):
		return attach.Problem{Reason: string(gwv1.ListenerReasonInvalid), Message: fmt.Sprintf(
			"the load balancer does not listen on port %d; requests to it are not answered; %s", l.Spec.Port, r.firstError(int32(l.Spec.Port)))}
	}
	return attach.Problem{}
}

// firstError returns the first error on the Gateway or on a route of the port, which may be why the load balancer does
// not listen there.
func (r listenerReport) firstError(port int32) string {
	refs := []finding.Ref{r.ref()}
	for _, a := range r.Attached.RoutesOnPort(gwv1.PortNumber(port)) {
		refs = append(refs, ownership.RefOf(r.Attached.Routes[a.Route].Object))
	}
	for _, ref := range refs {
		for _, x := range r.found[ref] {
			switch {
			case x.Severity != finding.Error || x.Reason == finding.GatewayFieldIgnored || x.Port != 0 && x.Port != port:
			case ref.Namespace != r.Gateway.Namespace: // its details are not for the owner of the Gateway
				return "see the status of " + ref.String()
			default:
				return x.Located()
			}
		}
	}
	return "see the events of the Gateway and the status of the routes"
}

// servesNothing returns why none of the listeners is in service, though AWS has the load balancer. It is none if one
// is, or if none is to be, as none has a route.
func (r listenerReport) servesNothing() attach.Problem {
	if lb, live := r.liveLoadBalancer(); !live || !lb.Active || len(r.ports) > 0 || r.Outcome.Stack.Held.Everything {
		return attach.Problem{}
	}
	for i, v := range r.listeners {
		// The standard has a Gateway programmed whose listeners only lack what they refer to; these say so themselves.
		standard := r.Controller == gatewayconfig.AnyController && v.resolved.Reason != ""
		if v.programmed.Reason != "" && !standard {
			return attach.Problem{Reason: string(gwv1.GatewayReasonInvalid), Message: fmt.Sprintf("listener %q: %s", r.Attached.Listeners[i].Spec.Name, v.programmed.Message)}
		}
	}
	return attach.Problem{}
}

// countListeners counts the listeners of a Gateway or a ListenerSet that are valid, and all.
func (r *Status) countListeners(parent finding.Ref) (valid, all int) {
	for i, l := range r.Attached.Listeners {
		if l.Parent == parent {
			all++
			if r.listeners[i].valid && r.listeners[i].problem() == "" {
				valid++
			}
		}
	}
	return valid, all
}

// listenerEntries returns the statuses of the listeners of a Gateway or a ListenerSet.
func (r listenerReport) listenerEntries(parent finding.Ref) []gwv1.ListenerStatus {
	out := []gwv1.ListenerStatus{}
	for i, l := range r.Attached.Listeners {
		if l.Parent == parent {
			out = append(out, gwv1.ListenerStatus{
				Name: l.Spec.Name, SupportedKinds: l.Kinds, AttachedRoutes: r.listeners[i].attached,
				Conditions: r.listenerConditions(l, r.listeners[i]),
			})
		}
	}
	return out
}

// listenerConditions returns the conditions of a listener, in a fixed order.
func (r listenerReport) listenerConditions(l attach.Listener, v listenerVerdict) []metav1.Condition {
	generation := r.generationOf(l.Parent)
	out := []metav1.Condition{
		condition(gwv1.ListenerConditionConflicted, metav1.ConditionFalse, gwv1.ListenerReasonNoConflicts, "Listener has no conflict.", generation),
		condition(gwv1.ListenerConditionAccepted, metav1.ConditionTrue, gwv1.ListenerReasonAccepted, "Listener is accepted.", generation),
		condition(gwv1.ListenerConditionResolvedRefs, metav1.ConditionTrue, gwv1.ListenerReasonResolvedRefs, "Listener has all refs resolved.", generation),
		condition(gwv1.ListenerConditionProgrammed, metav1.ConditionTrue, gwv1.ListenerReasonProgrammed, "Listener is programmed.", generation),
	}
	if !r.Imports && l.Spec.TLS != nil && len(l.Spec.TLS.CertificateRefs) > 0 {
		out[2].Message = "Secrets of certificateRefs are not read, because --import-tls-secrets does not name \"gateway\"; certificates are found in ACM."
	}
	if p := v.accepted; p.Reason != "" {
		if p.Reason == string(gwv1.ListenerReasonHostnameConflict) || p.Reason == string(gwv1.ListenerReasonProtocolConflict) {
			out[0] = condition(gwv1.ListenerConditionConflicted, metav1.ConditionTrue, p.Reason, p.Message, generation)
		}
		out[1] = condition(gwv1.ListenerConditionAccepted, metav1.ConditionFalse, p.Reason, p.Message, generation)
	}
	if p := v.resolved; p.Reason != "" {
		out[2] = condition(gwv1.ListenerConditionResolvedRefs, metav1.ConditionFalse, p.Reason, p.Message, generation)
	}
	if _, live := r.liveLoadBalancer(); live && len(r.Attached.RoutesOnPort(l.Spec.Port)) == 0 && !slices.Contains(r.ports, int32(l.Spec.Port)) {
		out[3].Message = fmt.Sprintf("No route is attached; the load balancer does not listen on port %d until one is.", l.Spec.Port)
	}
	if p := v.programmed; p.Reason != "" {
		out[3] = condition(gwv1.ListenerConditionProgrammed, metav1.ConditionFalse, p.Reason, p.Message, generation)
	}
	return out
}

// generationOf returns the generation of a Gateway or a ListenerSet that was read.
func (r *Status) generationOf(parent finding.Ref) int64 {
	for _, s := range r.Attached.Sets {
		if parent == ownership.RefOf(s.Object) {
			return s.Object.Generation
		}
	}
	return r.Gateway.Generation
}
