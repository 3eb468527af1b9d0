package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// classOfAnother is IngressClass "alb" of another controller.
const classOfAnother = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: example.com/other}
`

// TestOversizedServiceKeepsItsClients checks that a Service that shares a load balancer, and then exceeds a limit, still admits
// only the clients of its source ranges.
func TestOversizedServiceKeepsItsClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		const shares = ", fulcrum.dev/load-balancer-group: public"
		private := `, service.beta.kubernetes.io/load-balancer-source-ranges: 10.1.0.0/16`
		bulk := strings.Replace(nlbService("bulk", ipTargets+shares, "{port: 25, targetPort: 8080}"), "uid: 22222222-0000-4000-8000-000000000001", `uid: 33333333-0000-4000-8000-000000000001`, 1)
		r.Apply(readyPods("mail", podAddresses[:3]...), nlbService("mail", ipTargets+shares+private, "{port: 80, targetPort: 8080}"), bulk)
		r.advanceTime(8 * time.Minute)
		before := linesWith(r.State(), "security-group")
		if len(linesWith(before, "10.1.0.0/16")) == 0 {
			t.Fatal(before)
		}
		var attributes []string
		for i := range 101 {
			attributes = append(attributes, fmt.Sprintf("key%d=1", i))
		}
		r.Apply(nlbService("mail", ipTargets+shares+private+`, service.beta.kubernetes.io/aws-load-balancer-target-group-attributes: "`+strings.Join(attributes, ",")+`"`, "{port: 80, targetPort: 8080}"))
		r.advanceTime(8 * time.Minute)
		if d := cmp.Diff(before, linesWith(r.State(), "security-group")); d != "" {
			t.Error(d)
		}
		if w := strings.Join(warningsByObject(r)["mail"], "\n"); !strings.Contains(w, "ServiceTooLarge") {
			t.Errorf("warnings %s", w)
		}
	})
}

// TestResponsesStayIfTheClassSelectsAnotherController checks that the fixed responses of several Ingresses stay if their class is
// created again for another controller.
func TestResponsesStayIfTheClassSelectsAnotherController(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"", ", alb.ingress.kubernetes.io/group.name: g"} {
		t.Run(group, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...))
				for i := range 3 {
					doc := ingressWithClass("web"+string(rune('a'+i)), ingressClassLine)
					doc = strings.Replace(doc, "target-type: ip", "target-type: ip"+group+`, alb.ingress.kubernetes.io/actions.down: '{"type":"fixed-response","fixedResponseConfig":{"statusCode":"410"}}'`, 1)
					doc = strings.Replace(doc, "shop.example.com", fmt.Sprintf("shop%d.example.com", i), 1)
					doc += "      - {path: /old, pathType: Prefix, backend: {service: {name: down, port: {name: use-annotation}}}}\n"
					r.Apply(doc)
				}
				if group != "" {
					doc := ingressWithClass("other", "")
					doc = strings.Replace(doc, "target-type: ip", "target-type: ip, kubernetes.io/ingress.class: alb"+group, 1)
					r.Apply(strings.Replace(doc, "shop.example.com", "other.example.com", 1))
				}
				r.settleOrFail(30 * time.Minute)
				responses := len(linesWith(r.State(), "rule ", `"410"`))
				if responses != 3 {
					t.Fatal(r.State())
				}
				time.Sleep(time.Second)
				r.deleteObject(cluster.KindIngressClass, "", "alb")
				r.Apply(classOfAnother)
				r.settleOrFail(30 * time.Minute)
				if n := len(linesWith(r.State(), "rule ", `"410"`)); n != responses {
					t.Errorf("%d of %d fixed responses are left", n, responses)
				}
			})
		})
	}
}

// TestClientsOfHeldMembersDoNotWiden checks that a load balancer admits only the clients that a held member admits, for each
// reason to hold the member, although another member admits all.
func TestClientsOfHeldMembersDoNotWiden(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(r *Harness){
		"class gone": func(r *Harness) { r.deleteObject(cluster.KindIngressClass, "", "alb") },
		"mass removal": func(r *Harness) {
			r.deleteObject(cluster.KindIngressClass, "", "alb")
			r.Apply(classOfAnother)
		},
		"group name": func(r *Harness) {
			for _, n := range []string{"weba", "webb", "webc"} {
				r.editIngress(n, func(i *networkingv1.Ingress) { i.Annotations["alb.ingress.kubernetes.io/group.name"] = "G_" })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				const group = ", alb.ingress.kubernetes.io/group.name: g"
				r.Apply(shop, readyPods("web", podAddresses[:3]...))
				for i := range 3 {
					doc := ingressWithClass("web"+string(rune('a'+i)), ingressClassLine)
					doc = strings.Replace(doc, "target-type: ip", "target-type: ip"+group+`, alb.ingress.kubernetes.io/inbound-cidrs: 10.1.0.0/16, alb.ingress.kubernetes.io/scheme: internet-facing`, 1)
					r.Apply(strings.Replace(doc, "shop.example.com", fmt.Sprintf("shop%d.example.com", i), 1))
				}
				doc := strings.Replace(ingressWithClass("other", ""), "target-type: ip", "target-type: ip, kubernetes.io/ingress.class: alb"+group, 1)
				r.Apply(strings.Replace(doc, "shop.example.com", "other.example.com", 1))
				r.Settle(30 * time.Minute)
				before := append(linesWith(r.State(), "security-group [\"k8s-g-"), linesWith(r.State(), "load-balancer [")...)
				if len(before) != 2 || !strings.Contains(before[0], "10.1.0.0/16") {
					t.Fatal(before)
				}
				time.Sleep(time.Second)
				lose(r)
				r.Settle(60 * time.Minute)
				if d := cmp.Diff(before, append(linesWith(r.State(), "security-group [\"k8s-g-"), linesWith(r.State(), "load-balancer [")...)); d != "" {
					t.Error(d)
				}
			})
		})
	}
}
