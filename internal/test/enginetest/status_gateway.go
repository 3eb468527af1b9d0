package enginetest

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// statusListener is the status of one listener of a Gateway or ListenerSet.
type statusListener struct {
	Name           string
	AttachedRoutes int32
	Kinds          []string
	Conditions     []string
}

// statusParent is the status that one controller has set for one parent of a route.
type statusParent struct {
	Parent, Controller string
	Conditions         []string
}

// addGateways adds the status that controllers have set on the Gateways, ListenerSets and routes in src.
func (o *statusObjects) addGateways(src *cluster.Memory) {
	for _, kind := range append([]cluster.Kind{cluster.KindGateway, cluster.KindListenerSet}, cluster.RouteKinds...) {
		for _, obj := range src.All(kind) {
			name := cluster.RefOf(obj).String()
			switch obj := obj.(type) {
			case *gwv1.Gateway:
				if hasConditions(obj.Status.Conditions) {
					s := o.findOrAdd(name)
					s.Finalizers, s.Conditions, s.Listeners = obj.Finalizers, conditionTexts(obj.Status.Conditions), listenerStatuses(obj.Status.Listeners)
					for _, a := range obj.Status.Addresses {
						s.Addresses = append(s.Addresses, a.Value)
					}
					s.AttachedListenerSets = obj.Status.AttachedListenerSets
				}
			case *gwv1.ListenerSet:
				if hasConditions(obj.Status.Conditions) {
					s := o.findOrAdd(name)
					s.Conditions = conditionTexts(obj.Status.Conditions)
					for _, l := range obj.Status.Listeners {
						s.Listeners = append(s.Listeners, listenerStatuses([]gwv1.ListenerStatus{gwv1.ListenerStatus(l)})...)
					}
				}
			default:
				_, parents := cluster.RouteParents(obj)
				for _, p := range parents {
					s := o.findOrAdd(name)
					s.Parents = append(s.Parents, statusParent{parentName(p.ParentRef), string(p.ControllerName), conditionTexts(p.Conditions)})
				}
			}
		}
	}
}

// hasConditions reports whether a controller has set at least one condition. The default conditions of the CRDs, whose
// message is "Waiting for controller", do not count.
func hasConditions(all []metav1.Condition) bool {
	return slices.ContainsFunc(all, func(c metav1.Condition) bool { return c.Message != "Waiting for controller" })
}

func conditionTexts(all []metav1.Condition) []string {
	var out []string
	for _, c := range all {
		text := fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			text += ": " + c.Message
		}
		out = append(out, text)
	}
	return out
}

func listenerStatuses(all []gwv1.ListenerStatus) []statusListener {
	var out []statusListener
	for _, l := range all {
		s := statusListener{Name: string(l.Name), AttachedRoutes: l.AttachedRoutes, Conditions: conditionTexts(l.Conditions)}
		for _, k := range l.SupportedKinds {
			s.Kinds = append(s.Kinds, string(k.Kind))
		}
		out = append(out, s)
	}
	return out
}

// parentName returns "kind namespace/name listener section port n" without the parts that p does not set.
func parentName(p gwv1.ParentReference) string {
	out := string(p.Name)
	if p.Namespace != nil {
		out = string(*p.Namespace) + "/" + out
	}
	if p.Kind != nil {
		out = string(*p.Kind) + " " + out
	}
	if p.SectionName != nil {
		out += " listener " + string(*p.SectionName)
	}
	if p.Port != nil {
		out += fmt.Sprintf(" port %d", *p.Port)
	}
	return out
}
