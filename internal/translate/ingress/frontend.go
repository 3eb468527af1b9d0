package ingress

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Frontend translates Ingresses. It has no state.
type Frontend struct{ opt Options }

// New returns the frontend with the options.
func New(opt Options) *Frontend { return &Frontend{opt: opt.withDefaults()} }

// Stacks returns the stacks to which an object belongs. An Ingress belongs to the stack of its IngressGroup, or to its own
// stack, and to each stack whose finalizer it has. An Ingress whose class has a fault and that has no finalizer belongs to
// its own stack, so that the fault is reported. IngressClasses, their parameters and Namespaces belong to the stacks of the
// Ingresses that they affect.
func (f *Frontend) Stacks(v *cluster.View, obj cluster.Object) []model.StackID {
	var out []model.StackID
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		out = f.stacksOf(v, o)
	case *networkingv1.IngressClass:
		for _, ing := range f.ingressesOfClass(v, o.Name) {
			out = append(out, f.stacksOf(v, ing)...)
		}
	case *v1beta1.IngressClassParams:
		for _, class := range cluster.List[*networkingv1.IngressClass](v, cluster.Query{Kind: cluster.KindIngressClass, Index: cluster.ClassByParams, Value: o.Name}) {
			for _, ing := range f.ingressesOfClass(v, class.Name) {
				out = append(out, f.stacksOf(v, ing)...)
			}
		}
	case *corev1.Namespace:
		for _, ing := range cluster.List[*networkingv1.Ingress](v, cluster.Query{Kind: cluster.KindIngress, Namespace: o.Name}) {
			out = append(out, f.stacksOf(v, ing)...)
		}
	}
	slices.SortFunc(out, model.StackID.Compare)
	return slices.Compact(out)
}

// ingressesOfClass returns the Ingresses that name a class, and the Ingresses that name none, because the class may be the
// default class.
func (f *Frontend) ingressesOfClass(v *cluster.View, class string) []*networkingv1.Ingress {
	by := func(value string) []*networkingv1.Ingress {
		return cluster.List[*networkingv1.Ingress](v, cluster.Query{Kind: cluster.KindIngress, Index: cluster.IngressByClass, Value: value})
	}
	return append(by(class), by("")...)
}

func (f *Frontend) stacksOf(v *cluster.View, ing *networkingv1.Ingress) []model.StackID {
	out := ownership.ClaimedStacks(v, ing)
	if ing.DeletionTimestamp != nil {
		return out
	}
	p := f.findStack(v, ing)
	switch {
	case p.fault == nil && p.managed:
		out = append(out, p.id)
	case p.fault != nil && len(out) == 0:
		out = append(out, singleIngressStack(ing))
	}
	return out
}

// HasObjects reports whether a stack has Ingresses, accepted or not, or Ingresses that have not left the stack yet.
func (f *Frontend) HasObjects(v *cluster.View, id model.StackID) bool {
	g := f.loadIngresses(v, id)
	return len(g.members)+len(g.previous)+len(g.leaving) > 0 || g.notAccepted
}

// singleIngressStack returns the stack of an Ingress that is in no IngressGroup.
func singleIngressStack(ing *networkingv1.Ingress) model.StackID {
	return model.StackID{Kind: model.Ingress, Namespace: ing.Namespace, Name: ing.Name}
}

func ingressGroupStack(group string) model.StackID {
	return model.StackID{Kind: model.Ingress, Name: group}
}
