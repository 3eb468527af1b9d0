package attach

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// loadSets stores the ListenerSets whose parent is the Gateway in e.out.Sets, oldest first. A ListenerSet is accepted if
// spec.allowedListeners of the Gateway admits its namespace.
func (e *evaluation) loadSets() {
	gw := e.gateway
	allowed := namespaceSelection{from: gatewayv1.NamespacesFromNone}
	if a := gw.Spec.AllowedListeners; a != nil && a.Namespaces != nil {
		allowed = newNamespaceSelection(a.Namespaces.From, gatewayv1.NamespacesFromNone, gw.Namespace, a.Namespaces.Selector)
	}
	for _, s := range cluster.List[*gatewayv1.ListenerSet](e.view, cluster.Query{
		Kind: cluster.KindListenerSet, Index: cluster.ListenerSetByGateway, Value: gw.Namespace + "/" + gw.Name,
	}) {
		if IsForeignAPIGroup(s.Spec.ParentRef.Group) || cluster.ListenerSetParentRef(s).Kind != cluster.KindGateway {
			continue
		}
		e.out.Sets = append(e.out.Sets, ListenerSet{Object: s, Accepted: e.isNamespaceSelected(allowed, s.Namespace)})
	}
	slices.SortStableFunc(e.out.Sets, func(a, b ListenerSet) int {
		return cmp.Or(compareAge(a.Object, b.Object), cmp.Compare(a.Object.Namespace+"/"+a.Object.Name, b.Object.Namespace+"/"+b.Object.Name))
	})
}

// compareAge compares the creation times of two objects in whole seconds, as the API server stores them. The result is
// negative if a is older.
func compareAge(a, b metav1.Object) int {
	return cmp.Compare(a.GetCreationTimestamp().Unix(), b.GetCreationTimestamp().Unix())
}

// IsForeignAPIGroup reports whether g, the group of a reference, is another API group than that of the Gateway API. If g is
// nil or empty, it means the Gateway API.
func IsForeignAPIGroup(g *gatewayv1.Group) bool {
	return g != nil && *g != "" && *g != gatewayv1.GroupName
}

// Messages of the conditions of a ListenerSet. The status of a ListenerSet has no controller name. So HasOwnSetStatus uses
// these messages to find out whether this controller, or the controller from which it took over, has written the status.
const (
	SetAcceptedMessage       = "Accepted"
	SetSomeInvalidMessage    = "Some listeners are not valid"
	SetProgrammedMessage     = "Programmed"
	SetNotProgrammedMessage  = "Parent gateway not yet programmed"
	SetNothingToServeMessage = "No valid listeners to materialize"
	SetNotAllowedMessage     = "the Gateway does not admit ListenerSets of this namespace; its listeners are not served; ask the owner of the Gateway for allowedListeners"
	legacySetRejectedMessage = "Parent Gateway rejected ListenerSet" // written by AWS Load Balancer Controller
)

// ListenerSetStatusReset returns the patch that resets the status of a ListenerSet, which no Gateway of this controller
// serves any more, to the status that the API server sets on a new ListenerSet. Conditions of other types are not changed.
// The patch changes nothing if another controller has written the status in the meantime.
func ListenerSetStatusReset(ref cluster.Ref) cluster.StatusEdit {
	return cluster.StatusEdit{Ref: ref, Edit: func(obj cluster.Object, now metav1.Time) any {
		set, ok := obj.(*gatewayv1.ListenerSet)
		if !ok || !HasOwnSetStatus(set) {
			return nil
		}
		waiting := func(of gatewayv1.ListenerSetConditionType) metav1.Condition {
			return metav1.Condition{Type: string(of), Status: metav1.ConditionUnknown, Reason: string(gatewayv1.ListenerSetReasonPending), Message: "Waiting for controller", LastTransitionTime: now}
		}
		conditions := []metav1.Condition{waiting(gatewayv1.ListenerSetConditionAccepted), waiting(gatewayv1.ListenerSetConditionProgrammed)}
		for _, c := range set.Status.Conditions {
			if !slices.ContainsFunc(conditions, func(w metav1.Condition) bool { return w.Type == c.Type }) {
				conditions = append(conditions, c)
			}
		}
		return map[string]any{"conditions": conditions, "listeners": []gatewayv1.ListenerEntryStatus{}}
	}}
}

// HasOwnSetStatus reports whether this controller, or the controller from which it took over, has written the status of a
// ListenerSet.
func HasOwnSetStatus(s *gatewayv1.ListenerSet) bool {
	reported := func(of gatewayv1.ListenerSetConditionType, texts ...string) bool {
		return slices.ContainsFunc(s.Status.Conditions, func(c metav1.Condition) bool { return c.Type == string(of) && slices.Contains(texts, c.Message) })
	}
	return reported(gatewayv1.ListenerSetConditionAccepted, SetAcceptedMessage, SetSomeInvalidMessage, SetNotAllowedMessage, legacySetRejectedMessage) &&
		reported(gatewayv1.ListenerSetConditionProgrammed, SetProgrammedMessage, SetNotProgrammedMessage, SetNothingToServeMessage, SetNotAllowedMessage, legacySetRejectedMessage)
}
