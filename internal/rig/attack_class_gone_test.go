package rig

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/frontend/ingress"
)

// While the class of the victims is deleted and made again, as an upgrade does, they are not accepted. A
// newcomer that waits for this moment gets neither their hosts nor their load balancer.
func TestNothingIsTakenWhileAClassIsMadeAgain(t *testing.T) {
	hostile := []string{
		"group.name", "edge", "group.order", "-1000", "scheme", "internet-facing", "inbound-cidrs", "0.0.0.0/0", "wafv2-acl-name", "none",
		"ip-address-type", "dualstack", "load-balancer-attributes", "idle_timeout.timeout_seconds=30,access_logs.s3.enabled=true",
		"listener-attributes.HTTP-80", "routing.http.response.server.enabled=true", "tags", "Team=team",
	}
	for _, tenancy := range []ingress.Tenancy{ingress.Cooperative, ingress.Isolated} {
		for _, lost := range []cluster.Kind{cluster.KindIngressClass, cluster.KindIngressClassParams} {
			for _, by := range []string{"annotations", "class"} {
				t.Run(fmt.Sprint(tenancy, ", without ", lost, ", the newcomer speaks by ", by), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := shopWith(t, Options{Ingress: func(o *ingress.Options) { o.Tenancy = tenancy }})
						mine := strings.Replace(hostileParameters, "group: {name: edge}, ", "", 1)
						mine = strings.Replace(mine, `, {key: access_logs.s3.bucket, value: theirs}`, "", 1)
						mine = strings.Replace(mine, `sslRedirectPort: "444", subnets: {tags: {tier: [public]}},`, "", 1)
						r.Apply(shop, pods("web", podAddresses[:3]...), teamShop, classNamed("firm", firm), classNamed("hostile", mine))
						r.Apply(inGroup("shop", "a", "firm", "a.example.com", ""), inGroup("shop", "b", "firm", "b.example.com", ""))
						settled(t, r)
						class, notes := "hostile", hostile[:4]
						if by == "annotations" {
							class, notes = "alb", hostile
						}
						r.Apply(inGroup("team", "newcomer", class, "team.example.com", "", notes...))
						if tenancy == ingress.Isolated {
							r.Apply(inGroup("team", "squatter", class, "a.example.com", "", "group.name", "edge"))
						}
						r.Settle(settleFor)
						look := func() []string {
							var out []string
							for _, l := range onlyOf(r, "load-balancer", "security-group", "listener", "rule") {
								if strings.Contains(l, "edge") && !strings.Contains(l, "team.example.com") {
									out = append(out, l)
								}
							}
							return append(out, webACLOf(r, "k8s-edge-"), "a: "+answered(r, 80, "a.example.com", "/"), "b: "+answered(r, 80, "b.example.com", "/"))
						}
						before := look()
						if err := r.Store.Delete(cluster.Ref{Kind: lost, Name: "firm"}); err != nil {
							t.Fatal(err)
						}
						r.Settle(settleFor)
						if d := cmp.Diff(before, look()); d != "" {
							t.Errorf("while it is gone (-before +after):\n%s", d)
						}
						r.Apply(classNamed("firm", firm))
						r.Settle(settleFor)
						if d := cmp.Diff(before, look()); d != "" {
							t.Errorf("when it is back (-before +after):\n%s", d)
						}
					})
				})
			}
		}
	}
}
