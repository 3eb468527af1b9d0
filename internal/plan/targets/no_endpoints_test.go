package targets

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// TestNoEndpointsReason checks the reasons for different EndpointSlices and pods.
func TestNoEndpointsReason(t *testing.T) {
	yes, no := true, false
	born := time.Unix(1_000_000, 0)
	endpoint := func(ready, going *bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "p"},
			Conditions: discoveryv1.EndpointConditions{Ready: ready, Terminating: going}}
	}
	slice := func(generation int64, port string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Generation: generation, CreationTimestamp: metav1.NewTime(born)}, Endpoints: endpoints}
		if port != "" {
			s.Ports = []discoveryv1.EndpointPort{{Name: &port, Port: new(int32)}}
		}
		return s
	}
	ready, waiting, going := endpoint(&yes, nil), endpoint(&no, nil), endpoint(&no, &yes)
	type list = []*discoveryv1.EndpointSlice
	for name, c := range map[string]struct {
		list       list
		targetPort intstr.IntOrString
		unselected bool
		want       finding.Reason // "": no finding
		emptied    bool
	}{
		"a pod serves":                       {list: list{slice(2, "web", ready)}},
		"a pod of another slice serves":      {list: list{slice(2, "", ready), slice(2, "web", waiting, ready)}, targetPort: intstr.FromString("http")},
		"no slice":                           {},
		"an endpoint of unclear state":       {list: list{slice(2, "web", endpoint(nil, nil))}},
		"pods that go":                       {list: list{slice(2, "web", going)}},
		"never any":                          {list: list{slice(1, "")}, want: finding.SelectorMatchesNoPod},
		"none any more":                      {list: list{slice(3, "")}, want: finding.SelectorMatchesNoPod, emptied: true},
		"never any, and no selector":         {list: list{slice(1, "")}, unselected: true, want: finding.ServiceWithoutEndpoints},
		"none is ready":                      {list: list{slice(2, "web", waiting, waiting)}, want: finding.ServiceWithoutEndpoints},
		"none has the port":                  {list: list{slice(2, "", ready), slice(2, "other", ready)}, targetPort: intstr.FromString("http"), want: finding.TargetPortNotFound},
		"a number that is missing in slices": {list: list{slice(2, "", ready)}, targetPort: intstr.FromInt32(8080)},
	} {
		svc := &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
		if c.unselected {
			svc.Spec.Selector = nil
		}
		got := noEndpointsReason(svc, corev1.ServicePort{Name: "web", Port: 80, TargetPort: c.targetPort}, c.list, func(string) *corev1.Pod { return &corev1.Pod{} })
		switch {
		case got == nil && c.want != "":
			t.Errorf("%s: nothing is found", name)
		case got != nil && (got.Finding.Reason != c.want || got.HadEndpoints != c.emptied || !got.Since.Equal(born)):
			t.Errorf("%s: %+v", name, got)
		}
	}
}
