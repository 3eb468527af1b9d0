package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// teamShop has namespace "team" with Service "web", and IngressClass "pinned" with IngressGroup "edge". The class
// admits namespace "shop", but not "team".
const teamShop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {edge: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team, uid: 22222222-0000-4000-8000-000000000001}
spec: {type: NodePort, ports: [{port: 80, nodePort: 30099}]}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: pinned}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: pinned}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: pinned}
spec: {group: {name: edge}, namespaceSelector: {matchLabels: {edge: "yes"}}}
`

// ingressInNamespace returns YAML of an Ingress with one rule to Service "web" of its namespace. finalizer is its
// finalizer, or "" for none. notes are alternating names and values of annotations.
func ingressInNamespace(namespace, name, class, host, finalizer string, notes ...string) string {
	fin := ""
	if finalizer != "" {
		fin = "\n  finalizers: [" + finalizer + "]"
	}
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: %[2]s
  namespace: %[1]s%[5]s
  annotations: {%[6]starget-type: ip%[7]s}
spec:
  ingressClassName: %[3]s
  rules:
  - host: %[4]s
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`, namespace, name, class, host, fin, annotationPrefix, ingressAnnotations(notes...))
}

// victimIngresses returns shop, teamShop, pods, and the two Ingresses "shop/a" and "shop/b" with the same settings for
// their load balancer. notes are further annotations.
func victimIngresses(r *Harness, class string, notes ...string) []string {
	notes = append(notes, "scheme", "internal", "inbound-cidrs", "10.0.0.0/8", "wafv2-acl-name", "rig")
	return []string{
		shop, readyPods("web", podAddresses[:3]...), teamShop,
		ingressInNamespace("shop", "a", class, "a.example.com", "", notes...), ingressInNamespace("shop", "b", class, "b.example.com", "", notes...),
	}
}

// attackAndCheckVictims applies objects of namespace "team". It fails the test if the load balancer of victimIngresses,
// its security groups or its listeners change, or if a victim has warnings.
func attackAndCheckVictims(t *testing.T, r *Harness, docs ...string) {
	t.Helper()
	kinds := []string{"load-balancer", "security-group", "web-acl", "listener"}
	settleWithoutErrors(t, r)
	before := stateOfKinds(r, kinds...)
	if len(webACLLines(r)) != 1 {
		t.Fatalf("the victims have the web ACLs %q, want one", webACLLines(r))
	}
	r.Emulator.Calls().Reset()
	r.Apply(docs...)
	settleWithoutErrors(t, r)
	if d := cmp.Diff(before, stateOfKinds(r, kinds...)); d != "" {
		t.Errorf("the load balancer has changed (-before +after):\n%s", d)
	}
	for name, w := range warningsByObject(r) {
		if name == "a" || name == "b" {
			t.Errorf("warnings on victim %s: %q", name, w)
		}
	}
}

// TestFinalizerDoesNotMakeMember checks that an Ingress that has the finalizer of an IngressGroup, but is not admitted by
// the class, changes nothing in AWS.
func TestFinalizerDoesNotMakeMember(t *testing.T) {
	t.Parallel()
	hostile := []string{
		"scheme", "internet-facing", "inbound-cidrs", "0.0.0.0/0", "ssl-redirect", "444", "enable-frontend-nlb", "true",
		"frontend-nlb-scheme", "internet-facing", "load-balancer-attributes", "access_logs.s3.enabled=true,access_logs.s3.bucket=theirs",
		"group.order", "-1000", "wafv2-acl-name", "none",
	}
	for _, class := range []string{"pinned", "missing"} {
		for _, own := range []bool{false, true} {
			t.Run(fmt.Sprintf("class %s, security groups of their own: %v", class, own), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					r.Apply(victimIngresses(r, "pinned")...)
					notes := hostile
					if own {
						notes = append(slices.Clone(hostile), "security-groups", r.Seeded.ExtraSG)
					}
					attackAndCheckVictims(t, r, ingressInNamespace("team", "hostile", class, "a.example.com", "group.ingress.k8s.aws/edge", notes...))
					for _, rule := range stateOfKinds(r, "rule", "target-group") {
						if strings.Contains(rule, "team") {
							t.Errorf("a resource was created for the Ingress: %s", rule)
						}
					}
				})
			})
		}
	}
}

// TestForgedFinalizerKeepsNoLoadBalancer checks that an Ingress of another namespace with the finalizer of an
// IngressGroup, and with deletion protection, does not prevent the deletion of the load balancer.
func TestForgedFinalizerKeepsNoLoadBalancer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(victimIngresses(r, "pinned")...)
		settleWithoutErrors(t, r)
		r.Apply(ingressInNamespace("team", "hostile", "pinned", "a.example.com", "group.ingress.k8s.aws/edge", "load-balancer-attributes", "deletion_protection.enabled=true"))
		settleWithoutErrors(t, r)
		deleteIngress(t, r, "team", "hostile")
		deleteIngress(t, r, "shop", "a")
		deleteIngress(t, r, "shop", "b")
		settleWithoutErrors(t, r)
		if left := stateOfKinds(r, "load-balancer", "target-group"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// TestConflictingNewMemberChangesNothing checks that a new member of an IngressGroup whose settings conflict with the
// other members, or are invalid, does not change the load balancer, and is warned.
func TestConflictingNewMemberChangesNothing(t *testing.T) {
	t.Parallel()
	for name, notes := range map[string][]string{
		"scheme":          {"scheme", "internet-facing"},
		"client ranges":   {"scheme", "internal", "inbound-cidrs", "0.0.0.0/0"},
		"web ACL removed": {"wafv2-acl-name", "none"},
		"web ACL by ARN":  {"wafv2-acl-arn", "none"},
		"security groups": {"security-groups", "extra-sg"},
		"everything": {"scheme", "internet-facing", "inbound-cidrs", "0.0.0.0/0", "wafv2-acl-name", "none", "security-groups", "extra-sg",
			"ssl-redirect", "444", "listen-ports", `[{"HTTPS":80}]`},
		"unreadable": {"scheme", "outside", "inbound-cidrs", "everywhere", "group.order", "first", "ssl-redirect", "444"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
				settleWithoutErrors(t, r)
				if !slices.Contains(notes, "group.order") {
					notes = append(notes, "group.order", "-1000")
				}
				attackAndCheckVictims(t, r, ingressInNamespace("team", "newcomer", "alb", "team.example.com", "", append(notes, "group.name", "edge")...))
				if w := warningsByObject(r)["newcomer"]; len(w) == 0 {
					t.Error("the new member has no warning")
				}
				// A setting that both members of namespace "shop" change in the same way is applied.
				for _, n := range []string{"a", "b"} {
					r.Apply(ingressInNamespace("shop", n, "alb", n+".example.com", "", "group.name", "edge", "scheme", "internal", "inbound-cidrs", "10.1.0.0/16", "wafv2-acl-name", "rig"))
				}
				deleteIngress(t, r, "team", "newcomer")
				settleWithoutErrors(t, r)
				if groups := strings.Join(stateOfKinds(r, "security-group"), "\n"); !strings.Contains(groups, "10.1.0.0/16") {
					t.Errorf("the victims cannot change their client ranges:\n%s", groups)
				}
			})
		})
	}
}

// TestRedirectToClosedPortChangesNothing checks that an invalid member with an SSL redirect to a port without listener
// changes no rule and no listener.
func TestRedirectToClosedPortChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
		settleWithoutErrors(t, r)
		first := ingressInNamespace("team", "newcomer", "alb", "team.example.com", "", "group.name", "edge")
		r.Apply(first)
		settleWithoutErrors(t, r)
		before := stateOfKinds(r, "rule", "listener")
		r.Apply(ingressInNamespace("team", "newcomer", "alb", "team.example.com", "", "group.name", "edge", "ssl-redirect", "444", "group.order", "first"))
		settleWithoutErrors(t, r)
		if d := cmp.Diff(before, stateOfKinds(r, "rule", "listener")); d != "" {
			t.Errorf("(-before +after):\n%s", d)
		}
	})
}

// TestRulesOfManyPortsAndPathsAreLimited checks that a member of an IngressGroup is not served if its ports and paths
// together need too many rules, and that the warning names the flag of the limit.
func TestRulesOfManyPortsAndPathsAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Ingress: func(o *ingress.Options) { o.MaxRules = 50 }})
		r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
		settleWithoutErrors(t, r)
		var ports []string
		for n := range 60 {
			ports = append(ports, fmt.Sprintf(`{"HTTP":%d}`, 8000+n))
		}
		attackAndCheckVictims(t, r, ingressInNamespace("team", "large", "alb", "team.example.com", "", "group.name", "edge", "listen-ports", "["+strings.Join(ports, ",")+"]"))
		if w := warningsByObject(r)["large"]; len(w) != 1 || !strings.Contains(w[0], "IngressTooLarge") || !strings.Contains(w[0], "--max-rules-per-namespace") {
			t.Errorf("warnings: %q", w)
		}
	})
}

func deleteIngress(t *testing.T, r *Harness, namespace, name string) {
	t.Helper()
	if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: name}); err != nil {
		t.Fatal(err)
	}
}
