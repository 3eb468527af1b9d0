package targets

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// portOf returns the port of a Service by its name or number; false if there is none.
func portOf(svc *corev1.Service, want intstr.IntOrString) (corev1.ServicePort, bool) {
	for _, p := range svc.Spec.Ports {
		if want.Type == intstr.String && p.Name == want.StrVal || want.Type == intstr.Int && p.Port == want.IntVal {
			return p, true
		}
	}
	return corev1.ServicePort{}, false
}

// resolveServicePort returns the Service and the port of a binding. If one of them does not exist, it returns false, sets
// r.BackendMissing and adds a finding.
func resolveServicePort(v *cluster.View, b *elbv2.TargetGroupBinding, r *Resolution) (*corev1.Service, corev1.ServicePort, bool) {
	name := b.Spec.ServiceRef.Name
	svc, ok := cluster.GetReferenced[*corev1.Service](v, b, cluster.KindService, b.Namespace, name)
	if !ok {
		r.BackendMissing = true
		r.Findings.Add(finding.Finding{
			Object: BindingRef(b), Field: "spec.serviceRef.name", Reason: finding.BackendNotFound, Severity: finding.Error,
			Message: fmt.Sprintf("Service %s/%s does not exist", b.Namespace, name), Fix: "create the Service or correct its name",
		})
		return nil, corev1.ServicePort{}, false
	}
	want := b.Spec.ServiceRef.Port
	if p, ok := portOf(svc, want); ok {
		return svc, p, true
	}
	v.Confirm(svc, b)
	r.BackendMissing = true
	r.Findings.Add(finding.Finding{
		Object: BindingRef(b), Field: "spec.serviceRef.port", Reason: finding.BackendPortNotFound, Severity: finding.Error,
		Message: network.MissingPortMessage(svc, want),
		Fix:     "use a port number or port name of the Service",
	})
	return nil, corev1.ServicePort{}, false
}
