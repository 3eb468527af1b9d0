package ingress_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

const frozenNameObjects = `
apiVersion: v1
kind: Service
metadata: {name: kiosk, namespace: garden, uid: 3f0d6c1e-58a2-4d0b-9a77-c1e2d3f40516}
spec:
  ports: [{name: web, port: 80, targetPort: 8080}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: rose-bed
  namespace: garden
  annotations: {alb.ingress.kubernetes.io/target-type: ip, kubernetes.io/ingress.class: alb%s}
spec:
  rules:
    - host: rose.garden.example
      http:
        paths: [{path: /, pathType: Prefix, backend: {service: {name: kiosk, port: {%s}}}}]
`

// TestFrozenNames checks generated names and ids that must never change, because existing load balancers, security groups
// and target groups have them.
func TestFrozenNames(t *testing.T) {
	implicit := model.StackID{Kind: model.Ingress, Namespace: "garden", Name: "rose-bed"}
	group := model.StackID{Kind: model.Ingress, Name: "tulips"}
	for name, c := range map[string]struct {
		id                model.StackID
		annotations, port string
		alb, sg, tg, tgID string
	}{
		"internal, port by number": {id: implicit, port: "number: 80",
			alb: "k8s-garden-rosebed-635d5ae520", sg: "k8s-garden-rosebed-2e191b3f86", tg: "k8s-garden-kiosk-77907179cd", tgID: "garden/rose-bed-kiosk:80"},
		"internet-facing, port by name": {id: implicit, annotations: ", alb.ingress.kubernetes.io/scheme: internet-facing", port: "name: web",
			alb: "k8s-garden-rosebed-79b6ed9085", sg: "k8s-garden-rosebed-2e191b3f86", tg: "k8s-garden-kiosk-5af380819c", tgID: "garden/rose-bed-kiosk:web"},
		"control port": {id: implicit, annotations: `, alb.ingress.kubernetes.io/target-control-port.kiosk.80: "9099"`, port: "number: 80",
			alb: "k8s-garden-rosebed-635d5ae520", sg: "k8s-garden-rosebed-2e191b3f86", tg: "k8s-garden-kiosk-fed198e68d", tgID: "garden/rose-bed-kiosk:80"},
		"explicit group": {id: group, annotations: ", alb.ingress.kubernetes.io/scheme: internet-facing, alb.ingress.kubernetes.io/group.name: tulips", port: "number: 80",
			alb: "k8s-tulips-f74bc9fcc6", sg: "k8s-tulips-8a54a747e3", tg: "k8s-garden-kiosk-b9ddd19958", tgID: "garden/rose-bed-kiosk:80"},
	} {
		t.Run(name, func(t *testing.T) {
			f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "orchid-7"}, Class: "alb"})
			stack, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, fmt.Sprintf(frozenNameObjects, c.annotations, c.port)), c.id, nil)
			if len(found) > 0 {
				t.Fatal(found)
			}
			check := func(what, want, got string) {
				if want != "" && want != got {
					t.Errorf("%s: want %s, got %s", what, want, got)
				}
			}
			check("load balancer", c.alb, stack.LoadBalancer.Name)
			check("security group", c.sg, stack.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged).Group.Name)
			check("target group", c.tg, stack.TargetGroups[0].Name)
			check("target group id", c.tgID, stack.TargetGroups[0].ID)
			check("binding", stack.TargetGroups[0].Name, stack.TargetGroups[0].Binding.Name)
		})
	}
}

func TestNamesOfFrontendNLBAndCertificateNeverChange(t *testing.T) {
	f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "orchid-7", ManageCertificates: true}, Class: "alb"})
	doc := fmt.Sprintf(frozenNameObjects, `, alb.ingress.kubernetes.io/scheme: internet-facing, alb.ingress.kubernetes.io/enable-frontend-nlb: "true",
    alb.ingress.kubernetes.io/create-acm-cert: "true", alb.ingress.kubernetes.io/listen-ports: '[{"HTTP":80}]'`, "number: 80")
	stack, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, strings.Replace(doc, "rose.garden.example", `"*.garden.example"`, 1)), model.StackID{Kind: model.Ingress, Namespace: "garden", Name: "rose-bed"}, nil)
	if len(found) > 0 {
		t.Fatal(found)
	}
	if got, want := stack.FrontendNLB.Name, "k8s-garden-rosebed-79b6ed908-nlb"; got != want {
		t.Errorf("network load balancer: want %s, got %s", want, got)
	}
	if got, want := stack.Certificates[0].ID, "amazon_issued/wildcard.garden.example-c353b3c7"; got != want {
		t.Errorf("certificate: want %s, got %s", want, got)
	}
	i := slices.IndexFunc(stack.TargetGroups, func(g model.TargetGroup) bool { return g.ID == "FrontendNlb-tg-TCP-80" })
	if i < 0 || stack.TargetGroups[i].Name != "k8s-garden-rosebed-85f8de6d2e" {
		t.Errorf("target groups: %+v", stack.TargetGroups)
	}
}

// twoMemberDocs returns the YAML of Ingresses "a" and "b" of IngressGroup "g", in random order, and of their Service. first
// has the lines to add to Ingress "a", second those for "b". A line is an annotation without prefix, or, if it begins with
// "spec:", a field of the spec.
func twoMemberDocs(first, second string) string {
	var out strings.Builder
	for name, says := range map[string]string{"a": first, "b": second} {
		var annotations, backend string
		for line := range strings.Lines(says) {
			if rest, ok := strings.CutPrefix(line, "spec:"); ok {
				backend = rest
			} else {
				annotations += "    alb.ingress.kubernetes.io/" + line
			}
		}
		fmt.Fprintf(&out, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: %[1]s
  namespace: ns
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/group.name: g
    alb.ingress.kubernetes.io/target-type: ip
%[2]s
spec:
  %[3]s
  rules: [{http: {paths: [{path: /%[1]s, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
---`, name, annotations, strings.TrimSpace(backend))
	}
	return out.String() + `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: ns}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`
}

// TestConflictsOfMembers checks, for members of an IngressGroup that disagree on a setting, that the value of the first
// member is used, and that a finding is reported on the second member. With StrictGroups, the whole stack is held.
func TestConflictsOfMembers(t *testing.T) {
	const secure = "listen-ports: '[{\"HTTPS\":443},{\"HTTPS\":8443}]'\ncertificate-arn: c\n"
	const backend = "spec:defaultBackend: {service: {name: web, port: {number: 80}}}\n"
	for name, c := range map[string]struct{ first, second, field string }{
		"scheme":                   {"scheme: internal\n", "scheme: internet-facing\n", "scheme"},
		"name":                     {"load-balancer-name: one\n", "load-balancer-name: two\n", "load-balancer-name"},
		"protocol of a port":       {"listen-ports: '[{\"HTTP\":80}]'\n", "listen-ports: '[{\"HTTPS\":80}]'\ncertificate-arn: c\n", "listen-ports"},
		"TLS policy":               {secure + "ssl-policy: one\n", secure + "ssl-policy: two\n", "ssl-policy"},
		"client ranges":            {"inbound-cidrs: 10.0.0.0/8\n", "inbound-cidrs: 10.0.0.0/9\n", "inbound-cidrs"},
		"tags":                     {"tags: Env=a\n", "tags: Env=b\n", "tags"},
		"order of security groups": {"security-groups: sg-1,sg-2\n", "security-groups: sg-2,sg-1\n", "security-groups"},
		"default backends":         {backend, backend, "spec.defaultBackend"},
		"redirects":                {secure + "ssl-redirect: \"443\"\n", secure + "ssl-redirect: \"8443\"\n", "ssl-redirect"},
		"attributes":               {"load-balancer-attributes: idle_timeout.timeout_seconds=60\n", "load-balancer-attributes: idle_timeout.timeout_seconds=120\n", "load-balancer-attributes"},
	} {
		t.Run(name, func(t *testing.T) {
			src := enginetest.LoadObjects(t, twoMemberDocs(c.first, c.second))
			id := model.StackID{Kind: model.Ingress, Name: "g"}
			stack, found := enginetest.Translate(t, ingress.New(ingress.Options{Options: assemble.Options{Cluster: "c"}, Class: "alb"}), src, id, nil)
			if len(found) == 0 || stack.Held.AllResources {
				t.Fatalf("hold %v, %v", stack.Held.AllResources, found)
			}
			for _, f := range found {
				if f.Object.Name != "b" || strings.TrimPrefix(f.Field, settings.Prefix) != c.field || f.Severity != finding.Error {
					t.Errorf("got %s", f)
				}
			}
			if strict, _ := enginetest.Translate(t, ingress.New(ingress.Options{Options: assemble.Options{Cluster: "c", StrictGroups: true}, Class: "alb"}), src, id, nil); !strict.Held.AllResources {
				t.Error("strict groups are not held")
			}
			alike, _ := enginetest.Translate(t, ingress.New(ingress.Options{Options: assemble.Options{Cluster: "c"}, Class: "alb"}), enginetest.LoadObjects(t, twoMemberDocs(c.first, c.first)), id, nil)
			stack.LoadBalancer.Listeners, alike.LoadBalancer.Listeners = nil, nil
			if d := cmp.Diff(alike.LoadBalancer, stack.LoadBalancer); d != "" && c.field != "listen-ports" {
				t.Errorf("the first member does not win:\n%s", d)
			}
		})
	}
}

func TestMemberSettingsThatDoNotConflict(t *testing.T) {
	for name, c := range map[string]struct{ first, second string }{
		"order of subnets":      {"subnets: s-1,s-2\n", "subnets: s-2,s-1\n"},
		"ranges of other ports": {"inbound-cidrs: 10.0.0.0/8\n", "inbound-cidrs: 10.0.0.0/9\nlisten-ports: '[{\"HTTP\":81}]'\n"},
	} {
		t.Run(name, func(t *testing.T) { translateWithoutConflict(t, twoMemberDocs(c.first, c.second)) })
	}
	for _, one := range []string{"scheme: internet-facing", "load-balancer-name: one", "ip-address-type: dualstack", "subnets: s-1", "security-groups: sg-1",
		"manage-backend-security-group-rules: \"true\"", "customer-owned-ipv4-pool: p", "ipam-ipv4-pool-id: p", "load-balancer-attributes: a=b", "tags: a=b",
		"wafv2-acl-arn: arn", "wafv2-acl-name: name", "waf-acl-id: id", "web-acl-id: id", "shield-advanced-protection: \"true\"", "inbound-cidrs: 10.0.0.0/8",
		"security-group-prefix-lists: pl-1", "enable-frontend-nlb: \"true\"", "minimum-load-balancer-capacity: CapacityUnits=7"} {
		t.Run("said by one only: "+one, func(t *testing.T) {
			translateWithoutConflict(t, twoMemberDocs(one+"\n", ""))
			translateWithoutConflict(t, twoMemberDocs("", one+"\n"))
		})
	}
	t.Run("attributes that the first member's class decides", func(t *testing.T) {
		doc := twoMemberDocs("load-balancer-attributes: idle_timeout.timeout_seconds=60\nspec:ingressClassName: decides\n", "load-balancer-attributes: idle_timeout.timeout_seconds=120\n")
		first := strings.Index(doc, "name: a\n")
		doc = doc[:first] + strings.Replace(doc[first:], "    kubernetes.io/ingress.class: alb\n", "", 1) + `
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: decides}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: decides}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: decides}
spec: {loadBalancerAttributes: [{key: idle_timeout.timeout_seconds, value: "33"}]}
`
		if got := translateWithoutConflict(t, doc).LoadBalancer.Attributes; got["idle_timeout.timeout_seconds"] != "33" {
			t.Errorf("got %v", got)
		}
	})
}

func translateWithoutConflict(t *testing.T, doc string) model.Stack {
	t.Helper()
	stack, found := enginetest.Translate(t, ingress.New(ingress.Options{Options: assemble.Options{Cluster: "c"}, Class: "alb"}), enginetest.LoadObjects(t, doc), model.StackID{Kind: model.Ingress, Name: "g"}, nil)
	if len(found) > 0 {
		t.Errorf("got %v", found)
	}
	return stack
}

func TestInvalidIngressGroupNameGivesSeparateStack(t *testing.T) {
	for name, valid := range map[string]bool{
		"a": true, "a.b-c": true, "1": true, strings.Repeat("a", 63): true, "a--b": true,
		"": false, "-a": false, "a-": false, "A": false, "a_b": false, ".a": false, "a.": false, "é": false, "a\n": false, strings.Repeat("a", 64): false,
	} {
		src, err := cluster.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		ing := &networkingv1.Ingress{}
		ing.Namespace, ing.Name = "ns", "i"
		ing.Annotations = map[string]string{"kubernetes.io/ingress.class": "alb", settings.Prefix + "group.name": name}
		if err := src.Put(ing); err != nil {
			t.Fatal(err)
		}
		own := model.StackID{Kind: model.Ingress, Namespace: "ns", Name: "i"}
		got := ingress.New(ingress.Options{Class: "alb"}).Stacks(cluster.NewView(src), ing)
		if valid != slices.Equal(got, []model.StackID{{Kind: model.Ingress, Name: name}}) || !valid && !slices.Equal(got, []model.StackID{own}) {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestMembersAreSortedByGroupOrder checks that members are sorted by group.order, and members with equal group.order by the
// bytes of "namespace/name".
func TestMembersAreSortedByGroupOrder(t *testing.T) {
	src, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct{ namespace, name, order string }{
		{"ns", "z", ""}, {"ns-1", "a", ""}, {"ns", "a", "0"}, {"zz", "first", "-1000"}, {"aa", "last", "1000"}, {"aa", "wrong", "1001"}, {"b", "plus", "+1"},
	} {
		ing := &networkingv1.Ingress{}
		ing.Namespace, ing.Name = m.namespace, m.name
		ing.Annotations = map[string]string{"kubernetes.io/ingress.class": "alb", settings.Prefix + "group.name": "g"}
		if m.order != "" {
			ing.Annotations[settings.Prefix+"group.order"] = m.order
		}
		if err := src.Put(ing); err != nil {
			t.Fatal(err)
		}
	}
	stack, found := enginetest.Translate(t, ingress.New(ingress.Options{Options: assemble.Options{Cluster: "c"}, Class: "alb"}), src, model.StackID{Kind: model.Ingress, Name: "g"}, nil)
	var got []string
	for _, m := range stack.Members {
		got = append(got, m.Ref.Namespace+"/"+m.Ref.Name)
	}
	want := []string{"zz/first", "aa/wrong", "ns-1/a", "ns/a", "ns/z", "b/plus", "aa/last"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(found) != 1 || found[0].Object.Name != "wrong" || found[0].Reason != finding.GroupOrderInvalid || found[0].Blocks != finding.BlocksMember {
		t.Errorf("got %v", found)
	}
}
