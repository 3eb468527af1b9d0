package adversary

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// TestAttacksOnSharedResources runs attacks on resources that the attacker shares with victims. They detect faults that were
// inserted into the controller and that other tests did not detect.
func TestAttacksOnSharedResources(t *testing.T) {
	t.Parallel()
	open := setup{access: openClass}

	// A deleted rule of a victim is not retained because of an Ingress with the same conditions that is not accepted.
	runCase(t, "21-foreign-rules-are-not-retained", setup{access: openClass, scenario: 6}, func(w *testCluster) {
		for i, route := range []route{{"shop.example.com", "/new", "act"}, {"extra.example.com", "/", "act"}, {"blog.example.com", "/", "act"}} {
			w.attackWith(attackerIngress{name: fmt.Sprintf("x%d", i), class: "pinned", finalizers: finalizerOf("open"), host: route.host, path: route.path, service: route.service,
				pairs: []string{"group.name", "open", "group.order", "-1000", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`,
					"actions.act", `{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"evil"}}`}}.docs())
		}
		for _, a := range w.scenarioActs() {
			w.perform(a)
			w.advanceAndCompare(longRunTime)
		}
	})

	runCase(t, "21-foreign-rules-are-not-retained/by ARN", setup{access: openClass, scenario: 6}, func(w *testCluster) {
		for i, name := range w.targetGroupNames() {
			if !strings.HasPrefix(name, "k8s-blog-extra-") {
				continue
			}
			for _, by := range []string{"ARN", "Name"} {
				w.attackWith(attackerIngress{name: fmt.Sprintf("x%d%s", i, strings.ToLower(by)), class: "pinned", finalizers: finalizerOf("open"), host: "extra.example.com", service: "act",
					pairs: []string{"group.name", "open", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`,
						"actions.act", fmt.Sprintf(`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroup%s":"$TG%s%d"}]}}`, by, strings.ToUpper(by), i)}}.docs())
			}
		}
		for _, a := range w.scenarioActs() {
			w.perform(a)
			w.advanceAndCompare(longRunTime)
		}
	})

	// A held rule does not precede another member's rule with the same conditions, whatever its order.
	for name, pairs := range map[string][]string{
		"refused":    {"actions.act", `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"999"}}`},
		"unreadable": {"actions.act", `{`},
		"unknown":    {"actions.act", `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"none","servicePort":80},{"serviceName":"app","servicePort":80}]}}`},
		"transforms": {"actions.act", `{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200"}}`, "transforms.act", `{`},
	} {
		runCase(t, "22-held-rules-come-last/"+name, open, func(w *testCluster) {
			w.attackWith(attackerBackends)
			for i, host := range []string{"shop.example.com", "blog.example.com"} {
				w.attackWith(attackerIngress{name: fmt.Sprintf("x%d", i), class: "alb", host: host, service: "act",
					pairs: appendPairs(pairs, "group.name", "open", "group.order", "-1000", "target-type", "ip", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`)}.docs())
			}
			w.advanceAndCompare(shortRunTime)
			w.perform(w.scenarioActs()[0])
			w.advanceAndCompare(longRunTime)
			w.expectTrue(w.log.hasWarning("Ingress evil/x0"), "the attacker gets no warning")
		})
	}

	// The deletion of a member does not wait for healthy targets of another member.
	runCase(t, "23-leaving-waits-for-no-other", setup{access: openClass, scenario: 9}, func(w *testCluster) {
		w.isTargetUnhealthy = func(target string) bool { return target == "10.0.149.1" }
		x := attackerIngress{class: "alb", host: "evil.example.com", pairs: []string{"group.name", "open", "group.order", "1000", "target-type", "ip", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`}}
		for _, a := range w.scenarioActs() {
			x.service = "app"
			w.attackWith(attackerBackends, unhealthyService, x.docs())
			w.advanceAndCompare(longRunTime)
			x.service = "ill" // traffic is sent to the old pods until the new ones are healthy
			w.attackWith(x.docs())
			w.advanceAndCompare(10 * time.Second)
			w.perform(a)
			w.advanceAndCompare(longRunTime)
		}
	})

	// A member whose group.order cannot be parsed has no position in the IngressGroup.
	for _, order := range seeds.Spread(3, annotationChoices["group.order"].invalidValues) {
		runCase(t, fmt.Sprintf("24-unreadable-orders/%q", order), open, func(w *testCluster) {
			w.attackWith(attackerBackends, attackerIngress{class: "alb", host: "shop.example.com", pairs: []string{"group.name", "open", "group.order", order, "target-type", "ip",
				"listen-ports", `[{"HTTP":80},{"HTTPS":443}]`}}.docs())
			w.advanceAndCompare(longRunTime)
		})
	}

	// A redirect to a plain HTTP port has no effect.
	for _, port := range []string{"80", "8080"} {
		runCase(t, "05-redirect-to-no-listener/plain "+port, open, func(w *testCluster) {
			w.apply(victimIngress{"pay", "plain", "alb", []string{"group.name", "plain", "target-type", "ip", "scheme", "internal"}, []route{{"plain.example.com", "/", "web"}}}.docs())
			w.advanceAndCompare(shortRunTime)
			w.attackWith(attackerBackends, attackerIngress{class: "alb", host: "evil.example.com", pairs: []string{"group.name", "plain", "group.order", "-1000", "target-type", "ip",
				"listen-ports", `[{"HTTP":80},{"HTTP":8080}]`, "ssl-redirect", port}}.docs())
			w.advanceAndCompare(longRunTime)
			got := w.answerTo(w.arnOf("pay/plain"), 80, "plain.example.com", "/")
			w.expectTrue(got.text == "forward to pay/web", "the victim's host is answered with %q", got.text)
			w.expectTrue(w.log.hasWarning("Ingress evil/x", port), "the attacker gets no warning: %v", w.log.warningsAbout("Ingress evil/x"))
		})
	}

	// In isolated tenancy, a new member gets no hosts of other members and changes no settings, however it writes them.
	runCase(t, "25-isolated-tenancy/settings", setup{access: openClass, isolated: true}, func(w *testCluster) {
		w.attackWith(attackerBackends)
		for _, group := range []string{"open", "vault"} {
			for _, pairs := range hostileSettings {
				w.attackWith(attackerIngress{class: "alb", host: "evil.example.com", pairs: appendPairs(pairs, "target-type", "ip", "group.order", "-1000", "group.name", group)}.docs())
				w.advanceAndCompare(shortRunTime)
			}
		}
	})
	for name, a := range map[string]attackerIngress{
		"wildcard":   {host: "*.example.com"},
		"same host":  {host: "shop.example.com"},
		"other path": {host: "shop.example.com", path: "/new"},
		"no host":    {},
		"condition":  {host: "evil.example.com", service: "act", pairs: []string{"conditions.act", `[{"field":"host-header","hostHeaderConfig":{"values":["*.example.com"]}}]`}},
		"expression": {service: "act", pairs: []string{"conditions.act", `[{"field":"host-header","hostHeaderConfig":{"regexValues":[".*"]}}]`}},
	} {
		runCase(t, "25-isolated-tenancy/"+name, setup{access: openClass, isolated: true}, func(w *testCluster) {
			a.class = "alb"
			a.pairs = appendPairs(a.pairs, "group.name", "open", "group.order", "-1000", "target-type", "ip", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`,
				"actions.act", `{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"evil"}}`)
			w.attackWith(attackerBackends, a.docs())
			w.advanceAndCompare(shortRunTime)
			w.perform(w.scenarioActs()[0])
			w.advanceAndCompare(longRunTime)
			w.expectTrue(w.log.hasWarning("Ingress evil/x"), "the attacker gets no warning")
		})
	}

	// Tags that exceed the limit of AWS replace no tags of other members.
	for _, order := range []string{"-1000", "1000"} {
		runCase(t, "26-tags-above-the-limit/order "+order, open, func(w *testCluster) {
			w.attackWith(attackerBackends, attackerIngress{class: "alb", host: "evil.example.com", pairs: []string{"group.name", "open", "group.order", order, "target-type", "ip", "tags", manyTags}}.docs())
			w.advanceAndCompare(shortRunTime)
			w.perform(w.scenarioActs()[0]) // it also changes a tag
			w.advanceAndCompare(longRunTime)
			w.expectTrue(w.log.hasWarning("Ingress evil/x", "tag"), "the attacker gets no warning: %v", w.log.warningsAbout("Ingress evil/x"))
		})
	}

	// If a member cannot be read, its existing tags are held. They do not replace tags of other members either.
	for name, later := range map[string][]string{
		"unreadable order": {"group.order", "1e3", "tags", manyTags},
		"unreadable tags":  {"group.order", "1000", "tags", "evil"},
		"unreadable, less": {"group.order", "1e3", "tags", "evil0=1"},
	} {
		runCase(t, "26-tags-above-the-limit/"+name, open, func(w *testCluster) {
			x := attackerIngress{class: "alb", host: "evil.example.com", pairs: []string{"group.name", "open", "group.order", "1000", "target-type", "ip", "tags", manyTags}}
			w.attackWith(attackerBackends, x.docs())
			w.advanceAndCompare(shortRunTime)
			x.pairs = appendPairs(later, "group.name", "open", "target-type", "ip")
			w.attackWith(x.docs())
			w.advanceAndCompare(shortRunTime)
			w.perform(w.scenarioActs()[0])
			w.advanceAndCompare(longRunTime)
		})
	}

	// Many faults do not cause a flood of events.
	runCase(t, "27-events-are-limited", open, func(w *testCluster) {
		w.attackWith(strings.ReplaceAll(ingressWithManyPorts(1, 400, "own"), "name: app,", "name: none,"))
		w.advanceAndCompare(time.Hour)
		w.expectTrue(w.log.hasWarning("Ingress evil/x"), "the attacker gets no warning")
	})

	// Only Secrets in the namespace of the Ingress are used, whatever name the Ingress writes.
	for _, name := range seeds.Spread(2, []string{"login", "pay.login", "pay/login", "login.pay", "../pay/login", "/api/v1/namespaces/pay/secrets/login"}) {
		runCase(t, fmt.Sprintf("28-secrets-of-others/%q", name), open, func(w *testCluster) {
			w.attackWith(attackerBackends, ingressWithOwnLoadBalancer("app", "auth-type", "oidc", "auth-idp-oidc", strings.Replace(evilOIDC, `"login"`, fmt.Sprintf("%q", name), 1),
				"listen-ports", `[{"HTTPS":443}]`, "certificate-arn", "$CERT"))
			w.advanceAndCompare(shortRunTime)
			w.expectTrue(w.log.hasWarning("Ingress evil/x", "ecret"), "the attacker gets no warning: %v", w.log.warningsAbout("Ingress evil/x"))
		})
	}

	// A victim's pod gets the address of a deleted pod of the attacker. The address is then deregistered from the attacker's
	// target group, although the attacker's binding has no EndpointSlice.
	runCase(t, "11-deleted-pods-are-deregistered/address used again", setup{access: openClass, scenario: 7}, func(w *testCluster) {
		w.attackWith(strings.NewReplacer("10.0.133.1", replacementAddress, "node-0", "node-1").Replace(attackerBackends), ingressWithOwnLoadBalancer("app"))
		w.advanceAndCompare(longRunTime)
		w.expectTrue(len(w.targetGroupsWithAddress(replacementAddress)) == 1, "the pod is not served: %v", w.targetGroupsWithAddress(replacementAddress))
		w.stopComparison()
		w.attack(move{deletedRef: cluster.Ref{Kind: cluster.KindEndpointSlice, Namespace: attackerNamespace, Name: "app-1"}})
		w.advanceAndCompare(maxRolloutTime)
		w.attack(move{deletedRef: cluster.Ref{Kind: cluster.KindPod, Namespace: attackerNamespace, Name: "app-0"}})
		w.scenarioActs()[0].do(w) // a pod of the victims gets the address before the controller reconciles
		w.advanceAndCompare(maxRolloutTime)
		held := w.targetGroupsWithAddress(replacementAddress)
		w.expectTrue(len(held) > 0 && !slices.ContainsFunc(held, func(name string) bool { return !strings.HasPrefix(name, "k8s-pay-web-") }), "the address of a victim's pod is a target of %v", held)
	})

	// Successful calls in between do not reset the back-off of refused calls.
	refused := map[string][]string{
		"AddTags":                      {"tags", "Cost=1"},
		"ModifyLoadBalancerAttributes": {"load-balancer-attributes", "idle_timeout.timeout_seconds=0"},
		"ModifyTargetGroupAttributes":  {"target-group-attributes", "slow_start.duration_seconds=1"},
	}
	for _, operation := range seeds.SpreadKeys(2, refused) {
		pairs := refused[operation]
		runCase(t, "07-refused-calls-back-off/while other calls succeed, "+operation, open, func(w *testCluster) {
			w.attackWith(attackerBackends, ingressWithOwnLoadBalancer("app"))
			w.advanceAndCompare(longRunTime)
			if operation == "AddTags" { // AWS refuses the values of the other operations itself
				w.deny(operation)
			}
			w.Emulator.Calls().Reset()
			for i := range 180 {
				w.attackWith(strings.Replace(ingressWithOwnLoadBalancer("app", pairs...), "path: /,", fmt.Sprintf("path: /p%d,", i%2), 1))
				w.advanceAndCompare(20 * time.Second)
			}
			n := w.countRefusedCalls(operation)
			w.expectTrue(n > 0 && n <= 30, "%d calls of %s are rejected in an hour", n, operation)
		})
	}

	// Changes and deletions of victims are not affected by a denied read, unless the controller requires it.
	for _, operation := range seeds.Spread(3, optionalReads) {
		runCase(t, "13-denied-reads-are-isolated/all, "+operation, setup{access: openClass, scenario: 9}, func(w *testCluster) {
			w.deny(operation)
			w.attackWith(attackerBackends, attackerIngress{class: "alb", host: "evil.example.com", pairs: []string{"group.name", "open", "group.order", "1000", "target-type", "ip",
				"listen-ports", `[{"HTTPS":8443}]`, "certificate-arn", "$CERT", "wafv2-acl-name", "rig"}}.docs())
			w.advanceAndCompare(3 * longRunTime) // until all facts have been read again
			for _, a := range w.scenarioActs() {
				w.perform(a)
				w.advanceAndCompare(longRunTime)
			}
		})
	}
}

// optionalReads are reads whose failure does not end a run.
var optionalReads = []string{
	"DescribeListenerCertificates", "DescribeListenerAttributes", "DescribeLoadBalancerAttributes", "DescribeTargetGroupAttributes", "DescribeCapacityReservation",
	"DescribeTrustStores", "ListCertificates", "DescribeCertificate", "GetWebACLForResource", "ListWebACLs", "GetSubscriptionState", "DescribeProtection",
	"DescribeSubnets", "DescribeAvailabilityZones", "DescribeSSLPolicies",
}
