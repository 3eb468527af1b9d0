package ingress

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

func TestClassify(t *testing.T) {
	class := func(name, controller string, isDefault bool) *networkingv1.IngressClass {
		c := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: controller}}
		if isDefault {
			c.Annotations = map[string]string{cluster.DefaultClassAnnotation: "true"}
		}
		return c
	}
	yes := class("x", controllerName, true)
	yes.Annotations[cluster.DefaultClassAnnotation] = "yes"
	const none = "-"
	for name, c := range map[string]struct {
		flag, annotation, class string
		classes                 []*networkingv1.IngressClass
		managed, fault          bool
	}{
		"the annotation of our class":                {flag: "alb", annotation: "alb", class: none, managed: true},
		"the annotation wins over the class":         {flag: "alb", annotation: "nginx", class: "alb", classes: []*networkingv1.IngressClass{class("alb", controllerName, false)}},
		"our class":                                  {flag: "alb", annotation: none, class: "x", classes: []*networkingv1.IngressClass{class("x", controllerName, false)}, managed: true},
		"a class of another controller":              {flag: "alb", annotation: none, class: "x", classes: []*networkingv1.IngressClass{class("x", "other", false)}},
		"nothing, with a class to serve":             {flag: "alb", annotation: none, class: none},
		"nothing, serving all":                       {annotation: none, class: none, managed: true},
		"nothing, our default class":                 {flag: "alb", annotation: none, class: none, classes: []*networkingv1.IngressClass{class("x", controllerName, true)}, managed: true},
		"nothing, serving all, our default class":    {annotation: none, class: none, classes: []*networkingv1.IngressClass{class("x", controllerName, true)}, managed: true},
		"nothing, the default class of others":       {annotation: none, class: none, classes: []*networkingv1.IngressClass{class("x", "other", true)}},
		"an empty annotation, serving all":           {annotation: "", class: none, managed: true},
		"alb, serving all":                           {annotation: "alb", class: none, managed: true},
		"alb, serving another class":                 {flag: "foo", annotation: "alb", class: none},
		"a class that does not exist":                {flag: "alb", annotation: none, class: "x", fault: true},
		"two default classes, one of them ours":      {flag: "alb", annotation: none, class: none, classes: []*networkingv1.IngressClass{class("x", controllerName, true), class("y", "other", true)}, fault: true},
		"two default classes that are not ours":      {flag: "alb", annotation: none, class: none, classes: []*networkingv1.IngressClass{class("x", "other", true), class("y", "other", true)}},
		"a class that is not the default":            {flag: "alb", annotation: none, class: none, classes: []*networkingv1.IngressClass{class("x", controllerName, false)}},
		"a default class that says yes and not true": {flag: "alb", annotation: none, class: none, classes: []*networkingv1.IngressClass{yes}},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := cluster.NewMemory(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range c.classes {
				if err := src.Put(o); err != nil {
					t.Fatal(err)
				}
			}
			ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "i"}}
			if c.annotation != none {
				ing.Annotations = map[string]string{classAnnotation: c.annotation}
			}
			if c.class != none {
				ing.Spec.IngressClassName = &c.class
			}
			got := New(Options{Class: c.flag}).classify(cluster.NewView(src), ing)
			if got.managed != c.managed || (got.fault != nil) != c.fault {
				t.Errorf("managed %t, fault %v", got.managed, got.fault)
			}
		})
	}
}

// TestMissingClassSubscribesOnlyToThatClass checks that the classification of an Ingress whose class does not exist
// subscribes only to this class. Otherwise an event for any class would run the stacks of all such Ingresses.
func TestMissingClassSubscribesOnlyToThatClass(t *testing.T) {
	src, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	name := "albb"
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "i"}, Spec: networkingv1.IngressSpec{IngressClassName: &name}}
	v := cluster.NewView(src)
	New(Options{Class: "alb"}).classify(v, ing)
	if q := v.Queries(); len(q) > 0 {
		t.Errorf("subscribed to %v", q)
	}
	if refs := v.Refs(); len(refs) != 1 || refs[0].Name != name {
		t.Errorf("subscribed to %v", refs)
	}
}
