package queue

import (
	"fmt"
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// ingressGroupOf returns the IngressGroup that a label of the IngressClass of an Ingress names. It returns false if there is
// none.
func ingressGroupOf(v *cluster.View, ing *networkingv1.Ingress) (string, bool) {
	if ing.Spec.IngressClassName == nil {
		return "", false
	}
	class, ok := cluster.Get[*networkingv1.IngressClass](v, cluster.KindIngressClass, "", *ing.Spec.IngressClassName)
	if !ok {
		return "", false
	}
	return class.Labels["group"], class.Labels["group"] != ""
}

// ingressGroupChanges determines the items of an Ingress. An item is an IngressGroup, which a label of the IngressClass of
// the Ingress names.
type ingressGroupChanges struct{ noItemChanges }

// Items implements Changes.
func (ingressGroupChanges) Items(v *cluster.View, obj cluster.Object) []string {
	if ing, ok := obj.(*networkingv1.Ingress); ok {
		if g, ok := ingressGroupOf(v, ing); ok {
			return []string{g}
		}
	}
	return nil
}

// ingressGroupText returns the result of a run of an IngressGroup: the names of its Ingresses, and the names and versions of
// their Services.
func ingressGroupText(v *cluster.View, g string) string {
	out := ""
	for _, ing := range cluster.List[*networkingv1.Ingress](v, cluster.Query{Kind: cluster.KindIngress}) {
		if of, ok := ingressGroupOf(v, ing); !ok || of != g {
			continue
		}
		out += ing.Name + ">"
		if svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, ing.Namespace, ing.Annotations["service"]); ok {
			out += svc.Name + "@" + svc.ResourceVersion
		}
		out += " "
	}
	return out
}

// TestTriggersFindEveryAffectedItem checks with random changes that AffectedItems returns every item whose result changes.
func TestTriggersFindEveryAffectedItem(t *testing.T) {
	for seed := range int64(150) {
		rnd := rand.New(rand.NewSource(seed))
		m, err := cluster.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		view := func() *cluster.View { return cluster.NewView(m) }
		tr := NewTriggers(storedObjects{m}, []cluster.Kind{cluster.KindIngress}, ingressGroupChanges{})
		made := map[string]string{}
		run := func(g string) {
			v := view()
			tr.Begin(g)
			made[g] = ingressGroupText(v, g)
			tr.RecordReads(g, v)
			if tr.End(g) {
				t.Errorf("seed %d: group %s is to run again although nothing happened", seed, g)
			}
			if made[g] == "" && rnd.Intn(2) == 0 {
				tr.Forget(g)
			}
		}
		m.Watch(func(old, new cluster.Object) {
			concerned, err := tr.AffectedItems(old, new)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range []string{"red", "blue"} {
				if now := ingressGroupText(view(), g); now != made[g] && !slices.Contains(concerned, g) {
					t.Fatalf("seed %d: %s went from %q to %q unnoticed", seed, g, made[g], now)
				}
			}
			for _, g := range concerned {
				run(g)
			}
		})
		for range 50 {
			changeRandomly(t, rnd, m)
		}
	}
}

func changeRandomly(t *testing.T, rnd *rand.Rand, m *cluster.Memory) {
	t.Helper()
	pick := func(s ...string) string { return s[rnd.Intn(len(s))] }
	var obj cluster.Object
	switch rnd.Intn(3) {
	case 0:
		obj = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: pick("s1", "s2"), Labels: map[string]string{"rev": pick("1", "2")}}}
	case 1:
		obj = &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: pick("c1", "c2"), Labels: map[string]string{"group": pick("red", "blue", "")}}}
	default:
		class := pick("c1", "c2", "c3")
		obj = &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: pick("i1", "i2"),
			Annotations: map[string]string{"service": pick("s1", "s2")}}, Spec: networkingv1.IngressSpec{IngressClassName: &class}}
	}
	have, err := m.Get(cluster.RefOf(obj))
	switch {
	case err == nil && have == nil:
		_, err = m.Create(obj)
	case rnd.Intn(3) == 0:
		err = m.Delete(cluster.RefOf(obj))
	default:
		_, err = m.Update(obj, cluster.MainPart)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAChangeWhileReadingIsNotLost(t *testing.T) {
	m, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	view := func() *cluster.View { return cluster.NewView(m) }
	tr := NewTriggers(storedObjects{m}, []cluster.Kind{cluster.KindIngress}, ingressGroupChanges{})
	var concerned []string
	m.Watch(func(old, new cluster.Object) {
		keys, err := tr.AffectedItems(old, new)
		if err != nil {
			t.Fatal(err)
		}
		concerned = append(concerned, keys...)
	})
	service := func(name string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
	}
	for n, asked := range []string{"a", "b"} {
		tr.Begin("g")
		v := view()
		cluster.Get[*corev1.Service](v, cluster.KindService, "n", asked)
		if _, err := m.Create(service(fmt.Sprint("a", n))); err != nil { // a Service that was not read
			t.Fatal(err)
		}
		if asked == "a" {
			if _, err := m.Create(service("a")); err != nil {
				t.Fatal(err)
			}
		}
		tr.RecordReads("g", v)
		if again := tr.End("g"); again != (asked == "a") {
			t.Errorf("asked for %s: run again is %v", asked, again)
		}
	}
	if len(concerned) > 0 {
		t.Errorf("named although it had not said what it read: %v", concerned)
	}
}

// newTestTriggers returns Triggers for Ingresses in IngressGroups, and the objects that they read.
func newTestTriggers(t *testing.T) (*cluster.Memory, *Triggers[string]) {
	t.Helper()
	m, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, NewTriggers(storedObjects{m}, []cluster.Kind{cluster.KindIngress}, ingressGroupChanges{})
}

// TestAChangeBeforeALaterReadIsRecordedIsNotLost checks that a run is repeated if an object changes after the run has
// recorded its first reads and has read the object, and before the run records that read.
func TestAChangeBeforeALaterReadIsRecordedIsNotLost(t *testing.T) {
	m, tr := newTestTriggers(t)
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
	if _, err := m.Create(svc); err != nil {
		t.Fatal(err)
	}
	v := cluster.NewView(m)
	tr.Begin("g")
	cluster.Get[*networkingv1.IngressClass](v, cluster.KindIngressClass, "", "c")
	tr.RecordReads("g", v)
	cluster.Get[*corev1.Service](v, cluster.KindService, "n", "s")
	if affected, err := tr.AffectedItems(svc, nil); err != nil || len(affected) > 0 {
		t.Fatalf("affected %v, error %v", affected, err)
	}
	tr.RecordReads("g", v)
	if !tr.End("g") {
		t.Error("the run is not repeated")
	}
}

// TestChangesDuringARunNeedLittleMemory checks that a run, which may last minutes, does not retain the objects that change
// during it.
func TestChangesDuringARunNeedLittleMemory(t *testing.T) {
	m, tr := newTestTriggers(t)
	v := cluster.NewView(m)
	tr.Begin("g")
	cluster.Get[*networkingv1.IngressClass](v, cluster.KindIngressClass, "", "c")
	tr.RecordReads("g", v)
	version := func() *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s", Annotations: map[string]string{"x": strings.Repeat("y", 100_000)}}}
	}
	old := version()
	for range 1000 {
		changed := version()
		if _, err := tr.AffectedItems(old, changed); err != nil {
			t.Fatal(err)
		}
		old = changed
	}
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	if s.HeapAlloc > 50<<20 {
		t.Errorf("%d MiB are in use", s.HeapAlloc>>20)
	}
	if tr.End("g") {
		t.Error("the run is repeated for an object that it did not read")
	}
}

// TestRunIsRepeatedAfterTooManyChanges checks that only a limited number of the changes during a run is collected, and that the
// run is repeated if there are more, because it may have read one of the objects.
func TestRunIsRepeatedAfterTooManyChanges(t *testing.T) {
	_, tr := newTestTriggers(t)
	tr.Begin("g")
	for i := range maxCollected {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("s", i)}}
		if _, err := tr.AffectedItems(nil, s); err != nil {
			t.Fatal(err)
		}
		if r := tr.activeRuns["g"]; len(r.changes) > maxCollected || r.size <= maxCollected == r.needsRepeat {
			t.Fatalf("%d changes of size %d are collected; repeat: %v", len(r.changes), r.size, r.needsRepeat)
		}
	}
	if !tr.End("g") {
		t.Error("the run is not repeated")
	}
}
