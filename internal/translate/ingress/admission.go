package ingress

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// MayServe reports whether this controller serves an Ingress, or may serve it because the class of the Ingress has a fault.
// Admission checks Ingresses in both cases, so that a user cannot bypass the checks by creating the Ingress while its class
// is missing. The result does not depend on whether the Ingress is being deleted.
func (f *Frontend) MayServe(v *cluster.View, ing *networkingv1.Ingress) bool {
	c := f.classify(v, ing)
	return c.managed || c.fault != nil
}
