package adversary

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// unhealthyService is Service "ill" with one pod. Tests make the target of the pod unhealthy.
const unhealthyService = `
apiVersion: v1
kind: Service
metadata: {name: ill, namespace: evil}
spec: {type: ClusterIP, selector: {app: ill}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: ill-0, namespace: evil, labels: {app: ill}}
spec: {nodeName: node-1, containers: [{name: c, ports: [{containerPort: 8080}]}]}
status: {podIP: 10.0.149.1, podIPs: [{ip: 10.0.149.1}], phase: Running, conditions: [{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: ill-1, namespace: evil, labels: {kubernetes.io/service-name: ill}}
addressType: IPv4
ports: [{name: "", port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.0.149.1], conditions: {ready: true}, nodeName: node-1, targetRef: {kind: Pod, namespace: evil, name: ill-0}}]
`

func TestAttacksOnRules(t *testing.T) {
	t.Parallel()
	open := setup{access: openClass}

	// A rule that AWS refuses is held without an effect on other rules.
	for name, a := range map[string]attackerIngress{
		"same host and path": {class: "alb", host: "shop.example.com", service: "act"},
		"what comes later":   {class: "alb", host: "shop.example.com", path: "/new", service: "act"},
		"another's":          {class: "alb", host: "blog.example.com", service: "act"},
		"before the others":  {class: "alb", host: "evil.example.com", service: "act"},
	} {
		order := "1000"
		if name == "before the others" {
			order = "-1000"
		}
		a.pairs = []string{"group.name", "open", "group.order", order, "target-type", "ip", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`,
			"actions.act", `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"999"}}`}
		s := open
		if name == "same host and path" {
			s.scenario = 5
		}
		runCase(t, "02-refused-rule-is-held-alone/"+name, s, func(w *testCluster) {
			w.attackWith(a.docs())
			w.advanceAndCompare(longRunTime)
			for _, a := range w.scenarioActs() {
				w.perform(a)
				w.advanceAndCompare(longRunTime)
			}
			w.expectTrue(w.log.hasWarning("Ingress evil/x", "999"), "the attacker gets no warning: %v", w.log.warningsAbout("Ingress evil/x"))
		})
	}

	for _, first := range []string{"victim", "attacker", "both"} {
		runCase(t, "02-refused-rule-is-held-alone/new, first "+first, open, func(w *testCluster) {
			good := victimIngress{"pay", "plain", "alb", []string{"group.name", "plain", "target-type", "ip", "scheme", "internal", "group.order", "-1000"}, []route{{"plain.example.com", "/", "web"}}}.docs()
			bad := attackerIngress{class: "alb", host: "plain.example.com", service: "act", pairs: []string{"group.name", "plain", "group.order", "1000", "scheme", "internal",
				"actions.act", `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"999"}}`}}.docs()
			if first == "attacker" {
				w.attackWith(bad)
				w.advanceAndCompare(longRunTime)
			}
			w.apply(good)
			if first == "victim" {
				w.advanceAndCompare(longRunTime)
			}
			w.attackWith(bad)
			w.advanceAndCompare(longRunTime)
			got := w.answerTo(w.arnOf("pay/plain"), 80, "plain.example.com", "/")
			w.expectTrue(got.text == "forward to pay/web", "the victim's host is answered with %q", got.text)
			w.expectTrue(w.log.hasWarning("Ingress evil/x", "999"), "the attacker gets no warning: %v", w.log.warningsAbout("Ingress evil/x"))
		})
	}

	// No member waits for the health of another member's targets.
	for name, service := range map[string]string{"not healthy": "ill", "no targets": "none"} {
		runCase(t, "03-no-member-waits-for-anothers-health/"+name, setup{access: openClass, scenario: 6}, func(w *testCluster) {
			w.isTargetUnhealthy = func(target string) bool { return target == "10.0.149.1" }
			w.attackWith(unhealthyService, strings.ReplaceAll(strings.Split(unhealthyService, "---")[0], "ill", "none"),
				attackerIngress{class: "alb", service: service, pairs: []string{"group.name", "open", "group.order", "1000", "target-type", "ip", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`}}.docs())
			w.advanceAndCompare(longRunTime)
			for _, a := range w.scenarioActs() { // a path is added, a path is removed, a member is deleted, a Service is deleted with its pods
				w.Emulator.Calls().Reset()
				w.perform(a)
				w.advanceAndCompare(longRunTime)
				if n := w.Emulator.Calls().Count("DescribeTargetHealth"); n > 60 {
					w.rec.Errorf("%d calls of DescribeTargetHealth in ten minutes after the %s", n, a.name)
				}
			}
		})
	}

	// If the quota allows only one target group, a change of the target type still takes effect.
	runCase(t, "06-change-at-the-quota-of-target-groups", open, func(w *testCluster) {
		w.setQuota("target-groups-per-application-load-balancer", 1)
		w.stopComparison()
		h := ingresses()["pay/solo"]
		h.pairs = slices.Clone(h.pairs)
		h.pairs[slices.Index(h.pairs, "instance")] = "ip"
		w.apply(h.docs())
		w.Emulator.Calls().Reset()
		served := false
		for range 30 {
			w.advanceAndCompare(shortRunTime)
			p, unlock := w.partition()
			for _, g := range p.ELB.TargetGroups {
				served = served || g.LoadBalancer == w.lbs["solo"] && string(g.Type) == "ip" && slices.Equal(targetsOf(g), []string{"10.0.164.11:8080"})
			}
			unlock()
		}
		w.expectTrue(served, "the new target type does not take effect: %v", w.log.warningsAbout("Ingress pay/solo"))
		w.expectTrue(w.countRefusedCalls("ModifyRule")+w.countRefusedCalls("CreateRule") <= 20, "%d rejected calls in half an hour", w.countRefusedCalls("ModifyRule")+w.countRefusedCalls("CreateRule"))
	})

	// A member with more listeners and rules than the quotas allow is held before its rules are computed.
	for name, many := range map[string]struct {
		group string
		ports int
	}{"in a group": {"open", 1000}, "alone": {"", 1000}, "few ports in an IngressGroup": {"open", 90}, "few ports alone": {"", 90}} {
		runCase(t, "14-ports-times-paths/"+name, open, func(w *testCluster) {
			doc := ingressWithManyPorts(many.ports, 400, many.group)
			if many.group == "" {
				doc = strings.Replace(doc, "    alb.ingress.kubernetes.io/group.name: ''\n", "", 1)
			}
			w.attack(move{documents: attackerBackends})
			loaded, err := cluster.LoadYAML([]byte(doc))
			if err != nil {
				w.rec.Fatal(err)
			}
			// Translate without planning first, because a plan with all rules would take days.
			other, err := cluster.NewMemory(clock.RealClock{})
			if err != nil {
				w.rec.Fatal(err)
			}
			classes, err := cluster.LoadYAML([]byte(w.placeholderReplacer.Replace(clusterDocs(w.access))))
			if err != nil {
				w.rec.Fatal(err)
			}
			if err := other.Put(slices.Concat(classes.Objects, loaded.Objects)...); err != nil {
				w.rec.Fatal(err)
			}
			id := model.StackID{Kind: model.Ingress, Name: many.group}
			if many.group == "" {
				id = model.StackID{Kind: model.Ingress, Namespace: "evil", Name: "x"}
			}
			stack, _ := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"}).Translate(cluster.NewView(other), id, nil)
			formed := 0
			if stack.LoadBalancer != nil {
				for _, l := range stack.LoadBalancer.Listeners {
					formed += 1 + len(l.Rules)
				}
			}
			if formed > 1000 {
				w.rec.Fatalf("%d listeners and rules are formed of an Ingress of %d bytes", formed, len(doc))
			}
			for _, o := range loaded.Objects {
				w.putAsOwner(o, false)
			}
			w.advanceAndCompare(shortRunTime)
			w.perform(w.scenarioActs()[0])
			w.advanceAndCompare(longRunTime)
			w.expectTrue(w.log.hasWarning("Ingress evil/x"), "the attacker gets no warning")
		})
	}
}

// ingressWithManyPorts returns an Ingress with many paths on many ports.
func ingressWithManyPorts(ports, paths int, group string) string {
	var listen, list []string
	for i := range ports {
		listen = append(listen, fmt.Sprintf(`{"HTTP":%d}`, 10000+i))
	}
	for i := range paths {
		list = append(list, fmt.Sprintf("{path: /p%d, pathType: Exact, backend: {service: {name: app, port: {number: 80}}}}", i))
	}
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: x
  namespace: evil
  annotations:
%sspec:
  ingressClassName: alb
  rules: [{host: evil.example.com, http: {paths: [%s]}}]
`, annotations("group.name", group, "target-type", "ip", "listen-ports", "["+strings.Join(listen, ",")+"]"), strings.Join(list, ","))
}
