package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// TestOldIngressThatJoinsIsANewMember checks that an Ingress that joins an IngressGroup does not change the settings of
// the other members, although it is older than they are.
func TestOldIngressThatJoinsIsANewMember(t *testing.T) {
	t.Parallel()
	reported := []string{
		"scheme", "internal", "inbound-cidrs", "10.0.0.0/8", "wafv2-acl-name", "rig", "ip-address-type", "ipv4", "tags", "Team=shop",
		"load-balancer-attributes", "idle_timeout.timeout_seconds=120,access_logs.s3.enabled=false",
	}
	for _, tenancy := range []ingress.Tenancy{ingress.Cooperative, ingress.Isolated} {
		for _, by := range []string{"class", "annotations"} {
			if tenancy == ingress.Isolated && by == "annotations" {
				continue
			}
			t.Run(fmt.Sprintf("%s, victims have settings by %s", tenancy, by), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := shopWith(t, Options{Ingress: func(o *ingress.Options) { o.Tenancy = tenancy }})
					alone := strings.Replace(hostileParameters, "group: {name: edge}, ", "", 1)
					alone = strings.Replace(alone, `, {key: access_logs.s3.bucket, value: theirs}`, "", 1) // a setting that the victims do not have
					alone = strings.Replace(alone, `sslRedirectPort: "444", subnets: {tags: {tier: [public]}},`, "", 1)
					r.Apply(shop, readyPods("web", podAddresses[:3]...), teamShop, classNamed("firm", victimParameters), classNamed("hostile", alone))
					time.Sleep(time.Hour)
					r.Apply(ingressInNamespace("team", "newcomer", "hostile", "team.example.com", ""))
					settleWithoutErrors(t, r)
					time.Sleep(time.Hour)
					if by == "class" {
						r.Apply(ingressInNamespace("shop", "a", "firm", "a.example.com", ""), ingressInNamespace("shop", "b", "firm", "b.example.com", ""))
					} else {
						r.Apply(ingressInNamespace("shop", "a", "alb", "a.example.com", "", append(reported, "group.name", "edge")...), ingressInNamespace("shop", "b", "alb", "b.example.com", "", append(reported, "group.name", "edge")...))
					}
					settleWithoutErrors(t, r)
					look := func() []string {
						var out []string
						for _, l := range stateOfKinds(r, "load-balancer", "security-group", "listener") {
							if strings.Contains(l, "edge") {
								out = append(out, l)
							}
						}
						return append(out, webACLOf(r, "k8s-edge-"))
					}
					before := look()
					r.Apply(ingressInNamespace("team", "newcomer", "hostile", "team.example.com", "", "group.name", "edge", "group.order", "-1000"))
					r.Settle(attackSettleTime)
					r.Start()
					r.Settle(attackSettleTime)
					if d := cmp.Diff(before, look()); d != "" {
						t.Errorf("(-before +after):\n%s", d)
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

// webACLOf returns the web ACL of the load balancer whose name has the given prefix, or "" without such a load
// balancer.
func webACLOf(r *Harness, name string) string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	for arn, lb := range p.ELB.LoadBalancers {
		if strings.HasPrefix(lb.Name, name) {
			return "web ACL " + p.WAFv2.Associations[arn]
		}
	}
	return ""
}
