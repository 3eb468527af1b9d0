package controller

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

type desiredState struct {
	stack    model.Stack
	findings finding.List
}

// TestChangedIngressStacksAreEnqueued checks with random Ingresses that, after any change in the cluster, every stack whose
// desired state or findings change is enqueued. For comparison, the test translates all known stacks again after each
// change.
func TestChangedIngressStacksAreEnqueued(t *testing.T) {
	seeds := int64(60)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewSource(seed))
		m, err := cluster.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg := config.Default()
		cfg.ClusterName = "c"
		front := Frontends(cfg)[model.Ingress]
		view := func() *cluster.View { return cluster.NewView(m) }
		tr := StackTriggers(kube.New(m, kube.MemoryAPI{Store: m}, clock.RealClock{}), engine.Frontends{model.Ingress: front}, nil)
		known := map[model.StackID]desiredState{}
		translate := func(id model.StackID) (desiredState, *cluster.View) {
			v := view()
			s, f := front.Translate(v, id, nil)
			return desiredState{s, f.Sorted()}, v
		}
		m.Watch(func(old, new cluster.Object) {
			concerned, err := tr.AffectedItems(old, new)
			if err != nil {
				t.Fatal(err)
			}
			for id, was := range known {
				if now, _ := translate(id); !reflect.DeepEqual(now, was) && !slices.Contains(concerned, id) {
					t.Fatalf("seed %d: %v changed, and %s became another unnoticed:\n%+v\n%+v", seed, refTexts(old, new), id, was, now)
				}
			}
			for _, id := range concerned {
				tr.Begin(id)
				now, v := translate(id)
				known[id] = now
				tr.RecordReads(id, v)
				tr.End(id)
			}
			// A stack that was never enqueued is not in known.
			for _, o := range m.All(cluster.KindIngress) {
				for _, id := range front.Stacks(view(), o) {
					if _, ok := known[id]; !ok {
						t.Fatalf("seed %d: %v changed, and %s was not noticed", seed, refTexts(old, new), id)
					}
				}
			}
		})
		for range 60 {
			if err := changeRandomly(rnd, m); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

func refTexts(objs ...cluster.Object) []string {
	var out []string
	for _, o := range objs {
		if o != nil {
			out = append(out, cluster.RefOf(o).String())
		}
	}
	return slices.Compact(out)
}

// changeRandomly creates, changes or deletes one object at random.
func changeRandomly(rnd *rand.Rand, m *cluster.Memory) error {
	pick := func(s ...string) string { return s[rnd.Intn(len(s))] }
	ns := pick("n1", "n2")
	var obj cluster.Object
	switch rnd.Intn(8) {
	case 0:
		obj = randomService(pick, ns)
	case 1:
		obj = &networkingv1.IngressClass{
			ObjectMeta: metav1.ObjectMeta{Name: pick("c1", "c2"), Annotations: map[string]string{"ingressclass.kubernetes.io/is-default-class": pick("true", "false")}},
			Spec: networkingv1.IngressClassSpec{Controller: pick("ingress.k8s.aws/alb", "ingress.k8s.aws/alb", "other"),
				Parameters: &networkingv1.IngressClassParametersReference{APIGroup: ptr("elbv2.k8s.aws"), Kind: "IngressClassParams", Name: pick("p1", "p2")}},
		}
	case 2:
		p := &elbv2.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: pick("p1", "p2")}}
		if rnd.Intn(2) == 0 {
			p.Spec.Group = &elbv2.IngressGroup{Name: pick("red", "blue")}
		}
		if rnd.Intn(2) == 0 {
			p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": pick("a", "b")}}
		}
		p.Spec.Scheme = ptr(elbv2.LoadBalancerScheme(pick("internal", "internet-facing")))
		obj = p
	case 3:
		obj = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns, Labels: map[string]string{"team": pick("a", "b")}}}
	default:
		obj = randomIngress(rnd, pick, ns)
	}
	have, err := m.Get(cluster.RefOf(obj))
	switch {
	case err != nil:
		return err
	case have == nil:
		_, err = m.Create(obj)
	case rnd.Intn(4) == 0:
		err = m.Delete(cluster.RefOf(obj))
	default:
		_, err = m.Update(obj, cluster.MainPart)
	}
	return err
}

func randomService(pick func(...string) string, ns string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pick("s1", "s2"),
			Annotations: map[string]string{"alb.ingress.kubernetes.io/healthcheck-path": pick("/a", "/b")}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{
			Name: "http", Port: 80, NodePort: 30080, TargetPort: intstr.FromInt32(8080)}}},
	}
}

func randomIngress(rnd *rand.Rand, pick func(...string) string, ns string) *networkingv1.Ingress {
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pick("i1", "i2", "i3"), Annotations: map[string]string{}}}
	if rnd.Intn(3) > 0 {
		ing.Spec.IngressClassName = ptr(pick("c1", "c2", "c3"))
	}
	if rnd.Intn(4) == 0 {
		ing.Annotations["kubernetes.io/ingress.class"] = pick("alb", "nginx")
	}
	if rnd.Intn(2) == 0 {
		ing.Annotations["alb.ingress.kubernetes.io/group.name"] = pick("red", "blue", "Not Valid")
	}
	if rnd.Intn(2) == 0 {
		ing.Finalizers = []string{pick("ingress.k8s.aws/resources", "group.ingress.k8s.aws/red")}
	}
	ing.Annotations["alb.ingress.kubernetes.io/scheme"] = pick("internal", "internet-facing", "nonsense")
	typ := networkingv1.PathTypePrefix
	ing.Spec.Rules = []networkingv1.IngressRule{{Host: pick("a.example.com", "b.example.com"), IngressRuleValue: networkingv1.IngressRuleValue{
		HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: fmt.Sprint("/", rnd.Intn(3)), PathType: &typ,
			Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
				Name: pick("s1", "s2", "s3"), Port: networkingv1.ServiceBackendPort{Number: 80}}}}}},
	}}}
	return ing
}

func ptr[T any](v T) *T { return &v }
