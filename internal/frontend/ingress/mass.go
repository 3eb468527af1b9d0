package ingress

import (
	"fmt"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// massFrom is how many Ingresses at least have to change controller without an edit to be taken for an
// accident.
const massFrom = 3

// massRemoval reports that an Ingress which is served is given to another controller by a class, or by
// the controller's own flags, that changed under it and under others, while no user edited them: a
// class was deleted and made for another controller, or this process was started for another class.
// Load balancers that are removed get other names when they are made again. Nil if the Ingress may
// go, as one does whose own class was edited.
func (f *Frontend) massRemoval(v *cluster.View, ing *networkingv1.Ingress) *finding.Finding {
	if f.opt.AllowMassRemoval || f.turnedByEdit(v, ing) {
		return nil
	}
	turned := 0
	for _, o := range f.sameClass(v, ing) {
		if o.DeletionTimestamp != nil || len(claimedBy(v, o)) == 0 || f.turnedByEdit(v, o) {
			continue
		}
		if c := f.classify(v, o); c.fault == nil && !c.managed {
			turned++
		}
	}
	if turned < massFrom {
		return nil
	}
	return &finding.Finding{
		Object: refOf(ing), Field: classNameField, Reason: finding.RemovalNotTrusted, Severity: finding.Error,
		Message: fmt.Sprintf("the class gives this and %d other Ingresses to another controller, and none of them was edited; what is live stays", turned-1),
		Fix:     "restore the class or --ingress-class; if this is meant, delete or edit the Ingresses, or start the controller with --allow-mass-removal", Blocks: finding.BlocksMember,
	}
}

// sameClass are the Ingresses that name the same class in the same way.
func (f *Frontend) sameClass(v *cluster.View, ing *networkingv1.Ingress) []*networkingv1.Ingress {
	name := ""
	if ing.Spec.IngressClassName != nil {
		name = *ing.Spec.IngressClassName
	}
	var out []*networkingv1.Ingress
	for _, o := range cluster.List[*networkingv1.Ingress](v, cluster.Query{Kind: cluster.KindIngress, Index: cluster.IngressByClass, Value: name}) {
		if o.Annotations[classAnnotation] == ing.Annotations[classAnnotation] {
			out = append(out, o)
		}
	}
	return out
}

// turnedByEdit reports whether a user has edited the Ingress since the other controller has its class. The
// controller of a class cannot be changed, so that the class has had it from its creation. Where no
// class object tells, the edit must be younger than our finalizer.
func (f *Frontend) turnedByEdit(v *cluster.View, ing *networkingv1.Ingress) bool {
	edited := cluster.ClassEdited(ing)
	if edited.IsZero() {
		edited = ing.CreationTimestamp.Time
	}
	since := cluster.Claimed(ing).Add(time.Second) // times of the API server are whole seconds
	if name := ing.Spec.IngressClassName; name != nil && ing.Annotations[classAnnotation] == "" {
		class, ok := cluster.Get[*networkingv1.IngressClass](v, cluster.KindIngressClass, "", *name)
		if !ok {
			return false
		}
		since = class.CreationTimestamp.Time
	}
	return !edited.Before(since)
}
