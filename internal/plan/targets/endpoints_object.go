package targets

//lint:file-ignore SA1019 Endpoints objects are read where --enable-endpoint-slices=false asks for them.

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// slicesFromEndpointsObject reads the Endpoints object of a Service, and returns an EndpointSlice for each of its subsets.
// Kubernetes has deprecated Endpoints objects; they are read if EndpointSlices are disabled.
func slicesFromEndpointsObject(v *cluster.View, b *elbv2.TargetGroupBinding, svc *corev1.Service, r *Resolution) []*discoveryv1.EndpointSlice {
	obj, ok := cluster.Get[*corev1.Endpoints](v, cluster.KindEndpoints, b.Namespace, svc.Name) //nolint:staticcheck // see above
	if !ok {
		r.BackendMissing = true
		r.Findings.Add(finding.Finding{
			Object: BindingRef(b), Field: "spec.serviceRef.name", Reason: finding.BackendNotFound, Severity: finding.Error,
			Message: fmt.Sprintf("Service %s/%s has no Endpoints object", b.Namespace, svc.Name),
			Fix:     "check the Service's selector, or set --enable-endpoint-slices=true",
		})
		return nil
	}
	var out []*discoveryv1.EndpointSlice
	for _, subset := range obj.Subsets {
		s := &discoveryv1.EndpointSlice{}
		for _, p := range subset.Ports {
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol})
		}
		add := func(addresses []corev1.EndpointAddress, ready bool) { //nolint:staticcheck // see above
			for _, a := range addresses {
				s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
					Addresses: []string{a.IP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, TargetRef: a.TargetRef,
				})
			}
		}
		add(subset.Addresses, true)
		add(subset.NotReadyAddresses, false)
		out = append(out, s)
	}
	return out
}
