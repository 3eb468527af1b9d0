package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
