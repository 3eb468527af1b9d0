package ingress

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// massRemovalFinding returns a finding if the class of a served Ingress, and the classes of many other Ingresses, now belong
// to another controller, because this is probably a mistake; nil otherwise.
func (f *Frontend) massRemovalFinding(v *cluster.View, ing *networkingv1.Ingress) *finding.Finding {
	if f.opt.AllowMassRemoval {
		return nil
	}
	return ownership.MassRemoval(v, ing, ingressesOfSameClass{f, v, ing},
		ownership.ClassTexts{Field: classNameField, Kinds: "Ingresses", Restore: "restore the class or --ingress-class"})
}

// ingressesOfSameClass has the Ingresses that name the same class as ingress in the same field. It implements
// ownership.ControllerSelector.
type ingressesOfSameClass struct {
	frontend *Frontend
	view     *cluster.View
	ingress  *networkingv1.Ingress
}

// EditedByUser implements ownership.ControllerSelector.
func (c ingressesOfSameClass) EditedByUser(o cluster.Object) bool {
	return c.frontend.isControllerChangedByUser(c.view, o.(*networkingv1.Ingress))
}

// SelectsOtherController implements ownership.ControllerSelector.
func (c ingressesOfSameClass) SelectsOtherController(o cluster.Object) bool {
	of := c.frontend.classify(c.view, o.(*networkingv1.Ingress))
	return of.fault == nil && !of.managed
}

// Objects implements ownership.ControllerSelector.
func (c ingressesOfSameClass) Objects() []cluster.Object {
	v, ing := c.view, c.ingress
	name := ""
	if ing.Spec.IngressClassName != nil {
		name = *ing.Spec.IngressClassName
	}
	var out []cluster.Object
	for _, o := range cluster.List[*networkingv1.Ingress](v, cluster.Query{Kind: cluster.KindIngress, Index: cluster.IngressByClass, Value: name}) {
		if o.Annotations[classAnnotation] == ing.Annotations[classAnnotation] {
			out = append(out, o)
		}
	}
	return out
}

// isControllerChangedByUser reports whether a user moved the Ingress to another controller by editing its class. The
// controller of an IngressClass cannot change. So if the class of the Ingress was not edited since the IngressClass was
// created, the IngressClass was deleted and created again with another controller. If the Ingress names no IngressClass,
// the result is true only if the edit is later than the finalizer of this controller.
func (f *Frontend) isControllerChangedByUser(v *cluster.View, ing *networkingv1.Ingress) bool {
	edited := cluster.ClassEditedAt(ing)
	if edited.IsZero() {
		edited = ing.CreationTimestamp.Time
	}
	since := cluster.FinalizersEditedAt(ing).Add(time.Second) // the API server stores times in whole seconds
	if name := ing.Spec.IngressClassName; name != nil && ing.Annotations[classAnnotation] == "" {
		class, ok := cluster.Get[*networkingv1.IngressClass](v, cluster.KindIngressClass, "", *name)
		if !ok {
			return false
		}
		since = class.CreationTimestamp.Time
	}
	return !edited.Before(since)
}
