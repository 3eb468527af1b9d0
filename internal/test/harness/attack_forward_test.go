package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// withActionBackend returns the Ingress with annotation actions.act as the backend of its rule.
func withActionBackend(ingress string) string {
	return strings.Replace(ingress, "name: web, port: {number: 80}", "name: act, port: {name: use-annotation}", 1)
}

// TestMemberCannotForwardToTargetGroupOfAnother checks that a member cannot forward to a target group of another
// tenant. Otherwise the member could serve that tenant's pods on a host without that tenant's authentication.
func TestMemberCannotForwardToTargetGroupOfAnother(t *testing.T) {
	t.Parallel()
	actions := map[string]string{
		"by ARN":   `{"type":"forward","targetGroupARN":"ARN"}`,
		"by name":  `{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupName":"NAME","weight":1}]}}`,
		"weighted": `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80,"weight":1},{"targetGroupARN":"ARN","weight":99}]}}`,
	}
	for name, action := range actions {
		for _, where := range []string{"rule", "default backend", "another IngressGroup"} {
			t.Run(name+"/"+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
					settleWithoutErrors(t, r)
					of := bindingsOf(r, "shop")[0]
					action := strings.NewReplacer("ARN\"", of.Spec.TargetGroupARN+"\"", "NAME", of.Name).Replace(action)
					group := "edge"
					if where == "another IngressGroup" {
						group = "theirs"
					}
					doc := withActionBackend(ingressInNamespace("team", "thief", "alb", "team.example.com", "", "group.name", group, "actions.act", action))
					if where == "default backend" {
						doc = withDefaultBackend(doc)
					}
					r.Apply(doc)
					r.Settle(30 * time.Minute)
					uses := 0
					for _, rule := range stateOfKinds(r, "rule") {
						if strings.Contains(rule, `tg:`+of.Name) {
							uses++
							if strings.Contains(rule, "team.example.com") || strings.Contains(rule, ",80,0,") {
								t.Errorf("the target group is reached by %s", rule)
							}
						}
					}
					if uses != 1 {
						t.Errorf("%d rules forward to the target group", uses)
					}
					if w := warningsByObject(r)["thief"]; len(w) == 0 {
						t.Error("no warning on Ingress thief")
					}
					for _, n := range []string{"a", "b"} {
						if w := warningsByObject(r)[n]; len(w) > 0 {
							t.Errorf("warnings on victim %s: %q", n, w)
						}
					}
				})
			})
		}
	}
}

// TestServiceCannotTargetPodsOfAnotherNamespace checks that a Service cannot make pods of another namespace its
// targets: not by an external name, external IPs, or an EndpointSlice with their addresses.
func TestServiceCannotTargetPodsOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	victim := podAddresses[0]
	const service = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team, uid: 22222222-0000-4000-8000-000000000001%s}
spec: {%s}
`
	slice := func(endpoint string) string {
		return fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: team, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: "", port: 8080}]
endpoints: [%s]
`, endpoint)
	}
	const plain = "type: ClusterIP, ports: [{port: 80, targetPort: 8080}]"
	cases := map[string][]string{
		"external name":                {fmt.Sprintf(service, "", "type: ExternalName, externalName: web.shop.svc.cluster.local, ports: [{port: 80, targetPort: 8080}]"), slice("{addresses: [" + victim + "]}")},
		"external IPs":                 {fmt.Sprintf(service, "", plain+", externalIPs: ["+victim+"]")},
		"a bare address":               {fmt.Sprintf(service, "", plain), slice("{addresses: [" + victim + "]}")},
		"a pod of another namespace":   {fmt.Sprintf(service, "", plain), slice("{addresses: [" + victim + "], targetRef: {kind: Pod, namespace: shop, name: web-0, uid: web-0}}")},
		"its name without a namespace": {fmt.Sprintf(service, "", plain), slice("{addresses: [" + victim + "], targetRef: {kind: Pod, name: web-0, uid: web-0}}")},
		"a pod of the team":            {fmt.Sprintf(service, "", plain), slice("{addresses: [" + victim + "], targetRef: {kind: Pod, namespace: team, name: own-0, uid: own-0}}")},
		"the node":                     {fmt.Sprintf(service, "", plain), slice("{addresses: [10.0.128.10], nodeName: node-0, targetRef: {kind: Node, name: node-0}}")},
		"a second address":             {fmt.Sprintf(service, "", plain), slice("{addresses: [" + victim + ", " + podAddresses[5] + "], targetRef: {kind: Pod, namespace: team, name: own-0, uid: own-0}}")},
	}
	for name, docs := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
				settleWithoutErrors(t, r)
				own, _, _ := strings.Cut(readyPods("own", podAddresses[5]), "---")
				r.Apply(inNamespace("team", own))
				r.Apply(docs...)
				r.Apply(ingressInNamespace("team", "thief", "alb", "team.example.com", "", "group.name", "edge"))
				r.Settle(30 * time.Minute)
				for _, b := range bindingsOf(r, "team") {
					expectEqual(t, "targets", "", activeTargets(t, r, Account, b.Spec.TargetGroupARN))
				}
				if len(bindingsOf(r, "team")) == 0 {
					t.Error("no TargetGroupBinding was created, so nothing was tested")
				}
				expectEqual(t, "all targets", "10.0.132.10 10.0.148.10 10.0.164.10", r.allActiveTargets())
			})
		})
	}
}
