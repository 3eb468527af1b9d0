package ingress

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// MayServe reports whether an Ingress is served here, or may be because its controller is not known, as
// its class has a fault. Rules for what may be written apply to both, so that nothing can be slipped
// in while a class is missing. Deletion makes no difference.
func (f *Frontend) MayServe(v *cluster.View, ing *networkingv1.Ingress) bool {
	c := f.classify(v, ing)
	return c.managed || c.fault != nil
}
