package status

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// GatewayPatch returns the patch for the status of the Gateway.
func (r *Status) GatewayPatch() cluster.Patch {
	conditions := []metav1.Condition{r.acceptedCondition()}
	if c, known := r.programmedCondition(); known {
		conditions = append(conditions, c)
	}
	name := strings.ToLower(r.Outcome.DNSNames[model.LoadBalancerID])
	sets := r.countAttachedListenerSets()
	blocked := r.IsBlocked()
	return cluster.StatusEdit{Ref: r.ref(), Edit: func(obj cluster.Object, now metav1.Time) any {
		have := obj.(*gwv1.Gateway).Status
		fields := map[string]any{}
		if next := mergeConditions(have.Conditions, conditions, now); !sameConditions(have.Conditions, next) {
			fields["conditions"] = next
		}
		if name != "" && (len(have.Addresses) != 1 || have.Addresses[0].Value != name) {
			kind := gwv1.HostnameAddressType
			fields["addresses"] = []gwv1.GatewayStatusAddress{{Type: &kind, Value: name}}
		}
		if !blocked {
			if next, differ := mergeListeners(have.Listeners, listenerReport{r}.listenerStatuses(r.ref()), now); differ {
				fields["listeners"] = next
			}
			if !equality.Semantic.DeepEqual(have.AttachedListenerSets, sets) {
				fields["attachedListenerSets"] = sets
			}
		}
		if len(fields) == 0 {
			return nil
		}
		return fields
	}}
}

func (r *Status) acceptedCondition() metav1.Condition {
	const of = gwv1.GatewayConditionAccepted
	generation := r.Gateway.Generation
	for _, x := range r.found[r.ref()] {
		if blocksGateway(x) {
			return newCondition(of, metav1.ConditionFalse, gatewayAcceptedReason(x.Reason), x.Text(), generation)
		}
	}
	if i := slices.IndexFunc(r.Gateway.Spec.Addresses, func(a gwv1.GatewaySpecAddress) bool { return a.Value != "" }); i >= 0 {
		return newCondition(of, metav1.ConditionFalse, gwv1.GatewayReasonUnsupportedAddress, fmt.Sprintf(
			"spec.addresses names %q, and AWS assigns the addresses of load balancers; the Gateway is served at the assigned addresses; remove the address, or set loadBalancerSubnets in a LoadBalancerConfiguration",
			finding.TruncateValue(r.Gateway.Spec.Addresses[i].Value)), generation)
	}
	advice := ""
	for _, x := range r.found[r.ref()] {
		switch {
		case x.Reason != finding.GatewayFieldIgnored:
		case x.Severity == finding.Error: // TLS of clients or backends is not verified as the user configured
			return newCondition(of, metav1.ConditionFalse, gwv1.GatewayReasonInvalid, x.Text(), generation)
		default:
			advice = x.Text()
		}
	}
	valid, wrong, more := 0, "", 0
	for i, v := range r.listeners {
		if v.valid {
			valid++
		}
		switch text := v.problem(); {
		case text == "":
		case wrong != "":
			more++
		case r.Attached.Listeners[i].Parent == r.ref():
			wrong = fmt.Sprintf("listener %q: %s", r.Attached.Listeners[i].Spec.Name, text)
		default:
			wrong = "a listener of a ListenerSet has a problem; the valid listeners are served; see the status of the ListenerSets"
		}
	}
	if more > 0 {
		wrong += fmt.Sprintf("; further listeners with problems: %d", more)
	}
	switch {
	case valid == 0 && wrong == "":
		return newCondition(of, metav1.ConditionFalse, gwv1.GatewayReasonListenersNotValid, "the Gateway has no listeners; its load balancer serves no traffic; add a listener", generation)
	case valid == 0:
		return newCondition(of, metav1.ConditionFalse, gwv1.GatewayReasonListenersNotValid, wrong, generation)
	case wrong != "":
		return newCondition(of, metav1.ConditionTrue, gwv1.GatewayReasonListenersNotValid, wrong, generation)
	}
	return newCondition(of, metav1.ConditionTrue, gwv1.GatewayReasonAccepted, advice, generation)
}

// programmedCondition returns the condition Programmed of the Gateway. If it is True, its message is the ARN of the load
// balancer, which is read for a Gateway that has this Gateway as backend. If the state of the load balancer is not known,
// programmedCondition returns false, and the condition must not be changed.
func (r *Status) programmedCondition() (metav1.Condition, bool) {
	const of = gwv1.GatewayConditionProgrammed
	lb, live := r.liveLoadBalancer()
	unserved := listenerReport{r}.noListenerServedReason()
	switch {
	case unserved.Reason != "":
		return newCondition(of, metav1.ConditionFalse, unserved.Reason, unserved.Message, r.Gateway.Generation), true
	case live && r.IsBlocked() && r.isProgrammed():
		return metav1.Condition{}, false // the load balancer still serves an earlier generation, which the condition already shows
	case live && lb.Active:
		return newCondition(of, metav1.ConditionTrue, gwv1.GatewayReasonProgrammed, lb.ARN, r.Gateway.Generation), true
	case live:
		return newCondition(of, metav1.ConditionUnknown, gwv1.GatewayReasonPending, "the load balancer is not active yet; its state is checked again", r.Gateway.Generation), true
	case r.isProgrammed() && (r.Outcome.Err != nil || r.IsBlocked()):
		return metav1.Condition{}, false
	}
	for _, x := range r.found[r.ref()] {
		if x.Severity == finding.Error && x.Reason != finding.GatewayFieldIgnored {
			return newCondition(of, metav1.ConditionFalse, gwv1.GatewayReasonInvalid, x.Text(), r.Gateway.Generation), true
		}
	}
	if r.Outcome.Stack.DryRun {
		return newCondition(of, metav1.ConditionFalse, gwv1.GatewayReasonPending, "dry run: the Gateway is planned, but not served; remove annotation "+naming.DryRunAnnotation+" to serve it", r.Gateway.Generation), true
	}
	return newCondition(of, metav1.ConditionFalse, gwv1.GatewayReasonPending, "the load balancer is not created yet", r.Gateway.Generation), true
}

// isProgrammed reports whether condition Programmed in the status of the Gateway is True.
func (r *Status) isProgrammed() bool {
	return slices.ContainsFunc(r.Gateway.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == string(gwv1.GatewayConditionProgrammed) && c.Status == metav1.ConditionTrue
	})
}

// BecomesProgrammed reports whether the load balancer is active, and the status of the Gateway does not show this yet.
func (r *Status) BecomesProgrammed() bool {
	lb, live := r.liveLoadBalancer()
	return live && lb.Active && !r.IsBlocked() && !r.isProgrammed() && listenerReport{r}.noListenerServedReason().Reason == ""
}

// countAttachedListenerSets returns the number of accepted ListenerSets with a valid listener; nil if ListenerSets are not
// read.
func (r *Status) countAttachedListenerSets() *int32 {
	if !r.ListenerSets {
		return nil
	}
	n := int32(0)
	for _, s := range r.Attached.Sets {
		if valid, _ := r.countListeners(cluster.RefOf(s.Object)); s.Accepted && valid > 0 {
			n++
		}
	}
	return &n
}
