package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// ruleQuota is the maximum number of rules of a load balancer in these tests. It is small to keep them fast.
const ruleQuota = 20

// neighbourNamespace is namespace "team" with Service "web".
const neighbourNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team, uid: 22222222-0000-4000-8000-000000000001}
spec: {type: NodePort, ports: [{port: 80, targetPort: 8080, nodePort: 30099}]}
`

// memberKind is a kind of member of a load balancer. member returns the YAML of a member with one host. Each rule is
// "path=service" for a backend, or "path=status" for a fixed response or redirect. first gives the member the highest
// priority, if the kind supports it.
type memberKind struct {
	name   string
	shared string // YAML of further objects that the members need
	member func(namespace, name string, first bool, host string, rules ...string) string
}

// groupMember returns YAML of an Ingress in IngressGroup "edge". See memberKind for the parameters.
func groupMember(namespace, name string, first bool, host string, rules ...string) string {
	order := "10"
	if first {
		order = "-1000"
	}
	notes := []string{"group.name", "edge", "group.order", order, "target-type", "ip"}
	var paths strings.Builder
	for _, r := range rules {
		at, to, _ := strings.Cut(r, "=")
		if to[0] >= '1' && to[0] <= '9' {
			notes = append(notes, "actions.act"+to, `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"`+to+`"}}`)
			fmt.Fprintf(&paths, "\n      - {path: %s, pathType: Exact, backend: {service: {name: act%s, port: {name: use-annotation}}}}", at, to)
			continue
		}
		fmt.Fprintf(&paths, "\n      - {path: %s, pathType: Exact, backend: {service: {name: %s, port: {number: 80}}}}", at, to)
	}
	var unique []string
	for i := 0; i < len(notes); i += 2 {
		if !strings.Contains(strings.Join(unique, ","), notes[i]+",") {
			unique = append(unique, notes[i], notes[i+1])
		}
	}
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: %s
  namespace: %s
  annotations: {note: shared%s}
spec:
  ingressClassName: alb
  rules:
  - host: %s
    http:
      paths:%s
`, name, namespace, ingressAnnotations(unique...), host, paths.String())
}

// gatewayMember returns YAML of an HTTPRoute for Gateway "edge", or of two HTTPRoutes if there are more than 15 rules.
// See memberKind for the parameters.
func gatewayMember(namespace, name string, _ bool, host string, rules ...string) string {
	const most = 15
	if len(rules) > most {
		return gatewayMember(namespace, name, false, host, rules[:most]...) + "---" + gatewayMember(namespace, name+"x", false, host, rules[most:]...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: %s}
spec:
  parentRefs: [{name: edge, namespace: shop}]
  hostnames: [%s]
  rules:`, name, namespace, host)
	for _, r := range rules {
		at, to, _ := strings.Cut(r, "=")
		fmt.Fprintf(&b, "\n  - matches: [{path: {type: Exact, value: %s}}]", at)
		if to[0] >= '1' && to[0] <= '9' {
			fmt.Fprintf(&b, "\n    filters: [{type: RequestRedirect, requestRedirect: {hostname: to%s.example.com}}]", to)
			continue
		}
		fmt.Fprintf(&b, "\n    backendRefs: [{name: %s, port: 80}]", to)
	}
	return b.String() + "\n"
}

// openGateway is ALB Gateway "shop/edge", which admits routes of all namespaces.
const openGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop, uid: 33333333-0000-4000-8000-000000000001}
spec:
  gatewayClassName: alb
  listeners:
  - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
`

var memberKinds = []memberKind{
	{name: "ingress", member: groupMember},
	{name: "gateway", shared: openGateway, member: gatewayMember},
}

// neighbourRules returns n rules "path=service" with distinct paths.
func neighbourRules(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("/n%d=web", i))
	}
	return out
}

// countServed returns how many of the rules of a member are served by its target groups or its actions. missing
// describes the answers to the other rules.
func countServed(r *Harness, namespace, host string, rules ...string) (n int, missing []string) {
	for _, rule := range rules {
		at, to, _ := strings.Cut(rule, "=")
		got := answerTo(r, 80, host, at)
		own := strings.HasPrefix(got, "k8s-"+namespace+"-") // the name of the route or of the Service follows
		if to[0] >= '1' && to[0] <= '9' {
			own = got == to || got == "?"
		}
		if own {
			n++
			continue
		}
		missing = append(missing, rule+" is answered by "+got)
	}
	return n, missing
}

// TestEditIsServedAtRuleQuota checks that edits of a member are applied although the rule quota is used up and another
// member with a higher priority waits for more rules. No member loses rules to the other.
func TestEditIsServedAtRuleQuota(t *testing.T) {
	t.Parallel()
	const before, host, front = 3, "victim.example.com", "a-longer-name.example.com"
	old := []string{"/a=web", "/b=web", "/c=web"}
	edits := map[string][]string{
		"all paths":                   {"/d=web", "/e=web", "/f=web"},
		"all paths and backends":      {"/d=api", "/e=api", "/f=api"},
		"one path":                    {"/a=web", "/e=web", "/c=web"},
		"the order":                   {"/c=web", "/b=web", "/a=web"},
		"the backends":                {"/a=api", "/b=api", "/c=api"},
		"a path in front of others":   {"/0=api", "/a=web", "/b=web"},
		"what has no target group":    {"/a=418", "/e=418", "/f=503"},
		"fewer, and others of these":  {"/e=api", "/f=web"},
		"more, of which three fit":    {"/e=web", "/f=web", "/g=web", "/h=web", "/i=web"},
		"two more beside what serves": {"/a=web", "/b=web", "/c=web", "/d=web", "/e=web"},
	}
	for n, name := range slices.Sorted(maps.Keys(edits)) {
		edit := edits[name]
		for i, kind := range memberKinds {
			if (n+i)%seeds.Step(2) != 0 {
				continue // each edit with one kind; the quota is assigned in the same way for both kinds
			}
			ways := []string{"running"}
			if strings.HasPrefix(name, "all paths") || strings.HasPrefix(name, "what") {
				ways = append(ways, "restarted", "renamed")
			}
			for _, how := range ways {
				t.Run(strings.Join([]string{kind.name, name, how}, "/"), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						r := newShop(t)
						setQuota(r, "rules-per-application-load-balancer", ruleQuota)
						r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), neighbourNamespace, kind.shared)
						r.Apply(kind.member("shop", "victim", false, host, old...))
						settleWithoutErrors(t, r)
						all := neighbourRules(ruleQuota + 6)
						r.Apply(kind.member("team", "front", true, front, all...))
						r.Settle(time.Hour)
						theirs, _ := countServed(r, "team", front, all...)
						if n, missing := countServed(r, "shop", host, old...); n != before || theirs != ruleQuota-before {
							t.Fatalf("the neighbour has %d, the victim misses %v", theirs, missing)
						}
						victim := "victim"
						switch how {
						case "restarted":
							r.Kill()
							r.Settle(0)
						case "renamed":
							victim = "another"
							if err := r.Store.Delete(cluster.Ref{Kind: kindOfMember(kind), Namespace: "shop", Name: "victim"}); err != nil {
								t.Fatal(err)
							}
						}
						r.Apply(kind.member("shop", victim, false, host, edit...))
						if how == "restarted" {
							r.Start()
						}
						r.Settle(time.Minute)
						for _, when := range []string{"a minute", "an hour"} {
							n, missing := countServed(r, "shop", host, edit...)
							if n < min(before, len(edit)) {
								t.Errorf("after %s: %v; warnings %v", when, missing, warningsByObject(r)[victim])
							}
							if now, _ := countServed(r, "team", front, all...); now < theirs {
								t.Errorf("after %s the neighbour has %d rules, before %d", when, now, theirs)
							}
							r.Settle(time.Hour)
						}
						if n := len(rulesByPriority(r, 80)); n > ruleQuota {
							t.Errorf("%d rules", n)
						}
					})
				})
			}
		}
	}
}

func kindOfMember(k memberKind) cluster.Kind {
	if k.name == "ingress" {
		return cluster.KindIngress
	}
	return "HTTPRoute"
}
