package harness

import (
	"crypto/elliptic"
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

// TestHeldPortServesNoDefaultBackendWithoutAuthentication checks that an Ingress that wants HTTPS and authentication on a port
// that is held as HTTP is not served there with its default backend.
func TestHeldPortServesNoDefaultBackendWithoutAuthentication(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, "\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: first}\nspec: {controller: ingress.k8s.aws/alb}\n",
			readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:5]...))
		a := strings.NewReplacer("target-type: ip", `target-type: ip, alb.ingress.kubernetes.io/group.name: g, alb.ingress.kubernetes.io/listen-ports: '[{"HTTP":8080}]'`).Replace(
			ingressWithClass("a", "  ingressClassName: first\n"))
		r.Apply(a)
		r.settleOrFail(30 * time.Minute)
		r.deleteObject(cluster.KindIngressClass, "", "first")
		r.settleOrFail(30 * time.Minute)
		r.Apply(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: b
  namespace: shop
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/group.name: g
    alb.ingress.kubernetes.io/listen-ports: '[{"HTTPS":8080}]'
    alb.ingress.kubernetes.io/certificate-arn: arn:aws:acm:us-west-2:123456789012:certificate/none
    alb.ingress.kubernetes.io/auth-type: cognito
    alb.ingress.kubernetes.io/auth-idp-cognito: '{"userPoolARN":"arn:aws:cognito-idp:us-west-2:1:userpool/x","userPoolClientID":"ID","userPoolDomain":"NAME"}'
spec:
  ingressClassName: alb
  defaultBackend: {service: {name: api, port: {number: 80}}}
`)
		r.advanceTime(30 * time.Minute)
		if got := answerTo(r, 8080, "shop.example.com", "/"); !strings.HasPrefix(got, "k8s-shop-web-") {
			t.Errorf("requests to the held Ingress get %s", got)
		}
		for _, l := range linesWith(stateOfKinds(r, "listener", "rule"), ",8080,", "tg:k8s-shop-api") {
			if !strings.Contains(l, "authenticate-cognito") {
				t.Errorf("served over HTTP without authentication: %s", l[:min(len(l), 500)])
			}
		}
	})
}

// TestInvalidSubnetsOfAClassKeepTheSubnets checks that a load balancer stays in its subnets if the subnets of the class of one
// Ingress become invalid and another Ingress of the IngressGroup sets other subnets.
func TestInvalidSubnetsOfAClassKeepTheSubnets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...))
		params := func(more string) string {
			return fmt.Sprintf("\napiVersion: elbv2.k8s.aws/v1beta1\nkind: IngressClassParams\nmetadata: {name: first}\nspec: {subnets: {ids: [%s, %s]%s}}\n", r.Seeded.Private[0], r.Seeded.Private[1], more)
		}
		r.Apply(params(""), "\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: first}\nspec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: first}}\n")
		const group = "target-type: ip, alb.ingress.kubernetes.io/group.name: g"
		r.Apply(strings.Replace(ingressWithClass("a", "  ingressClassName: first\n"), "target-type: ip", group, 1))
		r.settleOrFail(30 * time.Minute)
		b := strings.Replace(ingressWithClass("b", "  ingressClassName: alb\n"), "target-type: ip", group+fmt.Sprintf(`, alb.ingress.kubernetes.io/subnets: "%s,%s"`, r.Seeded.Private[1], r.Seeded.Private[2]), 1)
		r.Apply(strings.Replace(b, "shop.example.com", "b.example.com", 1))
		r.settleOrFail(30 * time.Minute)
		before := linesWith(r.State(), "load-balancer ")
		r.Apply(params(", tags: {a: [b]}"))
		r.settleOrFail(30 * time.Minute)
		if d := cmp.Diff(before, linesWith(r.State(), "load-balancer ")); d != "" {
			t.Error(d)
		}
	})
}

// TestOldestUserOfASecretClaimsItsHosts checks that the certificate of a Secret is imported if the oldest Ingress that uses it
// claimed the host first, whatever the group order of a younger Ingress with the same Secret is.
func TestOldestUserOfASecretClaimsItsHosts(t *testing.T) {
	t.Parallel()
	for _, order := range []int{-5, 50} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := newIssuer(t)
				r := shopWith(t, importOptions(Options{StacksOnly: true}))
				ingress := func(doc, namespace, name string, year, order int) string {
					return strings.NewReplacer("name: web\n", fmt.Sprintf("name: %s\n  creationTimestamp: %d-01-01T00:00:00Z\n", name, year), "namespace: shop", "namespace: "+namespace,
						"target-type: ip", fmt.Sprintf(`target-type: ip, alb.ingress.kubernetes.io/group.name: g, alb.ingress.kubernetes.io/group.order: "%d"`, order)).Replace(doc)
				}
				r.Apply(shop, strings.ReplaceAll(shop, "namespace: shop", "namespace: evil"), strings.ReplaceAll(shop, "{name: shop}", "{name: evil}"))
				r.Apply(i.issue("shop", elliptic.P256(), "shop.example.com"))
				r.Apply(ingress(withTLS("", "shop"), "shop", "old", 1990, 0), ingress(webIngress("", "/x=web"), "evil", "x", 1991, 10), ingress(withTLS("", "shop"), "shop", "new", 1992, order))
				r.Settle(time.Hour)
				if n := countImports(r, "shop"); n != 1 {
					t.Errorf("%d imports; %v", n, warningsByObject(r))
				}
			})
		})
	}
}
