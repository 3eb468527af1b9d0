package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// routeWithHyphenatedNames returns an HTTPRoute and a Service in a namespace. Tests choose namespace and name so that
// "namespace-name" is "a-b-c" for two different namespaces.
func routeWithHyphenatedNames(namespace, name, address, host string, year int) string {
	service := `
apiVersion: v1
kind: Service
metadata: {name: ` + name + `, namespace: shop}
spec: {selector: {app: ` + name + `}, ports: [{port: 80, targetPort: 8080}]}
---` + readyPods(name, address) + "---\n"
	return strings.ReplaceAll(service, "namespace: shop", "namespace: "+namespace) +
		strings.ReplaceAll(routeOfNamespace("HTTPRoute", namespace, name, year, edgeParentRef, host), "{name: web,", "{name: "+name+",")
}

// addressesServingHost returns the target addresses of each target group that receives HTTP requests for a host.
func addressesServingHost(t *testing.T, r *Harness, host string) (out []string) {
	t.Helper()
	for _, arn := range targetGroupsForHost(80, host)(r) {
		out = append(out, activeTargets(t, r, Account, arn))
	}
	return out
}

// TestRouteWithSameIDTakesNoTargetGroup checks two routes of different namespaces for which "namespace-name", the ID
// of their target groups, is the same. The second route gets neither the target group nor the targets of the first
// route, although it is older, and its deletion removes nothing of the first route.
func TestRouteWithSameIDTakesNoTargetGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := strings.Replace(ownedALBGateway, "{from: Selector, selector: {matchLabels: {team: shop}}}", "{from: All}", 1)
		r := harnessWithOwnedGateways(t, open, routeWithHyphenatedNames("a-b", "c", podAddresses[3], "victim.example.com", 2025))
		arn := targetGroupsForHost(80, "victim.example.com")(r)
		r.opt.AfterRun = func(what string, _ error) {
			if got := addressesServingHost(t, r, "victim.example.com"); !slices.Equal(got, []string{podAddresses[3]}) {
				t.Errorf("after a run of %s the victim's requests go to %q", what, got)
			}
			for _, got := range addressesServingHost(t, r, "evil.example.com") {
				if strings.Contains(got, podAddresses[3]) {
					t.Errorf("after a run of %s requests for the other host go to %q", what, got)
				}
			}
		}
		step := func(name string) {
			r.advanceTime(30 * time.Minute)
			if got := targetGroupsForHost(80, "victim.example.com")(r); !slices.Equal(got, arn) {
				t.Errorf("%s: the target group of the victim is %s, before %s", name, got, arn)
			}
		}
		evil := routeWithHyphenatedNames("a", "b-c", podAddresses[4], "evil.example.com", 2020)
		r.Apply(evil)
		step("it comes")
		refused := "rules: [{matches: [{headers: [{name: x, value: " + strings.Repeat("x", 200) + "}]}], backendRefs" // AWS refuses this header value
		r.Apply(strings.Replace(evil, "rules: [{backendRefs", refused, 1))
		step("it is held")
		if got := addressesServingHost(t, r, "evil.example.com"); !slices.Equal(got, []string{podAddresses[4]}) {
			t.Errorf("the existing rule is not held: requests go to %q", got)
		}
		r.deleteObject("HTTPRoute", "a", "b-c")
		step("it leaves")
	})
}

// TestListenerSetWithRouteOfSameIDTakesNoHost checks an older ListenerSet that is edited to claim the live host and the live
// port of another namespace. It gets neither, although "namespace-name" is the same for its route and the route that is
// served, whether the name of the target group is generated or configured. It gets neither of a route with a very long name.
func TestListenerSetWithRouteOfSameIDTakesNoHost(t *testing.T) {
	t.Parallel()
	const configured = `
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: web, namespace: bank-a}
spec:
  targetReference: {name: web}
  routeConfigurations:
  - {routeIdentifier: {kind: HTTPRoute}, targetGroupProps: {targetGroupName: mine}}
  - {routeIdentifier: {kind: TCPRoute}, targetGroupProps: {targetGroupName: wire}}
---
`
	for name, c := range map[string]struct{ config, route string }{
		"generated": {"", "web"}, "configured": {configured, "web"}, "long": {"", strings.Repeat("w", 240)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const host, port = "port: 80, protocol: HTTP, hostname: bank.example.com", "port: 7000, protocol: TCP"
				toWire := strings.Replace(listenerSetParentRef, "more", "wire", 1)
				r := harnessWithOwnedGateways(t, c.config, webServiceOf("bank-a", podAddresses[3]),
					listenerSet("bank", "more", 2020, "edge", "port: 80, protocol: HTTP, hostname: evil.example.com"), listenerSet("bank", "wire", 2020, "net", "port: 7001, protocol: TCP"),
					routeOfNamespace("HTTPRoute", "bank", "a-web", 2020, listenerSetParentRef, ""), routeOfNamespace("TCPRoute", "bank", "a-web", 2020, toWire, ""),
					listenerSet("bank-a", "more", 2024, "edge", host), listenerSet("bank-a", "wire", 2024, "net", port),
					routeOfNamespace("HTTPRoute", "bank-a", c.route, 2024, listenerSetParentRef, ""), routeOfNamespace("TCPRoute", "bank-a", c.route, 2024, toWire, ""))
				serving := func() string {
					return strings.Join(append(targetGroupsForHost(80, "bank.example.com")(r), targetGroupsForHost(7000, "")(r)...), " ")
				}
				before := serving()
				if configured := strings.Contains(before, "/mine/") && strings.Contains(before, "/wire/"); configured != (c.config != "") {
					t.Fatalf("the target groups before: %s", before)
				}
				r.Apply(listenerSet("bank", "more", 2020, "edge", host), listenerSet("bank", "wire", 2020, "net", port))
				r.advanceTime(10 * time.Minute)
				expectEqual(t, "the target groups", before, serving())
				expectEqual(t, "the older ListenerSets", "HostnameConflict False, ProtocolConflict False", listenerSetConflict(r, "bank", "more")+", "+listenerSetConflict(r, "bank", "wire"))
			})
		})
	}
}

// TestRouteWithLongNameKeepsOneBinding checks a route whose name is so long that the ID of its target group is shortened, in
// another namespace than its Gateway. Its TargetGroupBinding is found again, so that no steps remain, and it is deleted with
// the target group.
func TestRouteWithLongNameKeepsOneBinding(t *testing.T) {
	t.Parallel()
	for _, length := range []int{220, 240} { // the kind and the name of the route are cut off
		synctest.Test(t, func(t *testing.T) {
			name, web := strings.Repeat("r", length), webServiceOf("shop", podAddresses[3])
			r := harnessWithOwnedGateways(t, web, routeOfNamespace("HTTPRoute", "shop", name, 2025, edgeParentRef, "shop.example.com"))
			expect := func(when string, bindings int) {
				t.Helper()
				r.advanceTime(30 * time.Minute)
				found := cluster.List[*elbv2.TargetGroupBinding](cluster.NewView(r.Store), cluster.Query{Kind: cluster.KindBinding})
				steps := r.Draft(model.StackID{Kind: model.ALBGateway, Namespace: "infra", Name: "edge"}).Plan.Steps
				if len(found) != bindings || len(steps) > 0 {
					t.Errorf("%s, %d letters: %d bindings, want %d, steps %v", when, length, len(found), bindings, steps)
				}
			}
			expect("created", 1)
			r.Apply(strings.Replace(web, "targetPort: 8080", "targetPort: 8081", 1))
			expect("with another target group", 1)
			r.deleteObject("HTTPRoute", "shop", name)
			expect("deleted", 0)
		})
	}
}
