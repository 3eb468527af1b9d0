package gateway_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// manyRoutes returns a cluster with a Gateway and n routes. Each route has a hostname, a Service and two rules.
func manyRoutes(t testing.TB, n int) *cluster.Memory {
	t.Helper()
	m, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	objs := []cluster.Object{
		&gwv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: gwv1.GatewayClassSpec{ControllerName: "gateway.k8s.aws/alb"}},
		&gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "edge", UID: "1"}, Spec: gwv1.GatewaySpec{
			GatewayClassName: "c", Listeners: []gwv1.Listener{{Name: "http", Protocol: gwv1.HTTPProtocolType, Port: 80}},
		}},
	}
	for i := range n {
		name := fmt.Sprintf("r%04d", i)
		objs = append(objs, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}}},
		})
		to := []gwv1.HTTPBackendRef{{BackendRef: gwv1.BackendRef{BackendObjectReference: gwv1.BackendObjectReference{Name: gwv1.ObjectName(name), Port: new(gwv1.PortNumber(80))}}}}
		path := func(v string) []gwv1.HTTPRouteMatch {
			return []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: &v}}}
		}
		objs = append(objs, &gwv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: gwv1.HTTPRouteSpec{
			CommonRouteSpec: gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Name: "edge"}}}, Hostnames: []gwv1.Hostname{gwv1.Hostname(name + ".example.com")},
			Rules: []gwv1.HTTPRouteRule{{Matches: path("/"), BackendRefs: to}, {Matches: path("/api"), BackendRefs: to}},
		}})
	}
	if err := m.Put(objs...); err != nil {
		t.Fatal(err)
	}
	return m
}

// BenchmarkTranslate measures the translation of a Gateway with many routes.
func BenchmarkTranslate(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			src := manyRoutes(b, n)
			f := gateway.New(model.ALBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig"}})
			for b.Loop() {
				stack, _ := enginetest.Translate(b, f, src, model.StackID{Kind: model.ALBGateway, Namespace: "a", Name: "edge"}, nil)
				if got := len(stack.LoadBalancer.Listeners[0].Rules); got != 2*n {
					b.Fatalf("%d rules", got)
				}
			}
		})
	}
}

// TestRoutesBeyondTheLimitAreHeld checks that a route that exceeds the maximum number of rules of its namespace is held,
// while the other routes are served.
func TestRoutesBeyondTheLimitAreHeld(t *testing.T) {
	t.Parallel()
	f := gateway.New(model.ALBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig", MaxRules: 7}})
	stack, found := enginetest.Translate(t, f, manyRoutes(t, 5), model.StackID{Kind: model.ALBGateway, Namespace: "a", Name: "edge"}, nil)
	if got := len(stack.LoadBalancer.Listeners[0].Rules); got != 6 {
		t.Errorf("%d rules, want those of 3 routes", got)
	}
	if len(stack.Held.Members) != 2 || len(found) != 2 || !stack.Held.Members[0].All {
		t.Errorf("want 2 routes held and reported, got %v, %v", stack.Held.Members, found)
	}
}
