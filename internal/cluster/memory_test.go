package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func newMemory(t *testing.T) *Memory {
	t.Helper()
	m, err := NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestMemoryCountsGenerationsAndVersions(t *testing.T) {
	m, ok := newMemory(t), must[Object](t)
	ing := &networkingv1.Ingress{ObjectMeta: meta("n", "i")}
	ing.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "not-mine"}}
	a := ok(m.Create(ing)).(*networkingv1.Ingress)
	if a.Generation != 1 || a.UID == "" || len(a.Status.LoadBalancer.Ingress) != 0 {
		t.Errorf("created: %+v", a)
	}
	if _, err := m.Create(ing); !apierrors.IsAlreadyExists(err) {
		t.Errorf("second creation: %v", err)
	}

	labelled := a.DeepCopy()
	labelled.Labels = map[string]string{"x": "y"}
	b := ok(m.Update(labelled, MainPart)).(*networkingv1.Ingress)
	if b.Generation != 1 || b.ResourceVersion == a.ResourceVersion {
		t.Errorf("labels: generation %d, version %s after %s", b.Generation, b.ResourceVersion, a.ResourceVersion)
	}
	if _, err := m.Update(a, MainPart); !apierrors.IsConflict(err) {
		t.Errorf("update from an old version: %v", err)
	}

	spec := b.DeepCopy()
	class := "c"
	spec.Spec.IngressClassName = &class
	spec.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "ignored"}}
	c := ok(m.Update(spec, MainPart)).(*networkingv1.Ingress)
	if c.Generation != 2 || len(c.Status.LoadBalancer.Ingress) != 0 {
		t.Errorf("spec: %+v", c)
	}
	if same := ok(m.Update(c, MainPart)); same.GetResourceVersion() != c.ResourceVersion {
		t.Error("a write without a change has changed the version")
	}

	d := ok(m.Patch(c, StatusPart, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"x":"z"}},"status":{"loadBalancer":{"ingress":[{"hostname":"h"}]}}}`))).(*networkingv1.Ingress)
	if d.Labels["x"] != "y" || d.Status.LoadBalancer.Ingress[0].Hostname != "h" || d.Generation != 2 {
		t.Errorf("status patch: %+v", d)
	}
}

func TestMemoryDeletesWhenTheLastFinalizerGoes(t *testing.T) {
	m, ok := newMemory(t), must[Object](t)
	var events []string
	m.Watch(func(old, new Object) {
		switch {
		case old == nil:
			events = append(events, "add")
		case new == nil:
			events = append(events, "delete")
		default:
			events = append(events, "update")
		}
	})
	ing := &networkingv1.Ingress{ObjectMeta: meta("n", "i")}
	ing.Finalizers = []string{"a", "b"}
	cur := ok(m.Create(ing))
	for range 2 { // the second deletion changes nothing
		if err := m.Delete(RefOf(cur)); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := m.Get(RefOf(cur))
	if got == nil || got.GetDeletionTimestamp() == nil || got.GetGeneration() != 2 {
		t.Fatalf("after deletion: %v", got)
	}
	ok(m.Patch(got, MainPart, types.MergePatchType, []byte(`{"metadata":{"finalizers":["b"]}}`)))
	ok(m.Patch(got, MainPart, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	if got, _ := m.Get(RefOf(cur)); got != nil {
		t.Errorf("still there: %v", got)
	}
	if err := m.Delete(RefOf(cur)); !apierrors.IsNotFound(err) {
		t.Errorf("deleting what is gone: %v", err)
	}
	if d := cmp.Diff([]string{"add", "update", "update", "delete"}, events); d != "" {
		t.Error(d)
	}
}

func TestMemoryPatchChecksTheVersionAndMergesConditions(t *testing.T) {
	m, ok := newMemory(t), must[Object](t)
	pod := &corev1.Pod{ObjectMeta: meta("n", "p")}
	pod.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True"}}
	if err := m.Put(pod); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Patch(pod, MainPart, types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"77"}}`)); !apierrors.IsConflict(err) {
		t.Errorf("patch of an old version: %v", err)
	}
	if _, err := m.Patch(pod, StatusPart, types.StrategicMergePatchType, []byte(`{"metadata":{"uid":"other"}}`)); !apierrors.IsConflict(err) {
		t.Errorf("patch of another pod: %v", err)
	}
	got := ok(m.Patch(pod, StatusPart, types.StrategicMergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"gate","status":"False"}]}}`))).(*corev1.Pod)
	if len(got.Status.Conditions) != 2 {
		t.Errorf("conditions: %v", got.Status.Conditions)
	}
}

func TestMemoryWatchersMayWrite(t *testing.T) {
	m, ok := newMemory(t), must[Object](t)
	var seen []string
	m.Watch(func(_, new Object) {
		seen = append(seen, new.GetName())
		if new.GetName() == "a" {
			ok(m.Create(&corev1.Service{ObjectMeta: meta("n", "b")}))
		}
	})
	stop := m.Watch(func(_, new Object) { seen = append(seen, "also "+new.GetName()) })
	ok(m.Create(&corev1.Service{ObjectMeta: meta("n", "a")}))
	stop()
	ok(m.Create(&corev1.Service{ObjectMeta: meta("n", "c")}))
	if d := cmp.Diff([]string{"a", "also a", "b", "also b", "c"}, seen); d != "" {
		t.Error(d)
	}
}

func TestLoadYAML(t *testing.T) {
	l, err := LoadYAML([]byte(`# a comment
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
---
apiVersion: v1
kind: List
items:
- {apiVersion: elbv2.k8s.aws/v1beta1, kind: IngressClassParams, metadata: {name: p}, spec: {scheme: internal}}
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range l.Objects {
		got = append(got, RefOf(o).String())
	}
	if d := cmp.Diff([]string{"Service default/web", "IngressClassParams p", "Namespace shop"}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"apps/v1 Deployment web"}, l.Skipped); d != "" {
		t.Error(d)
	}
	svc := l.Objects[0].(*corev1.Service)
	if svc.Spec.Type != corev1.ServiceTypeClusterIP || svc.Spec.Ports[0].TargetPort.IntVal != 80 {
		t.Errorf("defaults: %+v", svc.Spec)
	}
	if _, err := LoadYAML([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {prots: []}\n")); err == nil {
		t.Error("an unknown field was accepted")
	}
}

func TestReduceIsIdempotentAndHidesHeartbeats(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{ObjectMeta: meta("n", "p")}
	pod.Annotations = map[string]string{"vpc.amazonaws.com/pod-eni": "[]", quicAnnotation: "c", "other": "x"}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i", Env: []corev1.EnvVar{{Name: "Q", Value: "1"}, {Name: "S", Value: "2"}}}}
	pod.Spec.InitContainers = []corev1.Container{
		{Name: "once", Ports: []corev1.ContainerPort{{Name: "x"}}}, {Name: "sidecar", RestartPolicy: &always, Ports: []corev1.ContainerPort{{Name: "x"}}},
	}
	once := Reduce(pod.DeepCopy(), "Q")
	if d := cmp.Diff(once, Reduce(once.DeepCopyObject().(Object), "Q")); d != "" {
		t.Error(d)
	}
	got := once.(*corev1.Pod)
	if len(got.Spec.InitContainers) != 1 || len(got.Spec.Containers[0].Env) != 1 || len(got.Annotations) != 2 {
		t.Errorf("%+v", got)
	}

	node := func(version, message string, ready corev1.ConditionStatus) Object {
		n := &corev1.Node{ObjectMeta: meta("", "x")}
		n.ResourceVersion = version
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Message: message}, {Type: corev1.NodeDiskPressure, Message: message}}
		return Reduce(n, "")
	}
	if !SameContent(node("1", "a", "True"), node("2", "b", "True")) {
		t.Error("a heartbeat is seen as a change")
	}
	if SameContent(node("1", "a", "True"), node("2", "a", "False")) {
		t.Error("a lost node is not seen as a change")
	}
}

func TestSameContentIgnoresPlanAnnotation(t *testing.T) {
	ing := func(version string, annotations map[string]string) Object {
		return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: version, Annotations: annotations}}
	}
	plain, shown := ing("1", nil), ing("2", map[string]string{IngressPlanAnnotation: "{}"})
	other := ing("3", map[string]string{IngressPlanAnnotation: "[]", "a": "b"})
	for name, c := range map[string]struct {
		a, b Object
		want bool
	}{
		"added":               {plain, shown, true},
		"removed":             {shown, plain, true},
		"changed":             {shown, ing("4", map[string]string{IngressPlanAnnotation: "x"}), true},
		"with something else": {shown, other, false},
		"and back":            {other, plain, false},
	} {
		before := c.b.DeepCopyObject()
		if got := SameContent(c.a, c.b); got != c.want {
			t.Errorf("%s: the same: %t", name, got)
		}
		if d := cmp.Diff(before, c.b.DeepCopyObject()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	service := func(v string) Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: v, Annotations: map[string]string{IngressPlanAnnotation: v}}}
	}
	if SameContent(service("1"), service("2")) {
		t.Error("on a Service it means nothing")
	}
}

func TestLastListMatchesList(t *testing.T) {
	m := newMemory(t)
	var last LastListCache[*corev1.Node]
	q := Query{Kind: KindNode}
	for step := range 200 {
		n := &corev1.Node{}
		n.Name = fmt.Sprint(step % 7)
		switch {
		case step%5 == 0:
			_ = m.Delete(Ref{Kind: KindNode, Name: n.Name}) // the node may not exist
		case step%3 > 0:
			if err := m.Put(n); err != nil {
				t.Fatal(err)
			}
		}
		v := NewView(m)
		if got, want := last.Read(v, q), List[*corev1.Node](NewView(m), q); !slices.Equal(got, want) || v.Err() != nil || len(v.Queries()) != 1 {
			t.Fatalf("step %d: got %v, want %v; %v", step, got, want, v.Err())
		}
	}
	var services LastListCache[*corev1.Service]
	for range 2 {
		if v := NewView(m); services.Read(v, q) != nil || v.Err() == nil {
			t.Fatal("no error for objects of another type")
		}
	}
}

// TestPutKeepsManagedFields checks that Put retains the edit times in managedFields of objects that were copied from another
// cluster.
func TestPutKeepsManagedFields(t *testing.T) {
	l, err := LoadYAML([]byte(`apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  managedFields:
  - {time: "2024-05-01T00:00:00Z", fieldsV1: {"f:spec": {"f:loadBalancerClass": {}}}}
  - {time: "2024-05-02T00:00:00Z", fieldsV1: {"f:metadata": {"f:finalizers": {}}}}
  - {time: "2024-05-03T00:00:00Z", fieldsV1: {"f:status": {"f:loadBalancer": {}}}}
spec: {ports: [{port: 80}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Put(l.Objects...); err != nil {
		t.Fatal(err)
	}
	o, err := m.Get(RefOf(l.Objects[0]))
	if err != nil {
		t.Fatal(err)
	}
	for day, got := range []time.Time{ClassEditedAt(o), FinalizersEditedAt(o), StatusEditedAt(o)} {
		if want := time.Date(2024, 5, day+1, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
