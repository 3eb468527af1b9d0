package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// The tests in this file cover attacks by the owner of an IngressClass on an IngressGroup of another class. It is
// allowed by design that the parameters of a class name that IngressGroup.

// classNamed returns an IngressClass and its IngressClassParams with this spec.
func classNamed(name, spec string) string {
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: %[1]s}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: %[1]s}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: %[1]s}
spec: %[2]s
`, name, spec)
}

// victimParameters is the spec of the IngressClassParams of the victims. In some cases the victims set these values
// with annotations instead.
const victimParameters = `{group: {name: edge}, namespaceSelector: {matchLabels: {edge: "yes"}}, scheme: internal, ipAddressType: ipv4, inboundCIDRs: [10.0.0.0/8], wafv2AclName: rig,
  loadBalancerAttributes: [{key: idle_timeout.timeout_seconds, value: "120"}, {key: access_logs.s3.enabled, value: "false"}],
  listeners: [{protocol: HTTP, port: 80, listenerAttributes: [{key: routing.http.response.server.enabled, value: "false"}]}], tags: [{key: Team, value: shop}]}`

// hostileParameters is the spec of the IngressClassParams of the attacker. It has the IngressGroup of victimParameters, no
// namespaceSelector, and other values for all other settings.
const hostileParameters = `{group: {name: edge}, scheme: internet-facing, ipAddressType: dualstack, inboundCIDRs: [0.0.0.0/0], wafv2AclName: none, sslRedirectPort: "444", subnets: {tags: {tier: [public]}},
  loadBalancerAttributes: [{key: idle_timeout.timeout_seconds, value: "30"}, {key: access_logs.s3.enabled, value: "true"}, {key: access_logs.s3.bucket, value: theirs}],
  listeners: [{protocol: HTTP, port: 80, listenerAttributes: [{key: routing.http.response.server.enabled, value: "true"}]}], tags: [{key: Team, value: team}]}`

// TestClassOfNewMemberDoesNotOverrideOtherMembers checks that the class of a new member does not override the settings
// that the other members of the IngressGroup have by their class or by annotations.
func TestClassOfNewMemberDoesNotOverrideOtherMembers(t *testing.T) {
	t.Parallel()
	reported := []string{
		"ip-address-type", "ipv4", "load-balancer-attributes", "idle_timeout.timeout_seconds=120,access_logs.s3.enabled=false",
		"listener-attributes.HTTP-80", "routing.http.response.server.enabled=false", "tags", "Team=shop", "group.name", "edge",
	}
	for _, tenancy := range []ingress.Tenancy{ingress.Cooperative, ingress.Isolated} {
		for _, by := range []string{"class", "annotations"} {
			if tenancy == ingress.Isolated && by == "annotations" {
				continue // in isolated tenancy annotations are ignored
			}
			t.Run(fmt.Sprintf("%s, victims have settings by %s", tenancy, by), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := shopWith(t, Options{Ingress: func(o *ingress.Options) { o.Tenancy = tenancy }})
					r.Apply(shop, readyPods("web", podAddresses[:3]...), teamShop, classNamed("firm", victimParameters))
					if by == "class" {
						r.Apply(ingressInNamespace("shop", "a", "firm", "a.example.com", ""), ingressInNamespace("shop", "b", "firm", "b.example.com", ""))
					} else {
						r.Apply(victimIngresses(r, "alb", reported...)...)
					}
					settleWithoutErrors(t, r)
					value := func(line, attribute string) string {
						_, rest, _ := strings.Cut(line, attribute+`":"`)
						v, _, _ := strings.Cut(rest, `"`)
						return v
					}
					look := func() string {
						lb := strings.Join(stateOfKinds(r, "load-balancer"), "\n")
						listener := strings.Join(stateOfKinds(r, "listener"), "\n")
						return fmt.Sprintln(strings.Count(lb, "load-balancer ["), strings.Contains(lb, `"internal","ipv4"`), value(lb, "idle_timeout.timeout_seconds"),
							value(lb, "access_logs.s3.enabled"), value(lb, "Team"), value(listener, "routing.http.response.server.enabled"), attachedAddons(r), stateOfKinds(r, "security-group"))
					}
					before := look()
					if !strings.HasPrefix(before, "1 true 120 false shop false acl rig") {
						t.Fatalf("the victims have %s", before)
					}
					r.Apply(classNamed("hostile", hostileParameters), ingressInNamespace("team", "newcomer", "hostile", "team.example.com", "", "group.order", "-1000"))
					r.Settle(attackSettleTime)
					r.Start() // the process forgets the events that it has emitted
					r.Settle(attackSettleTime)
					if tenancy == ingress.Cooperative {
						expectEqual(t, "the settings of the victims", before, look())
					} else if got := look(); !strings.HasPrefix(got, "1 true 120 false shop false acl rig") || strings.Contains(got, "0.0.0.0/0") {
						t.Errorf("the settings of the victims are now %s", got)
					}
					for _, n := range []string{"a", "b"} {
						if w := warningsByObject(r)[n]; len(w) > 0 {
							t.Errorf("warnings on victim %s: %q", n, w)
						}
					}
					if len(warningsByObject(r)["newcomer"]) == 0 {
						t.Error("no warning on the newcomer")
					}
				})
			})
		}
	}
}

// TestCertificateOfNewMemberIsNotTheDefault checks that a new member does not replace the default certificate of a
// listener. Clients get the default certificate if they send no server name, or one without a certificate.
func TestCertificateOfNewMemberIsNotTheDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		theirs, other := r.Seeded.Certs["example.com"], r.Seeded.Certs["app.test"]
		secure := func(namespace, name, host string, notes ...string) string {
			return ingressInNamespace(namespace, name, "alb", host, "", append(notes, "group.name", "edge", "listen-ports", `[{"HTTPS":443}]`)...)
		}
		r.Apply(shop, readyPods("web", podAddresses[:3]...), teamShop, secure("shop", "a", "a.example.com", "certificate-arn", theirs))
		settleWithoutErrors(t, r)
		shown := func() string {
			w := r.Emulator.Store()
			w.Lock()
			defer w.Unlock()
			for _, l := range w.Partition(Account, Region).ELB.Listeners {
				return l.Certificate
			}
			return ""
		}
		expectEqual(t, "the default", theirs, shown())
		for _, list := range []string{other, other + "," + theirs} {
			r.Apply(secure("team", "newcomer", "team.app.test", "certificate-arn", list, "group.order", "-1000"))
			settleWithoutErrors(t, r)
			expectEqual(t, "the default beside a newcomer with "+list, theirs, shown())
		}
		// The owner chooses another default.
		r.Apply(secure("shop", "a", "a.example.com", "certificate-arn", other+","+theirs), secure("team", "newcomer", "team.app.test", "certificate-arn", theirs+","+other, "group.order", "1000"))
		deleteIngress(t, r, "team", "newcomer")
		settleWithoutErrors(t, r)
		expectEqual(t, "the default that its owner chooses", other, shown())
	})
}
