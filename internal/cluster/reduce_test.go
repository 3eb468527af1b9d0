package cluster

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// TestUnusedFieldsAreNoEvent checks, for the kinds with the most objects, that SameContent ignores a change of a field that
// the controller does not read, and reports a change of a field that it reads.
func TestUnusedFieldsAreNoEvent(t *testing.T) {
	set := func(key, value string) func(Object) {
		return func(o Object) {
			all := o.GetAnnotations()
			if all == nil {
				all = map[string]string{}
			}
			all[key] = value
			o.SetAnnotations(all)
		}
	}
	label := func(o Object) { o.SetLabels(map[string]string{"team": "x"}) }
	leave := func(o Object) { o.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(9, 0)}) }
	for kind, c := range map[string]struct {
		obj               Object
		read, unavailable map[string]func(Object)
	}{
		"Namespace": {&corev1.Namespace{ObjectMeta: meta("", "n")},
			map[string]func(Object){"label": label, "deletion": leave},
			map[string]func(Object){
				"annotation": set("a", "b"),
				"phase":      func(o Object) { o.(*corev1.Namespace).Status.Phase = corev1.NamespaceTerminating },
				"finalizer":  func(o Object) { o.(*corev1.Namespace).Spec.Finalizers = []corev1.FinalizerName{"x"} },
			}},
		"IngressClass": {&networkingv1.IngressClass{ObjectMeta: meta("", "c")},
			map[string]func(Object){
				"default":    set(DefaultClassAnnotation, "true"),
				"controller": func(o Object) { o.(*networkingv1.IngressClass).Spec.Controller = "x" },
			},
			map[string]func(Object){"label": label, "annotation": set("a", "b")}},
		"IngressClassParams": {&elbv2.IngressClassParams{ObjectMeta: meta("", "c")},
			map[string]func(Object){"group": func(o Object) { o.(*elbv2.IngressClassParams).Spec.Group = &elbv2.IngressGroup{Name: "g"} }},
			map[string]func(Object){"label": label, "annotation": set("a", "b")}},
		"Ingress": {&networkingv1.Ingress{ObjectMeta: meta("n", "i")},
			map[string]func(Object){
				"annotation": set("alb.ingress.kubernetes.io/scheme", "internal"), "class": set(ClassAnnotation, "alb"),
				"finalizer": func(o Object) { o.SetFinalizers([]string{"x"}) }, "deletion": leave,
				"large annotation of others": set("a", strings.Repeat("b", 5000)),
				"mistyped prefix":            set("alb.ingres.kubernetes.io/scheme", "internal"),
				"status": func(o Object) {
					o.(*networkingv1.Ingress).Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "x"}}
				},
			},
			map[string]func(Object){"label": label, "annotation of others": set("argocd.argoproj.io/tracking-id", "b"), "plan": set(IngressPlanAnnotation, "{}"), "manifest": set(corev1.LastAppliedConfigAnnotation, strings.Repeat("b", 5000))}},
		"Service": {&corev1.Service{ObjectMeta: meta("n", "s")},
			map[string]func(Object){
				"annotation":               set("alb.ingress.kubernetes.io/target-type", "ip"),
				"load balancer annotation": set("service.beta.kubernetes.io/aws-load-balancer-scheme", "internal"),
				"load balancer group":      set("fulcrum.dev/load-balancer-group", "g"),
				"mistyped prefix":          set("service.beta.kubernets.io/aws-load-balancer-scheme", "internal"),
				"finalizer":                func(o Object) { o.SetFinalizers([]string{naming.ServiceFinalizer}) }, "deletion": leave,
				"port":       func(o Object) { o.(*corev1.Service).Spec.Ports = []corev1.ServicePort{{Port: 1}} },
				"class":      func(o Object) { o.(*corev1.Service).Spec.LoadBalancerClass = new("c") },
				"check port": func(o Object) { o.(*corev1.Service).Spec.HealthCheckNodePort = 1 },
			},
			map[string]func(Object){"label": label, "annotation of others": set("a", "b")}},
		"EndpointSlice": {&discoveryv1.EndpointSlice{ObjectMeta: meta("n", "e"), Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}},
			map[string]func(Object){
				"service": func(o Object) { o.SetLabels(map[string]string{discoveryv1.LabelServiceName: "s"}) },
				"ready":   func(o Object) { o.(*discoveryv1.EndpointSlice).Endpoints[0].Conditions.Ready = new(bool) },
				"pod": func(o Object) {
					o.(*discoveryv1.EndpointSlice).Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", UID: "u"}
				},
			},
			map[string]func(Object){
				"label": label, "time of the last change": set(corev1.EndpointsLastChangeTriggerTime, "now"),
				"hints": func(o Object) { o.(*discoveryv1.EndpointSlice).Endpoints[0].Hints = &discoveryv1.EndpointHints{} },
			}},
		"Pod": {&corev1.Pod{ObjectMeta: meta("n", "p")},
			map[string]func(Object){
				"phase": func(o Object) { o.(*corev1.Pod).Status.Phase = corev1.PodFailed }, "deletion": leave,
				"address": func(o Object) { o.(*corev1.Pod).Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}} },
				"gate": func(o Object) {
					o.(*corev1.Pod).Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: readinessGatePrefix + "b"}}
				},
				"condition": withPodCondition(corev1.PodReady, ""), "message of our condition": withPodCondition(readinessGatePrefix+"b", "m"),
				"port": func(o Object) {
					o.(*corev1.Pod).Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 1}}}}
				},
			},
			map[string]func(Object){
				"label": label, "annotation": set("a", "b"), "image": func(o Object) { o.(*corev1.Pod).Spec.Containers = []corev1.Container{{Image: "i"}} },
				"condition": withPodCondition(corev1.PodScheduled, ""), "gate of others": withPodCondition("example.com/gate", "m"),
			}},
	} {
		was := Reduce(c.obj.DeepCopyObject().(Object), "")
		for event, seen := range map[bool]map[string]func(Object){false: c.unavailable, true: c.read} {
			for what, change := range seen {
				now := c.obj.DeepCopyObject().(Object)
				change(now)
				now.SetResourceVersion("2")
				if SameContent(was, Reduce(now, "")) == event {
					t.Errorf("%s: a change of the %s is an event: %v, want %v", kind, what, !event, event)
				}
			}
		}
	}
}

func withPodCondition(typ corev1.PodConditionType, message string) func(Object) {
	return func(o Object) {
		o.(*corev1.Pod).Status.Conditions = []corev1.PodCondition{{Type: typ, Status: corev1.ConditionTrue, Message: message}}
	}
}

// TestReducedDoesNotModifyItsSource checks that ReducedSource returns a reduced object, and that the object in the source
// retains all its fields.
func TestReducedDoesNotModifyItsSource(t *testing.T) {
	m, err := NewMemory(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Put(typicalPod(1)); err != nil {
		t.Fatal(err)
	}
	ref := Ref{Kind: KindPod, Namespace: "shop", Name: "web-1"}
	whole, err := m.Get(ref)
	if err != nil {
		t.Fatal(err)
	}
	copied := whole.DeepCopyObject()
	if obj, err := (&ReducedSource{Source: m}).Get(ref); err != nil || len(obj.GetLabels()) > 0 {
		t.Error(obj, err)
	}
	if d := cmp.Diff(copied, whole); d != "" {
		t.Error(d)
	}
}

// typicalPod returns a pod of a Deployment with the fields that a cluster adds.
func typicalPod(i int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("web-%d", i), Namespace: "shop", UID: "11111111-0000-4000-8000-000000000001", ResourceVersion: "1",
		Labels:          map[string]string{"app": "web", "pod-template-hash": "7d9c6b8f5"},
		Annotations:     map[string]string{"prometheus.io/scrape": "true"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d9c6b8f5", UID: "2"}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(`{"f:x":"` + strings.Repeat("x", 2000) + `"}`)}},
	}}
	p.Spec.NodeName = "ip-10-0-132-17.us-west-2.compute.internal"
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: readinessGatePrefix + "k8s-shop-web-0123456789"}}
	p.Spec.Containers = []corev1.Container{
		{Name: "web", Image: "registry/web:1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}},
		{Name: "sidecar", Image: "registry/sidecar:1", Ports: []corev1.ContainerPort{{ContainerPort: 9090, Protocol: corev1.ProtocolTCP}}},
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.0.%d.%d", i/250, i%250), PodIPs: []corev1.PodIP{{IP: fmt.Sprintf("10.0.%d.%d", i/250, i%250)}}}
	for _, c := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady, "PodReadyToStartContainers", readinessGatePrefix + "k8s-shop-web-0123456789"} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(1, 0)})
	}
	return p
}

// typicalEndpointSlice returns an EndpointSlice with a hundred pods.
func typicalEndpointSlice(i int) *discoveryv1.EndpointSlice {
	yes, node, zone := true, "ip-10-0-132-17.us-west-2.compute.internal", "us-west-2a"
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("web-%d", i), Namespace: "shop", Labels: map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager", FieldsV1: metav1.NewFieldsV1(`{"f:x":"` + strings.Repeat("x", 600) + `"}`)}},
	}}
	for n := range 100 {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf("10.0.1.%d", n)}, Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: fmt.Sprintf("web-%d", n), UID: "u"}, NodeName: &node, Zone: &zone,
			Hints: &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: zone}}},
		})
	}
	return s
}

func typicalIngress(i int) *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("web-%d", i), Namespace: "shop", Labels: map[string]string{"app": "web", "helm.sh/chart": "web-1.0"},
		Annotations:   map[string]string{"alb.ingress.kubernetes.io/scheme": "internal", corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 1500)},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:x":"` + strings.Repeat("x", 1500) + `"}`)}},
	}}
}

func typicalService(i int) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("web-%d", i), Namespace: "shop", Labels: map[string]string{"app": "web", "helm.sh/chart": "web-1.0"},
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 800)},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:x":"` + strings.Repeat("x", 800) + `"}`)}},
	}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}, Selector: map[string]string{"app": "web"}}}
}

// BenchmarkMemory measures the memory of cached objects, before and after Reduce.
func BenchmarkMemory(b *testing.B) {
	for name, typical := range map[string]func(i int) Object{
		"Pod":                  func(i int) Object { return typicalPod(i) },
		"EndpointSlice of 100": func(i int) Object { return typicalEndpointSlice(i) },
		"Ingress applied":      func(i int) Object { return typicalIngress(i) },
		"Service applied":      func(i int) Object { return typicalService(i) },
		"Namespace":            func(i int) Object { return &corev1.Namespace{ObjectMeta: meta("", fmt.Sprint(i))} },
	} {
		for _, form := range []string{"whole", "kept"} {
			b.Run(name+"/"+form, func(b *testing.B) {
				for b.Loop() {
					const n = 500
					objs := make([]Object, n)
					before := heapSize()
					for i := range objs {
						if objs[i] = copyWithoutSharedStrings(b, typical(i)); form == "kept" {
							objs[i] = Reduce(objs[i], "")
						}
					}
					b.ReportMetric(float64(heapSize()-before)/n, "bytes/object")
					runtime.KeepAlive(objs)
				}
			})
		}
	}
}

// copyWithoutSharedStrings copies an object so that the copy shares no strings with other objects, as if it came from an API
// server.
func copyWithoutSharedStrings(b *testing.B, obj Object) Object {
	kind, _ := KindOf(obj)
	typ, _ := TypeOf(kind)
	out := typ.New()
	data, err := json.Marshal(obj)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// heapSize returns the size of the reachable heap.
func heapSize() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestClassEditedAtOfReducedServices checks that Reduce retains the edit times of class and finalizers if a Service has a
// finalizer of a stack, and removes all managedFields otherwise.
func TestClassEditedAtOfReducedServices(t *testing.T) {
	at := func(s int64) *metav1.Time { return &metav1.Time{Time: time.Unix(s, 0)} }
	svc := func(finalizers ...string) Object {
		return Reduce(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers, ManagedFields: []metav1.ManagedFieldsEntry{
			{Time: at(1), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:loadBalancerClass":{},"f:type":{}}}`)},
			{Time: at(2), FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:finalizers":{}}}`)},
			{Time: at(3), FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{}}}`)},
		}}}, "")
	}
	for range 2 {
		o := Reduce(svc(naming.ServiceFinalizer), "")
		if c, f := ClassEditedAt(o), FinalizersEditedAt(o); c.Unix() != 1 || f.Unix() != 2 {
			t.Errorf("class edited at %s, claimed at %s", c, f)
		}
	}
	if o := svc(); len(o.GetManagedFields()) > 0 {
		t.Errorf("%v", o.GetManagedFields())
	}
}
