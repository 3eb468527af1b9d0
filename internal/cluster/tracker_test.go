package cluster

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

func meta(ns, name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }

func TestIndexValues(t *testing.T) {
	class := "public"
	tests := map[string]struct {
		index Index
		obj   Object
		want  []string
	}{
		"group annotation": {IngressByGroupName, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{"alb.ingress.kubernetes.io/group.name": "shop"}}}, []string{"shop"}},
		"an empty group annotation is a value": {IngressByGroupName, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{"alb.ingress.kubernetes.io/group.name": ""}}}, []string{""}},
		"no group annotation": {IngressByGroupName, &networkingv1.Ingress{}, nil},
		"finalizers of others are left out": {ByFinalizer, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
			Finalizers: []string{"other/x", "ingress.k8s.aws/resources", "group.ingress.k8s.aws/a", "group.ingress.k8s.aws/a"}}},
			[]string{"group.ingress.k8s.aws/a", "ingress.k8s.aws/resources"}},
		"class":    {IngressByClass, &networkingv1.Ingress{Spec: networkingv1.IngressSpec{IngressClassName: &class}}, []string{"public"}},
		"no class": {IngressByClass, &networkingv1.Ingress{}, []string{""}},
		"params of a class": {ClassByParams, &networkingv1.IngressClass{Spec: networkingv1.IngressClassSpec{
			Parameters: &networkingv1.IngressClassParametersReference{Name: "p"}}}, []string{"p"}},
		"group of params": {ParamsByGroupName, &elbv2.IngressClassParams{Spec: elbv2.IngressClassParamsSpec{
			Group: &elbv2.IngressGroup{Name: "g"}}}, []string{"g"}},
		"service of a slice": {EndpointSliceByService, &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Labels: map[string]string{"kubernetes.io/service-name": "web"}}}, []string{"shop/web"}},
		"slice without a service": {EndpointSliceByService, &discoveryv1.EndpointSlice{}, nil},
		"service of a binding": {BindingByService, &elbv2.TargetGroupBinding{ObjectMeta: meta("shop", "b"),
			Spec: elbv2.TargetGroupBindingSpec{ServiceRef: elbv2.ServiceReference{Name: "web"}}}, []string{"shop/web"}},
		"implicit stack": {BindingByStack, &elbv2.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			"ingress.k8s.aws/stack-namespace": "shop", "ingress.k8s.aws/stack-name": "web"}}}, []string{"ingress.k8s.aws|shop/web"}},
		"explicit stack": {BindingByStack, &elbv2.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			"ingress.k8s.aws/stack": "team"}}}, []string{"ingress.k8s.aws|team"}},
		"gates of both spellings": {PodByReadinessGate, &corev1.Pod{ObjectMeta: meta("shop", "p"), Spec: corev1.PodSpec{
			ReadinessGates: []corev1.PodReadinessGate{
				{ConditionType: "target-health.elbv2.k8s.aws/b"}, {ConditionType: "target-health.alb.ingress.k8s.aws/a"},
				{ConditionType: "other/c"}, {ConditionType: "target-health.elbv2.k8s.aws/b"}}}}, []string{"shop/a", "shop/b"}},
		"addresses": {PodByAddress, &corev1.Pod{ObjectMeta: meta("shop", "p"), Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "2001:DB8:0::1"}}}}, []string{"10.0.0.1", "2001:db8::1"}},
		"the only address": {PodByAddress, &corev1.Pod{ObjectMeta: meta("shop", "p"), Status: corev1.PodStatus{PodIP: "10.0.0.1"}}, []string{"10.0.0.1"}},
		"address of the node": {PodByAddress, &corev1.Pod{ObjectMeta: meta("shop", "p"), Spec: corev1.PodSpec{HostNetwork: true},
			Status: corev1.PodStatus{PodIP: "10.0.0.1"}}, []string{"shop/10.0.0.1"}},
		"addresses given back": {PodByAddress, &corev1.Pod{ObjectMeta: meta("shop", "p"), Status: corev1.PodStatus{
			Phase: corev1.PodFailed, PodIP: "10.0.0.1"}}, nil},
		"shared load balancer": {ServiceBySharedLoadBalancer, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Annotations: map[string]string{LoadBalancerGroupAnnotation: "g"}}}, []string{"shop/g"}},
		"load balancers shared, now and before": {ServiceBySharedLoadBalancer, &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Annotations: map[string]string{LoadBalancerGroupAnnotation: "bank/g"}, Finalizers: []string{naming.SharedFinalizerPrefix + "shop.old", naming.ServiceFinalizer}}},
			[]string{"", "bank/g", "shop/old"}},
		"finalizers of a Service": {ByFinalizer, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{naming.SharedFinalizerPrefix + "shop.old", naming.ServiceFinalizer, "x"}}},
			[]string{naming.SharedFinalizerPrefix + "shop.old", naming.ServiceFinalizer}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, IndexValues(tc.index, tc.obj)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEveryIndexHasAKind(t *testing.T) {
	var all []Index
	for _, typ := range Types() {
		all = append(all, typ.Indexes...)
		if k, ok := KindOf(typ.New()); !ok || k != typ.Kind {
			t.Errorf("KindOf of a new %s is %s", typ.Kind, k)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all) // the finalizer index exists for every root kind
	want := []Index{IngressByGroupName, ServiceBySharedLoadBalancer, ByFinalizer, IngressByClass, ClassByParams, ParamsByGroupName,
		EndpointSliceByService, BindingByService, BindingByStack, BindingByTargetGroup, PodByReadinessGate, PodByAddress,
		GatewayByClass, GatewayByAdoptedStack, GatewayByConfiguration, GatewayClassByController, GatewayClassByConfiguration, ListenerSetByGateway, RouteByParent, RouteByBackend,
		RouteByConfiguration, ConfigurationByDefaultTargetGroup, TargetConfigurationByReference}
	slices.Sort(want)
	if d := cmp.Diff(want, all); d != "" {
		t.Error(d)
	}
}

// readIngressesAndServices lists the Ingresses of IngressGroups in a namespace, or in all if ns is empty, and reads the
// Services that they name. Its later reads thus depend on earlier results, as in a run. It returns the names and versions of
// the objects that it has read.
func readIngressesAndServices(v *View, ns string) string {
	var seen []string
	note := func(o Object) { seen = append(seen, RefOf(o).String()+"@"+o.GetResourceVersion()) }
	for _, g := range []string{"a", "b"} {
		for _, ing := range List[*networkingv1.Ingress](v, Query{Kind: KindIngress, Namespace: ns, Index: IngressByGroupName, Value: g}) {
			note(ing)
			if ing.Spec.DefaultBackend != nil {
				if s, ok := Get[*corev1.Service](v, KindService, ing.Namespace, ing.Spec.DefaultBackend.Service.Name); ok {
					note(s)
				}
			}
		}
		if ns == "n1" {
			break
		}
	}
	if ns == "" {
		for _, n := range List[*corev1.Node](v, Query{Kind: KindNode}) {
			note(n)
		}
	}
	return fmt.Sprint(seen)
}

// TestTrackerFindsAffectedConsumers changes objects at random. It checks that each consumer whose result changes is reported
// as affected, and that each affected consumer has read the object or a list with it.
func TestTrackerFindsAffectedConsumers(t *testing.T) {
	for seed := range int64(200) {
		rnd := rand.New(rand.NewSource(seed))
		m, err := NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		tracker := NewTracker[string]()
		consumers := []string{"", "n1", "n2"}
		answers, views := map[string]string{}, map[string]*View{}
		run := func(k string) {
			v := NewView(m)
			answers[k], views[k] = readIngressesAndServices(v, k), v
			tracker.Record(k, v)
		}
		for _, k := range consumers {
			run(k)
		}
		m.Watch(func(old, new Object) {
			affected := tracker.Affected(old, new)
			for _, k := range consumers {
				asked := false
				for _, o := range []Object{old, new} {
					if o == nil {
						continue
					}
					asked = asked || slices.Contains(views[k].Refs(), RefOf(o)) ||
						slices.ContainsFunc(views[k].Queries(), func(q Query) bool { return q.Selects(o) })
				}
				if named := slices.Contains(affected, k); named != asked {
					t.Fatalf("seed %d: %v -> %v: consumer %q named %v, asked %v", seed, old, new, k, named, asked)
				}
				if fresh := readIngressesAndServices(NewView(m), k); fresh != answers[k] && !slices.Contains(affected, k) {
					t.Fatalf("seed %d: the answers of %q changed from %s to %s unnoticed", seed, k, answers[k], fresh)
				}
			}
			for _, k := range affected {
				run(k)
			}
		})
		for range 60 {
			changeAtRandom(t, rnd, m)
		}
	}
}

func TestTrackerFindsAllConsumersOfOneObject(t *testing.T) {
	shared := Ref{Kind: KindNode, Name: "x"}
	rnd := rand.New(rand.NewSource(1))
	tracker := NewTracker[int]()
	var asking []int // in the order of first recording; 0 is a valid consumer
	for range 2000 {
		k := rnd.Intn(5)
		i := slices.Index(asking, k)
		if rnd.Intn(2) == 0 {
			v := NewView(nil)
			v.Subscribe(shared.Kind, shared.Namespace, shared.Name)
			tracker.Record(k, v)
			if i < 0 {
				asking = append(asking, k)
			}
		} else {
			tracker.Forget(k)
			if i >= 0 {
				asking = slices.Delete(asking, i, i+1)
			}
		}
		if named := tracker.ConsumersOf(shared); !slices.Equal(named, asking) || tracker.IsRead(shared) != (len(asking) > 0) {
			t.Fatalf("the tracker names %v, asked %v; want %v", named, tracker.IsRead(shared), asking)
		}
	}
}

func changeAtRandom(t *testing.T, rnd *rand.Rand, m *Memory) {
	t.Helper()
	pick := func(s ...string) string { return s[rnd.Intn(len(s))] }
	var obj Object
	switch rnd.Intn(4) {
	case 0:
		obj = &corev1.Service{ObjectMeta: meta(pick("n1", "n2"), pick("s1", "s2"))}
		obj.SetLabels(map[string]string{"rev": pick("1", "2", "3")})
	case 1:
		obj = &corev1.Node{ObjectMeta: meta("", pick("x", "y"))}
		obj.SetLabels(map[string]string{"rev": pick("1", "2")})
	default:
		ing := &networkingv1.Ingress{ObjectMeta: meta(pick("n1", "n2"), pick("i1", "i2", "i3"))}
		ing.Annotations = map[string]string{groupNameAnnotation: pick("a", "b", "c")}
		ing.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: pick("s1", "s2", "s3")}}
		obj = ing
	}
	ref := RefOf(obj)
	have, _ := m.Get(ref)
	var err error
	switch {
	case have == nil:
		_, err = m.Create(obj)
	case rnd.Intn(3) == 0:
		err = m.Delete(ref)
	default:
		_, err = m.Update(obj, MainPart)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestViewSubscriptions(t *testing.T) {
	m, err := NewMemory(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	query := Query{Kind: KindService, Namespace: "shop"}
	for _, tt := range []struct {
		name    string
		do      func(v *View)
		refs    int
		queries int
	}{
		{"reading", func(v *View) {
			Get[*corev1.Service](v, KindService, "shop", "web")
			List[*corev1.Service](v, query)
		}, 1, 1},
		{"without reading", func(v *View) {
			v.Subscribe(KindService, "shop", "web")
			v.SubscribeList(query)
		}, 1, 1},
		{"reading without", func(v *View) {
			v = v.Unsubscribed()
			Get[*corev1.Service](v, KindService, "shop", "web")
			List[*corev1.Service](v, query)
			if len(v.Refs())+len(v.Queries()) > 0 {
				t.Errorf("a view without subscriptions has %v, %v", v.Refs(), v.Queries())
			}
		}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := NewView(m)
			tt.do(v)
			if len(v.Refs()) != tt.refs || len(v.Queries()) != tt.queries || v.Err() != nil {
				t.Errorf("subscribed to %v and %v, want %d and %d; error %v", v.Refs(), v.Queries(), tt.refs, tt.queries, v.Err())
			}
		})
	}
}
