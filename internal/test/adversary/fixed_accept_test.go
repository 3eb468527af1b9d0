package adversary

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// hostileSettings are load-balancer-wide settings with values that no victim uses.
var hostileSettings = [][]string{
	{"scheme", "internet-facing"},
	{"ip-address-type", "dualstack"},
	{"subnets", "$PUBLIC"},
	{"security-groups", "$EXTRASG"},
	{"inbound-cidrs", "0.0.0.0/0"},
	{"security-group-prefix-lists", "$PREFIXLIST"},
	{"wafv2-acl-name", "none"},
	{"wafv2-acl-arn", "none"},
	{"shield-advanced-protection", "false"},
	{"ssl-policy", "ELBSecurityPolicy-2016-08"},
	{"mutual-authentication", `[{"port":443,"mode":"off"}]`},
	{"ssl-redirect", "444"},
	{"load-balancer-attributes", "idle_timeout.timeout_seconds=1,access_logs.s3.enabled=true,access_logs.s3.bucket=evil"},
	{"load-balancer-attributes", "deletion_protection.enabled=true"},
	{"listener-attributes.HTTPS-443", "routing.http.response.server.enabled=true"},
	{"enable-frontend-nlb", "true", "frontend-nlb-scheme", "internet-facing"},
	{"load-balancer-name", "evil"},
	{"tags", "Owner=evil,ingress.k8s.aws/stack=pay/solo,elbv2.k8s.aws/cluster=evil"},
	{"manage-backend-security-group-rules", "false"},
	{"certificate-arn", "$CERTAPP"},
	{"listen-ports", `[{"HTTPS":80},{"HTTP":443}]`},
}

func TestAttacksOnClassesAndGroups(t *testing.T) {
	t.Parallel()
	shut, open := setup{access: shutOut}, setup{access: openClass}

	// A finalizer only means that resources may have to be deleted. It grants no membership.
	for class, s := range map[string]setup{"": shut, "pinned": shut, "nginx": open} {
		runCase(t, "01-finalizer-is-not-membership/class "+class, s, func(w *testCluster) {
			w.attackWith(attackerBackends)
			for _, group := range []string{"vault", "open"} {
				for _, pairs := range hostileSettings {
					a := attackerIngress{class: class, finalizers: finalizerOf(group), host: "evil.example.com", pairs: appendPairs(pairs, "target-type", "ip", "group.order", "-1000")}
					w.attackWith(a.docs())
					w.advanceAndCompare(shortRunTime)
				}
				w.attack(move{deletedRef: cluster.Ref{Kind: cluster.KindIngress, Namespace: attackerNamespace, Name: "x"}})
				w.advanceAndCompare(shortRunTime)
			}
			w.advanceAndCompare(longRunTime)
		})
	}

	// A new member cannot change a setting that another member has set.
	for _, order := range []string{"-1000", "1000"} {
		runCase(t, "04-new-member-changes-no-settings/order "+order, open, func(w *testCluster) {
			w.attackWith(attackerBackends)
			for _, group := range []string{"open", "vault"} {
				for _, pairs := range hostileSettings {
					a := attackerIngress{class: "alb", host: "evil.example.com", pairs: appendPairs(pairs, "target-type", "ip", "group.order", order, "group.name", group)}
					w.attackWith(a.docs())
					w.advanceAndCompare(shortRunTime)
					if w.hasFailed() {
						w.rec.Errorf("with %v in IngressGroup %s", pairs, group)
						return
					}
				}
			}
			w.expectTrue(w.log.hasWarning("Ingress evil/x"), "the new member gets no warning")
			for _, name := range []string{"pay/shop", "blog/blog", "pay/vault"} {
				w.expectTrue(!w.log.hasWarning("Ingress "+name), "the existing member %s gets a warning: %v", name, w.log.warningsAbout("Ingress "+name))
			}
		})
	}

	// A redirect to a port without a listener has no effect, even if its member is held.
	for name, order := range map[string]string{"held": "first", "last": "1000", "first": "-1000"} {
		runCase(t, "05-redirect-to-no-listener/"+name, open, func(w *testCluster) {
			for _, h := range []victimIngress{
				{"pay", "plain", "alb", []string{"group.name", "plain", "target-type", "ip", "scheme", "internal"}, []route{{"plain.example.com", "/", "web"}}},
				{"blog", "plain", "alb", []string{"group.name", "plain", "target-type", "ip", "scheme", "internal"}, []route{{"plainer.example.com", "/", "blog"}}},
			} {
				w.apply(h.docs())
			}
			w.advanceAndCompare(shortRunTime)
			arn := w.arnOf("pay/plain")
			w.attackWith(attackerBackends, attackerIngress{class: "alb", host: "evil.example.com", pairs: []string{"group.name", "plain", "group.order", order, "ssl-redirect", "444", "target-type", "ip"}}.docs())
			for range 10 {
				w.advanceAndCompare(shortRunTime)
				for host, want := range map[string]string{"plain.example.com": "forward to pay/web", "plainer.example.com": "forward to blog/blog"} {
					got := w.answerTo(arn, 80, host, "/")
					w.expectTrue(got.text == want, "%s is answered with %q", host, got.text)
				}
				if w.hasFailed() {
					return
				}
			}
			heard := "444"
			if name == "held" {
				heard = "group.order" // the first fault to correct
			}
			w.expectTrue(w.log.hasWarning("Ingress evil/x", heard), "the attacker gets no warning: %v", w.log.warningsAbout("Ingress evil/x"))
		})
	}

	// The safety check that keeps load balancers applies to changed classes, not to Ingresses that get another class.
	runCase(t, "12-edited-classes-are-honored/spoofed finalizers", setup{access: openClass, scenario: 4}, func(w *testCluster) {
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			w.attackWith(attackerIngress{name: name, class: "nginx", finalizers: "ingress.k8s.aws/resources"}.docs())
		}
		w.advanceAndCompare(0)
		w.perform(w.scenarioActs()[0]) // Ingress "blog/extra" gets another class
		w.advanceAndCompare(maxDeletionTime)
	})
	runCase(t, "12-edited-classes-are-honored/most Ingresses", open, func(w *testCluster) {
		for _, name := range []string{"a", "b", "c", "d"} {
			h := victimIngress{"pay", name, "alb", []string{"target-type", "ip", "scheme", "internal"}, []route{{name + ".example.com", "/", "web"}}}
			w.apply(h.docs())
		}
		w.advanceAndCompare(longRunTime)
		w.expectTrue(w.statusHostname("pay/a") != "", "pay/a has no load balancer")
		w.stopComparison()
		for _, name := range []string{"pay/a", "pay/b", "pay/c", "pay/d", "blog/blog", "blog/vault", "blog/vault-extra"} { // 7 of the 11 Ingresses
			w.changeClass(name, "nginx")
		}
		w.advanceAndCompare(maxDeletionTime)
		for _, name := range []string{"pay/a", "pay/b", "pay/c", "pay/d", "blog/blog", "blog/vault", "blog/vault-extra"} {
			namespace, short, _ := strings.Cut(name, "/")
			obj, err := w.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: short})
			w.expectTrue(err == nil && len(obj.GetFinalizers()) == 0, "%s still has finalizers: %v", name, w.log.warningsAbout("Ingress "+name))
		}
	})
}

// changeClass changes the class of an Ingress, as its owner would.
func (w *testCluster) changeClass(name, class string) {
	namespace, short, _ := strings.Cut(name, "/")
	obj, err := w.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: short})
	if err != nil {
		w.rec.Fatal(err)
	}
	ing := obj.(*networkingv1.Ingress).DeepCopy()
	ing.Spec.IngressClassName = &class
	if _, err := w.Store.Update(ing, cluster.MainPart); err != nil {
		w.rec.Fatal(err)
	}
}
