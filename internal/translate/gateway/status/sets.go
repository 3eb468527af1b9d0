package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// listenerSetPatches returns the patches for the status of the ListenerSets of the Gateway. While the whole Gateway is held,
// the status of accepted ListenerSets is not changed.
func (r *Status) listenerSetPatches() []cluster.Patch {
	var out []cluster.Patch
	for _, s := range r.Attached.Sets {
		if s.Accepted && r.IsBlocked() {
			continue
		}
		conditions := r.listenerSetConditions(s)
		entries := []gwv1.ListenerStatus{}
		if s.Accepted {
			entries = listenerReport{r}.listenerStatuses(cluster.RefOf(s.Object))
		}
		out = append(out, listenerSetPatch(s.Object, conditions, entries))
	}
	return out
}

// listenerSetPatch returns a patch that sets the conditions and listeners in the status of a ListenerSet.
func listenerSetPatch(set *gwv1.ListenerSet, conditions []metav1.Condition, entries []gwv1.ListenerStatus) cluster.StatusEdit {
	return cluster.StatusEdit{Ref: cluster.RefOf(set), Edit: func(obj cluster.Object, now metav1.Time) any {
		have := obj.(*gwv1.ListenerSet).Status
		fields := map[string]any{}
		if next := mergeConditions(have.Conditions, conditions, now); !sameConditions(have.Conditions, next) {
			fields["conditions"] = next
		}
		live := make([]gwv1.ListenerStatus, len(have.Listeners))
		for i, l := range have.Listeners {
			live[i] = gwv1.ListenerStatus(l)
		}
		if next, differ := mergeListeners(live, entries, now); differ {
			listeners := make([]gwv1.ListenerEntryStatus, len(next))
			for i, l := range next {
				listeners[i] = gwv1.ListenerEntryStatus(l)
			}
			fields["listeners"] = listeners
		}
		if len(fields) == 0 {
			return nil
		}
		return fields
	}}
}

func (r *Status) listenerSetConditions(s attach.ListenerSet) []metav1.Condition {
	generation := s.Object.Generation
	both := func(status metav1.ConditionStatus, reason gwv1.ListenerSetConditionReason, message string) []metav1.Condition {
		return []metav1.Condition{
			newCondition(gwv1.ListenerSetConditionAccepted, status, reason, message, generation),
			newCondition(gwv1.ListenerSetConditionProgrammed, status, reason, message, generation),
		}
	}
	if !s.Accepted {
		return both(metav1.ConditionFalse, gwv1.ListenerSetReasonNotAllowed, attach.SetNotAllowedMessage)
	}
	out := both(metav1.ConditionTrue, gwv1.ListenerSetReasonAccepted, attach.SetAcceptedMessage)
	valid, faulty := r.countListeners(cluster.RefOf(s.Object))
	lb, live := r.liveLoadBalancer()
	ready := live && lb.Active || !live && r.isProgrammed() && r.Outcome.Err != nil
	switch {
	case valid == 0:
		out[0] = newCondition(gwv1.ListenerSetConditionAccepted, metav1.ConditionFalse, gwv1.ListenerSetReasonListenersNotValid, attach.SetSomeInvalidMessage, generation)
	case faulty > 0:
		out[0] = newCondition(gwv1.ListenerSetConditionAccepted, metav1.ConditionTrue, gwv1.ListenerSetReasonListenersNotValid, attach.SetSomeInvalidMessage, generation)
	}
	switch {
	case !ready:
		out[1] = newCondition(gwv1.ListenerSetConditionProgrammed, metav1.ConditionFalse, gwv1.ListenerSetReasonPending, attach.SetNotProgrammedMessage, generation)
	case valid == 0:
		out[1] = newCondition(gwv1.ListenerSetConditionProgrammed, metav1.ConditionFalse, gwv1.ListenerSetReasonListenersNotValid, attach.SetNothingToServeMessage, generation)
	default:
		out[1] = newCondition(gwv1.ListenerSetConditionProgrammed, metav1.ConditionTrue, gwv1.ListenerSetReasonProgrammed, attach.SetProgrammedMessage, generation)
	}
	return out
}
