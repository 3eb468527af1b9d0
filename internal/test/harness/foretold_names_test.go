package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// TestOccupiedLoadBalancerNameDoesNotBlockOthers checks that a tenant cannot prevent the creation of another tenant's
// load balancers by using their computed names, which are predictable.
func TestOccupiedLoadBalancerNameDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	edge := naming.IngressLoadBalancerName(ClusterName, model.StackID{Kind: model.Ingress, Name: "edge"}, model.Internal)
	for what, c := range map[string]struct {
		name  string
		taken int
	}{
		"load balancer":     {edge, 1},
		"frontend NLB":      {naming.FrontendNLBName(edge), 1},
		"its first 6 names": {edge, 6},
		"its first 8 names": {edge, 8},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...), teamShop)
				for n := 1; n <= c.taken; n++ {
					r.Apply(ingressInNamespace("team", fmt.Sprintf("thief-%d", n), "alb", fmt.Sprintf("t%d.example.com", n), "", "load-balancer-name", naming.AlternativeName(c.name, n)))
				}
				settleWithoutErrors(t, r)
				taken := stateOfKinds(r, "load-balancer")
				r.Apply(victimIngresses(r, "alb", "group.name", "edge", "enable-frontend-nlb", "true", "frontend-nlb-scheme", "internal")...)
				settleWithoutErrors(t, r)
				if n := len(stateOfKinds(r, "load-balancer")); n != c.taken+2 {
					t.Errorf("%d load balancers: %s\n%q", n, stateOfKinds(r, "load-balancer"), warningsByObject(r))
				}
				// A run tries only a few names. If more names are occupied, warnings are emitted between the runs.
				if got := warningsByObject(r); len(got) > 0 && c.taken == 1 {
					t.Errorf("warnings: %q", got)
				}
				for _, lb := range taken {
					if !slices.Contains(r.State(), lb) {
						t.Errorf("not as before: %s", lb)
					}
				}
				r.Emulator.Calls().Reset()
				r.advanceTime(6 * time.Hour)
				if n := r.Emulator.Calls().Count("CreateLoadBalancer"); n > 0 {
					t.Errorf("%d calls to create a load balancer after all were created", n)
				}
			})
		})
	}
}

// TestOccupiedTargetGroupNameDoesNotBlockOthers checks that a tenant cannot prevent the creation of another tenant's
// target group by configuring its computed name for a target group.
func TestOccupiedTargetGroupNameDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := strings.Replace(ownedALBGateway, "{from: Selector, selector: {matchLabels: {team: shop}}}", "{from: All}", 1)
		victim := routeOfNamespace("HTTPRoute", "shop", "shop", 2025, edgeParentRef, "shop.example.com")
		r := harnessWithOwnedGateways(t, open, victim)
		name := ""
		for _, arn := range targetGroupsForHost(80, "shop.example.com")(r) {
			name = strings.Split(arn, "/")[1]
		}
		if name == "" {
			t.Fatal("the victim's route is not served")
		}
		r.deleteObject("HTTPRoute", "shop", "shop")
		r.advanceTime(30 * time.Minute)
		r.Apply(routeOfNamespace("HTTPRoute", "evil", "evil", 2020, edgeParentRef, "evil.example.com"), `
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: web, namespace: evil}
spec: {targetReference: {name: web}, defaultConfiguration: {targetGroupName: `+name+`}}
`)
		r.advanceTime(30 * time.Minute)
		if !slices.ContainsFunc(targetGroupsForHost(80, "evil.example.com")(r), func(arn string) bool { return strings.Contains(arn, "/"+name+"/") }) {
			t.Fatalf("the target group of namespace evil is not named %s", name)
		}
		r.Apply(victim)
		r.advanceTime(30 * time.Minute)
		arns := targetGroupsForHost(80, "shop.example.com")(r)
		if len(arns) == 0 {
			t.Fatalf("the victim's route is not served\n%q", warningsByObject(r))
		}
		if got := activeTargets(t, r, Account, arns[0]); got != podAddresses[0] {
			t.Errorf("requests of the victim go to %s", got)
		}
	})
}
