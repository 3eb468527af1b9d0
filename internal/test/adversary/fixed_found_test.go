package adversary

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// attackerBinding returns a TargetGroupBinding of the attacker for its Service "app".
func attackerBinding(spec string) string {
	return fmt.Sprintf(`
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: b, namespace: evil}
spec: {%s, serviceRef: {name: app, port: 80}}
`, spec)
}

// TestAttacksFoundByRandomHistories runs, with fixed objects, the attacks by which random histories found faults.
func TestAttacksFoundByRandomHistories(t *testing.T) {
	t.Parallel()
	open := setup{access: openClass}

	// Only bindings of a stack register targets in its target groups. "$TGNAME4" and "$TGARN4" refer to the target group
	// that the change of Ingress "pay/shop" creates.
	const before = "4"
	for name, spec := range map[string]string{
		"by name":                "targetType: ip, targetGroupName: $TGNAME" + before,
		"by name, without type":  "targetGroupName: $TGNAME" + before,
		"by name, by role":       "targetType: ip, targetGroupName: $TGNAME" + before + `, iamRoleArnToAssume: "arn:aws:iam::123456789012:role/none"`,
		"by name, multi-cluster": "targetType: ip, targetGroupName: $TGNAME" + before + ", multiClusterTargetGroup: true",
	} {
		runCase(t, "15-foreign-target-groups/created later, "+name, open, func(w *testCluster) {
			w.expectTrue(strings.HasPrefix(w.placeholders("$TGNAME"+before), "k8s-pay-api-"), "the target group is %s", w.placeholders("$TGNAME"+before))
			w.attackWith(attackerBackends, attackerBinding(spec))
			w.advanceAndCompare(shortRunTime)
			w.perform(w.scenarioActs()[0])
			w.advanceAndCompare(longRunTime)
		})
	}
	for _, more := range []string{"", ", multiClusterTargetGroup: true", `, iamRoleArnToAssume: "arn:aws:iam::123456789012:role/none"`, ", targetType: ip, vpcID: vpc-1"} {
		for _, by := range []string{"targetGroupARN: $TGARN", "targetGroupName: $TGNAME"} {
			runCase(t, "15-foreign-target-groups/"+by+more, open, func(w *testCluster) {
				w.attackWith(attackerBackends)
				for n := range w.targetGroupNames() {
					w.attackWith(attackerBinding(fmt.Sprintf("%s%d%s", by, n, more)))
					w.advanceAndCompare(shortRunTime)
					w.attack(move{deletedRef: cluster.Ref{Kind: cluster.KindBinding, Namespace: attackerNamespace, Name: "b"}})
					w.advanceAndCompare(shortRunTime)
				}
			})
		}
	}
	runCase(t, "15-foreign-target-groups/of a member that leaves", open, func(w *testCluster) {
		n := 0
		for i, name := range w.targetGroupNames() {
			if strings.HasPrefix(name, "k8s-blog-extra-") && w.comparison.baseline.factsAfterActs[3].targets[name] == nil {
				n = i
			}
		}
		w.attackWith(attackerBackends, attackerBinding(fmt.Sprintf("targetGroupName: $TGNAME%d", n)))
		w.advanceAndCompare(shortRunTime)
		w.perform(w.scenarioActs()[0])
		w.perform(w.scenarioActs()[1])
		w.perform(w.scenarioActs()[2]) // the deletion
		w.advanceAndCompare(longRunTime)
	})

	// A binding that cannot be applied is retried with back-off.
	for name, spec := range map[string]string{
		"a role that does not exist":        "targetGroupARN: $EXTERNAL, iamRoleArnToAssume: x",
		"instances in a target group of ip": "targetGroupARN: $EXTERNAL, targetType: instance",
		"no such target group":              "targetGroupARN: arn, targetType: ip",
		"another account's":                 `targetGroupARN: "arn:aws:elasticloadbalancing:us-west-2:999999999999:targetgroup/other/0123456789abcdef", targetType: ip`,
	} {
		runs := 0
		runCaseWith(t, "16-failing-bindings-back-off/"+name, open, harness.Options{AfterRun: func(what string, _ error) {
			if what == "binding evil/b" {
				runs++
			}
		}}, func(w *testCluster) {
			w.attackWith(attackerBackends)
			w.Emulator.Calls().Reset()
			w.attackWith(attackerBinding(spec))
			w.advanceAndCompare(longRunTime)
			w.expectTrue(runs > 0 && runs <= 100, "%d runs in ten minutes", runs)
			w.expectTrue(w.Emulator.Calls().Total() <= 100, "%d calls in ten minutes: %v", w.Emulator.Calls().Total(), w.Emulator.Calls().Counts())
		})
	}

	// A binding whose target group cannot be read does not keep security group rules of other bindings.
	runCase(t, "17-bindings-keep-no-rules-of-others", setup{access: openClass, scenario: 2}, func(w *testCluster) {
		w.attackWith(attackerBackends, attackerBinding("targetGroupARN: xxx, networking: {ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}}], ports: []}]}"))
		w.advanceAndCompare(shortRunTime)
		for _, a := range w.scenarioActs() {
			w.perform(a)
			w.advanceAndCompare(longRunTime)
		}
		w.deleteAttackerObjects()
		w.advanceAndCompare(maxCleanupTime)
		w.checkRemainingResources(w.comparison.baseline, false)
	})

	// A class of the attacker cannot change settings that other members of the IngressGroup have set.
	foreignSettings := map[string]string{
		"listeners":              "[{protocol: HTTPS, port: 443, listenerAttributes: [{key: routing.http.response.server.enabled, value: 'true'}]}]",
		"prefixListsIDs":         "[$PREFIXLIST]",
		"inboundCIDRs":           "[0.0.0.0/0, 192.0.2.0/24]",
		"sslRedirectPort":        "'443'",
		"scheme":                 "internet-facing",
		"wafv2AclName":           "none",
		"sslPolicy":              "ELBSecurityPolicy-TLS13-1-3-2021-06",
		"loadBalancerAttributes": "[{key: idle_timeout.timeout_seconds, value: '7'}, {key: access_logs.s3.enabled, value: 'true'}, {key: access_logs.s3.bucket, value: evil}]",
		"ipAddressType":          "dualstack",
		"tags":                   "[{key: Owner, value: evil}]",
		"subnets":                "{ids: [$SUBNET0, $SUBNET1]}",
		"loadBalancerName":       "evil",
	}
	for i, field := range slices.Sorted(maps.Keys(foreignSettings)) {
		for _, isolated := range []bool{false, true} {
			if isolated != (i%2 == 0) && !seeds.Long() { // each field once
				continue
			}
			s := setup{access: classOwner, isolated: isolated}
			runCase(t, fmt.Sprintf("18-another-class-takes-no-settings/%s, isolated %t", field, isolated), s, func(w *testCluster) {
				w.attackWith(attackerBackends)
				for _, group := range []string{"open", "vault"} {
					w.attackWith(fmt.Sprintf(`
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: evil}
spec: {group: {name: %s}, %s: %s}
`, group, field, foreignSettings[field]))
					w.attackWith(attackerIngress{class: attackerClass, host: "evil.example.com", pairs: []string{"target-type", "ip", "group.order", "-1000", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", "$CERT"}}.docs())
					w.advanceAndCompare(longRunTime)
				}
			})
		}
	}

	// Settings that cannot be parsed change nothing for other members.
	for _, isolated := range []bool{false, true} {
		runCase(t, fmt.Sprintf("19-unreadable-settings-change-nothing/isolated %t", isolated), setup{access: openClass, isolated: isolated}, func(w *testCluster) {
			w.attackWith(attackerBackends)
			for _, group := range []string{"open", "vault"} {
				for _, key := range slices.Sorted(maps.Keys(annotationChoices)) {
					if strings.Contains(key, "<") || strings.HasPrefix(key, "group.") || key == "target-type" {
						continue
					}
					w.attackWith(attackerIngress{class: "alb", host: "evil.example.com", pairs: []string{"group.name", group, "group.order", "-1000", "target-type", "ip", key, annotationChoices[key].invalidValues[0]}}.docs())
					w.advanceAndCompare(0)
				}
				w.advanceAndCompare(longRunTime)
			}
		})
	}

	// The only member of an IngressGroup gets a class that does not accept it. This does not affect other IngressGroups.
	runCase(t, "20-an-IngressGroup-without-accepted-members", open, func(w *testCluster) {
		w.attackWith(attackerBackends, attackerIngress{class: "alb", host: "evil.example.com", pairs: []string{"group.name", "own", "target-type", "ip"}}.docs())
		w.advanceAndCompare(shortRunTime)
		w.attackWith(attackerIngress{class: "pinned", host: "evil.example.com", pairs: []string{"group.name", "open", "target-type", "ip"}}.docs())
		w.advanceAndCompare(0)
		w.attackWith(attackerIngress{name: "second", class: "alb", finalizers: finalizerOf("own"), pairs: []string{"kubernetes.io/ingress.class", "pinned"}}.docs())
		w.advanceAndCompare(longRunTime)
	})

	// An Ingress whose group.order cannot be parsed has no position in the IngressGroup, not even for rules that answer with
	// 503.
	for _, isolated := range []bool{false, true} {
		runCase(t, fmt.Sprintf("21-an-unreadable-order-gives-no-position/isolated %t", isolated), setup{access: openClass, isolated: isolated}, func(w *testCluster) {
			w.attackWith(attackerBackends)
			for _, order := range []string{"$(reboot)", "1001", "-1000.5"} {
				for _, group := range []string{"open", "vault"} {
					w.attack(move{deletedRef: cluster.Ref{Kind: cluster.KindIngress, Namespace: attackerNamespace, Name: "x"}})
					w.advanceAndCompare(shortRunTime)
					w.attackWith(attackerIngress{class: "alb", pairs: []string{"group.name", group, "group.order", order, "target-type", "ip", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", "$CERT"}}.docs())
					w.advanceAndCompare(shortRunTime)
				}
			}
		})
	}

	// The deletion of a rule does not wait for targets of the attacker's rule that takes its place.
	for _, isolated := range []bool{false, true} {
		for path, order := range map[string]string{"/": "-1000", "/evil": "1000"} {
			if !isolated && order == "-1000" {
				continue // its rule would come first
			}
			runCase(t, fmt.Sprintf("22-a-deletion-waits-for-no-other/path %s, isolated %t", path, isolated), setup{access: openClass, scenario: 9, isolated: isolated}, func(w *testCluster) {
				w.isTargetUnhealthy = func(string) bool { return true }
				w.attackWith(attackerBackends, attackerIngress{class: "alb", host: "extra.example.com", path: path, pairs: []string{"group.name", "open", "group.order", order, "target-type", "ip", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", "$CERT"}}.docs())
				w.advanceAndCompare(shortRunTime)
				for _, a := range w.scenarioActs() {
					w.perform(a)
					w.advanceAndCompare(longRunTime)
				}
			})
		}
	}

	// A held rule with a higher priority answers with 503, so the owners of the rules behind it get a warning.
	runCase(t, "23-members-behind-a-held-rule-are-warned", open, func(w *testCluster) {
		w.attackWith(attackerBackends, attackerIngress{class: "alb", host: "*.example.com", pairs: []string{"group.name", "open", "group.order", "-1000", "target-type", "ip",
			"listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", "$CERT", "load-balancer-attributes", "true false"}}.docs())
		w.advanceAndCompare(longRunTime)
		got := w.answerTo(w.lbs["open"], 443, "shop.example.com", "/")
		w.expectTrue(got.text == heldAnswer, "the host of pay/shop is answered with %q", got.text)
		w.expectTrue(w.log.hasWarning("Ingress pay/shop", "gets no requests", "evil/x"), "pay/shop is not warned: %v", w.log.warningsAbout("Ingress pay/shop"))
	})

	// The deletion of a rule does not wait for a new rule that has no priority because AWS refuses to reorder rules.
	runCase(t, "24-a-deletion-waits-for-no-rule-without-a-priority", setup{access: openClass, scenario: 9}, func(w *testCluster) {
		w.deny("SetRulePriorities")
		w.attackWith(attackerBackends, attackerIngress{class: "alb", path: "/evil", pairs: []string{"group.name", "open", "group.order", "-1000", "target-type", "ip", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", "$CERT"}}.docs())
		w.advanceAndCompare(shortRunTime)
		w.perform(withMoreTime(w.scenarioActs()[0], 6*longRunTime)) // meanwhile, the new rule of "pay/shop" gets no priority either
		w.perform(w.scenarioActs()[1])
		w.advanceAndCompare(longRunTime)
	})

	// A redirect that AWS refuses does not remove the rules that it would make unreachable.
	runCase(t, "29-a-refused-redirect-covers-nothing", open, func(w *testCluster) {
		w.attackWith(attackerBackends, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: x
  namespace: evil
  annotations:
    alb.ingress.kubernetes.io/group.name: open
    alb.ingress.kubernetes.io/group.order: "-1000"
    alb.ingress.kubernetes.io/listen-ports: '[{"HTTP":80},{"HTTPS":443}]'
    alb.ingress.kubernetes.io/certificate-arn: $CERT
    alb.ingress.kubernetes.io/actions.act: '{"type":"redirect","redirectConfig":{"port":"99999","statusCode":"HTTP_301"}}'
spec:
  ingressClassName: alb
  rules:
  - {host: blog.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: act, port: {name: use-annotation}}}}]}}
  - {host: extra.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: act, port: {name: use-annotation}}}}]}}
`)
		w.advanceAndCompare(longRunTime)
	})

	// A target group that is detached but not yet deleted is not attached to a load balancer of another namespace.
	for _, by := range []string{"ARN", "Name"} {
		runCase(t, "30-detached-target-groups/by "+by, setup{access: openClass, scenario: 3}, func(w *testCluster) {
			for i := range w.targetGroupNames() {
				w.attackWith(attackerBackends, attackerIngress{name: fmt.Sprintf("x%d", i), class: "alb", host: "evil.example.com", service: "act",
					pairs: []string{"actions.act", fmt.Sprintf(`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroup%s":"$TG%s%d"}]}}`, by, strings.ToUpper(by), i)}}.docs())
			}
			w.perform(w.scenarioActs()[0])
			w.advanceAndCompare(longRunTime)
			w.expectTrue(w.log.hasWarning("Ingress evil/x0", "another namespace"), "the attacker gets no warning: %v", w.log.warningsAbout("Ingress evil/x0"))
		})
	}

	// A read that fails while the controller determines which member gets a shared setting changes nothing, even if a retry
	// succeeds before the end of the run.
	for _, count := range []int{1, 4} {
		runCase(t, fmt.Sprintf("31-temporary-read-failure/%d", count), open, func(w *testCluster) {
			x := attackerIngress{class: "alb", host: "evil.example.com", service: "act", pairs: []string{"group.name", "open", "group.order", "-1000", "wafv2-acl-name", "none",
				"listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", "$CERT", "actions.act", `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"200"}}`}}
			docs := x.docs()
			for n := range 40 { // so many that the read is retried before the run ends
				docs += fmt.Sprintf("  - {host: evil.example.com, http: {paths: [{path: /%d, pathType: Exact, backend: {service: {name: act, port: {name: use-annotation}}}}]}}\n", n)
			}
			docs += "  - {host: evil.example.com, http: {paths: [{path: /\u2603, pathType: Exact, backend: {service: {name: act, port: {name: use-annotation}}}}]}}\n" // refused, so that another plan is made
			w.Emulator.Faults().Add(fault.Rule{Operation: "GetWebACLForResource", Count: count, Action: fault.Action{Throttle: true}})
			w.attackWith(docs)
			w.advanceAndCompare(longRunTime)
		})
	}

	// While the class of a served Ingress refers to missing parameters, other members can still set new values, such as a
	// tag.
	runCase(t, "32-new-tags-beside-a-class-without-parameters", setup{access: classOwner, scenario: 1}, func(w *testCluster) {
		w.attackWith(attackerBackends, attackerIngress{class: "evil", host: "evil.example.com", pairs: []string{"group.name", "vault", "group.order", "1000", "target-type", "ip",
			"scheme", "internal", "listen-ports", `[{"HTTPS":443}]`, "certificate-arn", "$CERT"}}.docs())
		w.advanceAndCompare(shortRunTime)
		w.perform(w.scenarioActs()[0])
		w.attackWith(`
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: evil}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: none}}
`)
		w.advanceAndCompare(shortRunTime)
		w.perform(w.scenarioActs()[1]) // it adds a tag
		w.perform(w.scenarioActs()[2])
		w.advanceAndCompare(longRunTime)
	})
}
