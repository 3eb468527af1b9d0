package ingress

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// MayServe reports whether an Ingress is served by this controller, or may be because its class has a fault. Admission
// checks both, so that no Ingress that it denies can be written while a class is missing. It does not matter whether the
// Ingress is being deleted.
func (f *Frontend) MayServe(v *cluster.View, ing *networkingv1.Ingress) bool {
	c := f.classify(v, ing)
	return c.managed || c.fault != nil
}
