package settings

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestServiceSelectionServes(t *testing.T) {
	const ours = "service.k8s.aws/nlb"
	const balancer, cluster, nodePort = corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort
	external := func(target string) map[string]string {
		return map[string]string{ServicePrefix + "aws-load-balancer-type": "external", ServicePrefix + "aws-load-balancer-nlb-target-type": target}
	}
	of := func(t string) map[string]string {
		return map[string]string{ServicePrefix + "aws-load-balancer-type": t}
	}
	for name, c := range map[string]struct {
		kind        corev1.ServiceType
		class       *string
		annotations map[string]string
		deleting    bool
		want        bool
		// only is the expected result with LoadBalancersOnly.
		only bool
	}{
		"our class":                               {kind: balancer, class: new(ours), want: true, only: true},
		"our class, in deletion":                  {kind: balancer, class: new(ours), deleting: true},
		"another class, handed over":              {kind: balancer, class: new("other/x"), annotations: external("ip")},
		"the empty class, handed over":            {kind: balancer, class: new(""), annotations: external("ip")},
		"our class in capitals":                   {kind: balancer, class: new("Service.k8s.aws/nlb")},
		"no class, nothing said":                  {kind: balancer},
		"no class, nlb-ip":                        {kind: balancer, annotations: of("nlb-ip"), want: true, only: true},
		"no class, nlb-instance":                  {kind: balancer, annotations: of("nlb-instance")},
		"no class, external without target type":  {kind: balancer, annotations: of("external")},
		"no class, external with ip":              {kind: balancer, annotations: external("ip"), want: true, only: true},
		"no class, external with instance":        {kind: balancer, annotations: external("instance"), want: true, only: true},
		"no class, external with another type":    {kind: balancer, annotations: external("alb")},
		"no class, external with a space":         {kind: balancer, annotations: external(" ip")},
		"no class, the in-tree controller's":      {kind: balancer, annotations: of("nlb")},
		"no class, an unknown word":               {kind: balancer, annotations: of("alb")},
		"ClusterIP, external with ip":             {kind: cluster, annotations: external("ip"), want: true},
		"NodePort, nlb-ip":                        {kind: nodePort, annotations: of("nlb-ip"), want: true},
		"ClusterIP after LoadBalancer of a class": {kind: cluster},
	} {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}, Spec: corev1.ServiceSpec{Type: c.kind, LoadBalancerClass: c.class}}
		if c.deleting {
			svc.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		if got := (ServiceSelection{Class: ours}).Serves(svc); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := (ServiceSelection{Class: ours, LoadBalancersOnly: true}).Serves(svc); got != c.only {
			t.Errorf("%s, load balancers only: %v", name, got)
		}
	}
}
