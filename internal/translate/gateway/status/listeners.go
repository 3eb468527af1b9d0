package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// listenerResult has the problem of a listener for each of its conditions. The zero Problem means that there is no problem.
type listenerResult struct {
	accepted, resolved, programmed attach.Problem
	// blockingProblem is the reason from a finding why the listener is not served although it is accepted and its references
	// are valid.
	blockingProblem attach.Problem
	// valid reports whether the listener is served, even if some of its references cannot be used.
	valid bool
	// attached is the number of routes that are attached and accepted.
	attached int32
}

// problem returns the message of the first problem of a listener; "" if there is none.
func (v listenerResult) problem() string {
	return firstProblem(v.accepted, v.resolved, v.blockingProblem).Message
}

// evaluateListeners sets the result of each listener.
func (r *Status) evaluateListeners() {
	r.listeners = make([]listenerResult, len(r.Attached.Listeners))
	for i, route := range r.Attached.Routes {
		counted := map[int]bool{}
		for _, p := range route.Parents {
			for k, port := range r.attachedPorts(p) {
				a := p.Attachments[k]
				if !counted[a.Listener] && r.resultOnPorts(i, []int32{port}).accepted.Reason == "" {
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
			v.accepted = attach.Problem{} // condition ResolvedRefs reports this problem
		}
		stops := listenerReport{r}.applyFindings(l, v)
		v.valid = l.IsValid() && !stops
		if v.programmed.Reason == "" {
			v.programmed = listenerReport{r}.notProgrammedReason(l, v)
		}
	}
}

// listenerReport builds the status of listeners.
type listenerReport struct{ *Status }

// applyFindings adds the findings about a listener to the problems of its conditions. It reports whether the listener is not
// served, because of a finding or because it has no certificate.
func (r listenerReport) applyFindings(l *attach.Listener, v *listenerResult) (stops bool) {
	field := fmt.Sprintf("spec.listeners[%d]", l.Index)
	for _, x := range r.found[l.Parent] {
		rest, here := strings.CutPrefix(x.Field, field)
		here = here && (rest == "" || rest[0] == '.')
		if ofPort := x.Port == int32(l.Spec.Port) && !strings.HasPrefix(x.Field, "spec.listeners["); !here && !ofPort {
			continue
		}
		reason, ok := listenerReasons[x.Reason]
		if !ok && x.Severity == finding.Error && strings.HasPrefix(rest, ".tls.certificateRefs") {
			reason, ok = string(x.Reason), true // such as a reached quota, which prevents the renewal of a certificate
		}
		if ok && v.resolved.Reason == "" {
			v.resolved = attach.Problem{Reason: reason, Message: x.Text()}
		}
		if x.Blocks >= finding.BlocksListener {
			stops = true
			v.blockingProblem = firstProblem(v.blockingProblem, attach.Problem{Reason: string(gwv1.ListenerReasonInvalid), Message: x.Text()})
			v.programmed = firstProblem(v.programmed, attach.Problem{Reason: string(gwv1.ListenerReasonInvalid), Message: x.Text()})
		}
	}
	return stops || r.hasNoCertificate(l)
}

// hasNoCertificate reports whether a listener may use none of the Secrets in its certificateRefs, and has no other
// certificate.
func (r listenerReport) hasNoCertificate(l *attach.Listener) bool {
	switch l.RefProblem.Reason {
	case string(gwv1.ListenerReasonInvalidCertificateRef), string(gwv1.ListenerReasonRefNotPermitted):
	default:
		return false
	}
	if len(l.Certificates) > 0 || r.hasConfiguredCertificate(l) {
		return false
	}
	// If Secrets are not imported, certificates are found in ACM by hostname.
	return r.Imports || !slices.Contains(r.ports, int32(l.Spec.Port))
}

// hasConfiguredCertificate reports whether the configuration has certificates for a listener, so that its Secrets are not
// needed.
func (r listenerReport) hasConfiguredCertificate(l *attach.Listener) bool {
	entry, _ := r.Config.ListenerEntry(r.ref(), string(l.Spec.Protocol), int32(l.Spec.Port))
	return entry != nil && (entry.DefaultCertificate != nil && *entry.DefaultCertificate != "" || len(entry.Certificates) > 0)
}

// refusesConnections reports whether connections to a port of a network load balancer are refused because the routes of the
// port have no backend: AWS does not permit a listener without a target group. Such a port is reported as programmed only
// with controller name gateway.fulcrum.dev/aws, as the Gateway API requires. With the other names, it is reported as not
// programmed, like each other port that is not served.
func (r listenerReport) refusesConnections(port int32) bool {
	lb := r.Outcome.Stack.LoadBalancer
	return r.Controller == gatewayconfig.FulcrumController && r.Outcome.ID.Kind == model.NLBGateway && lb != nil &&
		!slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool { return l.Port == port }) && !slices.Contains(r.ports, port)
}

// notProgrammedReason returns the reason why a listener is not served; the zero Problem if it is served.
func (r listenerReport) notProgrammedReason(l *attach.Listener, v *listenerResult) attach.Problem {
	lb, live := r.liveLoadBalancer()
	switch {
	case !l.IsValid():
		return attach.Problem{Reason: l.Problem.Reason, Message: "Listener is not accepted."}
	case !v.valid:
		return attach.Problem{Reason: string(gwv1.ListenerReasonInvalid), Message: v.resolved.Message}
	case !live && r.isProgrammed() && r.Outcome.Err != nil:
		return attach.Problem{} // the run failed, and the existing load balancer continues to serve
	case !live || !lb.Active:
		return attach.Problem{Reason: string(gwv1.ListenerReasonPending), Message: "Listener is pending to be programmed."}
	case r.refusesConnections(int32(l.Spec.Port)):
		return attach.Problem{}
	case len(r.Attached.RoutesOnPort(l.Spec.Port)) > 0 && !slices.Contains(r.ports, int32(l.Spec.Port)):
		why := r.firstError(l.Parent, int32(l.Spec.Port))
		if why == "" {
			if secret := r.pendingImport(l); secret != "" {
				return attach.Problem{Reason: string(gwv1.ListenerReasonPending), Message: fmt.Sprintf("Listener waits for the import of the certificate of Secret %q.", secret)}
			}
			why = "see the events of the Gateway and the status of the routes"
		}
		return attach.Problem{Reason: string(gwv1.ListenerReasonInvalid), Message: fmt.Sprintf(
			"the load balancer does not listen on port %d and does not answer requests to it; %s", l.Spec.Port, why)}
	}
	return attach.Problem{}
}

// pendingImport returns the first Secret of a listener whose certificate is being imported, as "namespace/name"; "" if there
// is none.
func (r listenerReport) pendingImport(l *attach.Listener) string {
	for _, secret := range l.Certificates {
		id := plan.Address{Kind: plan.Certificate, ID: naming.ImportedCertificateID(secret.Namespace, secret.Name)}
		if slices.ContainsFunc(r.Outcome.Plan.Steps, func(s plan.Step) bool { return s.Address == id && s.Waits() }) {
			return secret.Namespace + "/" + secret.Name
		}
	}
	return ""
}

// firstError returns the message of the first error about parent or about a route of the port; "" if there is none. parent
// is the Gateway or a ListenerSet, and the message is for its status. The error is probably the reason why the load balancer
// does not listen on the port.
func (r listenerReport) firstError(parent finding.Ref, port int32) string {
	refs := []finding.Ref{parent, r.ref()}
	for _, a := range r.Attached.RoutesOnPort(gwv1.PortNumber(port)) {
		refs = append(refs, cluster.RefOf(r.Attached.Routes[a.Route].Object))
	}
	for _, ref := range refs {
		for _, x := range r.found[ref] {
			switch {
			case x.Severity != finding.Error || x.Reason == finding.GatewayFieldIgnored || x.Port != 0 && x.Port != port:
			case ref.Namespace != parent.Namespace: // the owner of parent must not see details of an object in another namespace
				return "see the status of " + ref.String()
			default:
				return x.TextWithField()
			}
		}
	}
	return ""
}

// noListenerServedReason returns the reason why no listener is served although the load balancer is active. It returns the
// zero Problem if a listener is served, or if no listener has a problem. The reason has no details of ListenerSets, because
// ListenerSets may be in other namespaces.
func (r listenerReport) noListenerServedReason() attach.Problem {
	if lb, live := r.liveLoadBalancer(); !live || !lb.Active || len(r.ports) > 0 || r.Outcome.Stack.Held.AllResources {
		return attach.Problem{}
	}
	for i, v := range r.listeners {
		// According to the Gateway API, a Gateway is programmed even if references of its listeners cannot be used. The
		// conditions of the listeners report these references.
		lacksReferenceOnly := r.Controller == gatewayconfig.FulcrumController && v.resolved.Reason != ""
		if v.programmed.Reason != "" && !lacksReferenceOnly {
			reason := gwv1.GatewayReasonInvalid
			if v.programmed.Reason == string(gwv1.ListenerReasonPending) {
				reason = gwv1.GatewayReasonPending
			}
			l, why := &r.Attached.Listeners[i], v.programmed.Message
			if l.Parent != r.ref() {
				why = cmp.Or(r.firstError(r.ref(), int32(l.Spec.Port)), "see the status of "+l.Parent.String())
			}
			return attach.Problem{Reason: string(reason), Message: fmt.Sprintf("listener %q: %s", l.Spec.Name, why)}
		}
	}
	return attach.Problem{}
}

// countListeners returns how many listeners of a Gateway or a ListenerSet are valid, and how many have a problem. A valid
// listener has a problem if some of its references cannot be used.
func (r *Status) countListeners(parent finding.Ref) (valid, faulty int) {
	for i, l := range r.Attached.Listeners {
		if l.Parent != parent {
			continue
		}
		if r.listeners[i].valid {
			valid++
		}
		if r.listeners[i].problem() != "" {
			faulty++
		}
	}
	return valid, faulty
}

// listenerStatuses returns the statuses of the listeners of a Gateway or a ListenerSet.
func (r listenerReport) listenerStatuses(parent finding.Ref) []gwv1.ListenerStatus {
	out := []gwv1.ListenerStatus{}
	for i, l := range r.Attached.Listeners {
		if l.Parent == parent {
			out = append(out, gwv1.ListenerStatus{
				Name: l.Spec.Name, SupportedKinds: l.RouteKinds, AttachedRoutes: r.listeners[i].attached,
				Conditions: r.listenerConditions(l, r.listeners[i]),
			})
		}
	}
	return out
}

// Messages of conditions that are met.
const (
	secretsNotReadMessage  = "Secrets of certificateRefs are not read, because --import-tls-secrets does not name \"gateway\"; certificates are found in ACM."
	noRouteAttachedMessage = "No route is attached; "
)

// HasAdvisoryMessage reports whether a condition of a listener is met, but has a message about something that the user may
// not expect.
func HasAdvisoryMessage(c metav1.Condition) bool {
	return c.Status == metav1.ConditionTrue && (c.Message == secretsNotReadMessage || strings.HasPrefix(c.Message, noRouteAttachedMessage))
}

// listenerConditions returns the conditions of a listener, in a fixed order.
func (r listenerReport) listenerConditions(l attach.Listener, v listenerResult) []metav1.Condition {
	generation := r.generationOf(l.Parent)
	out := []metav1.Condition{
		newCondition(gwv1.ListenerConditionConflicted, metav1.ConditionFalse, gwv1.ListenerReasonNoConflicts, "Listener has no conflict.", generation),
		newCondition(gwv1.ListenerConditionAccepted, metav1.ConditionTrue, gwv1.ListenerReasonAccepted, "Listener is accepted.", generation),
		newCondition(gwv1.ListenerConditionResolvedRefs, metav1.ConditionTrue, gwv1.ListenerReasonResolvedRefs, "Listener has all refs resolved.", generation),
		newCondition(gwv1.ListenerConditionProgrammed, metav1.ConditionTrue, gwv1.ListenerReasonProgrammed, "Listener is programmed.", generation),
	}
	if !r.Imports && l.Spec.TLS != nil && len(l.Spec.TLS.CertificateRefs) > 0 {
		out[2].Message = secretsNotReadMessage
	}
	if p := v.accepted; p.Reason != "" {
		if p.Reason == string(gwv1.ListenerReasonHostnameConflict) || p.Reason == string(gwv1.ListenerReasonProtocolConflict) {
			out[0] = newCondition(gwv1.ListenerConditionConflicted, metav1.ConditionTrue, p.Reason, p.Message, generation)
		}
		out[1] = newCondition(gwv1.ListenerConditionAccepted, metav1.ConditionFalse, p.Reason, p.Message, generation)
	}
	if p := v.resolved; p.Reason != "" {
		out[2] = newCondition(gwv1.ListenerConditionResolvedRefs, metav1.ConditionFalse, p.Reason, p.Message, generation)
	}
	if _, live := r.liveLoadBalancer(); live && len(r.Attached.RoutesOnPort(l.Spec.Port)) == 0 && !slices.Contains(r.ports, int32(l.Spec.Port)) {
		out[3].Message = fmt.Sprintf(noRouteAttachedMessage+"the load balancer does not listen on port %d until one is.", l.Spec.Port)
	}
	if p := v.programmed; p.Reason != "" {
		out[3] = newCondition(gwv1.ListenerConditionProgrammed, metav1.ConditionFalse, p.Reason, p.Message, generation)
	}
	return out
}

// generationOf returns the generation of a ListenerSet as it was read. For other parents, it returns the generation of the
// Gateway.
func (r *Status) generationOf(parent finding.Ref) int64 {
	for _, s := range r.Attached.Sets {
		if parent == cluster.RefOf(s.Object) {
			return s.Object.Generation
		}
	}
	return r.Gateway.Generation
}
