package ingress_test

import (
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// FuzzOneMemberNeverStopsTheOther checks, for any settings of one member, that the translation does not panic and that the
// other member is served.
func FuzzOneMemberNeverStopsTheOther(f *testing.F) {
	for i := range settings.IngressAnnotations.Rows() {
		f.Add(i, "web", "x", "/", i%4)
		f.Add(i, "HTTP-80", "", "/a*", i%4)
		f.Add(i, "web.80", "1", "", i%4)
	}
	rows := settings.IngressAnnotations.Rows()
	types := []networkingv1.PathType{networkingv1.PathTypeExact, networkingv1.PathTypePrefix, networkingv1.PathTypeImplementationSpecific, "Odd"}
	f.Fuzz(func(t *testing.T, row int, name, value, path string, kind int) {
		if row < 0 || row >= len(rows) || kind < 0 || kind >= len(types) || path != "" && path[0] != '/' {
			t.Skip()
		}
		head, _, open := strings.Cut(rows[row].Key, "<")
		if open {
			head += name
		}
		member := func(name string, annotations map[string]string, path string, kind networkingv1.PathType) *networkingv1.Ingress {
			annotations["kubernetes.io/ingress.class"] = "alb"
			backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Name: "use-annotation"}}}
			return &networkingv1.Ingress{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: annotations},
				Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: name + ".example", IngressRuleValue: networkingv1.IngressRuleValue{
					HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: path, PathType: &kind, Backend: backend}}},
				}}}},
			}
		}
		group, action := settings.Prefix+"group.name", settings.Prefix+"actions.web"
		good := member("good", map[string]string{group: "g", action: `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"200"}}`}, "/", networkingv1.PathTypePrefix)
		odd := map[string]string{group: "g", settings.Prefix + head: value}
		src, err := cluster.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := src.Put(good, member("odd", odd, path, types[kind])); err != nil {
			t.Fatal(err)
		}
		v := cluster.NewView(src)
		stack, found := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"}).Translate(v, model.StackID{Kind: model.Ingress, Name: "g"}, nil)
		served := false
		for _, l := range stack.LoadBalancer.Listeners {
			for _, r := range l.Rules {
				served = served || r.Member.Name == "good" && r.Held == 0
			}
			if len(l.Default) == 1 { // a listener that redirects all requests has no rules
				_, redirects := l.Default[0].(model.Redirect)
				served = served || redirects
			}
		}
		if !served {
			t.Errorf("%v\n%s", found, goldentest.Dump(stack))
		}
		for _, m := range stack.Members {
			if m.Ref.Name == "good" && m.Blocked {
				t.Error("the other member is blocked")
			}
		}
		for _, x := range found {
			if x.Object.Name == "good" {
				t.Errorf("the other member is blamed: %s", x)
			}
		}
	})
}

func BenchmarkTranslateIngressGroup(b *testing.B) {
	src, err := cluster.NewMemory(nil)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		kind := networkingv1.PathTypePrefix
		ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("m%d", i), Annotations: map[string]string{
			"kubernetes.io/ingress.class": "alb", settings.Prefix + "group.name": "g", settings.Prefix + "listen-ports": `[{"HTTP":80},{"HTTPS":443}]`,
			settings.Prefix + "certificate-arn": "c", settings.Prefix + "target-type": "ip", settings.Prefix + "tags": "a=b",
		}}, Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
			Paths: []networkingv1.HTTPIngressPath{{Path: fmt.Sprintf("/%d", i), PathType: &kind, Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}}},
		}}}}}}
		if err := src.Put(ing); err != nil {
			b.Fatal(err)
		}
	}
	f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"})
	for b.Loop() {
		f.Translate(cluster.NewView(src), model.StackID{Kind: model.Ingress, Name: "g"}, nil)
	}
}
