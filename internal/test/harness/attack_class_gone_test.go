package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// TestNewMemberTakesNothingWhileClassIsRecreated checks that a new member of another tenant changes neither the load
// balancer nor the rules of an IngressGroup while the class of the other members is deleted and created again, as an
// upgrade may do.
func TestNewMemberTakesNothingWhileClassIsRecreated(t *testing.T) {
	t.Parallel()
	hostile := []string{
		"group.name", "edge", "group.order", "-1000", "scheme", "internet-facing", "inbound-cidrs", "0.0.0.0/0", "wafv2-acl-name", "none",
		"ip-address-type", "dualstack", "load-balancer-attributes", "idle_timeout.timeout_seconds=30,access_logs.s3.enabled=true",
		"listener-attributes.HTTP-80", "routing.http.response.server.enabled=true", "tags", "Team=team",
	}
	for _, tenancy := range []ingress.Tenancy{ingress.Cooperative, ingress.Isolated} {
		for _, lost := range []cluster.Kind{cluster.KindIngressClass, cluster.KindIngressClassParams} {
			for _, by := range []string{"annotations", "class", "ports"} {
				t.Run(fmt.Sprint(tenancy, ", without ", lost, ", the newcomer has settings by ", by), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := shopWith(t, Options{Ingress: func(o *ingress.Options) { o.Tenancy = tenancy }})
						mine := strings.Replace(hostileParameters, "group: {name: edge}, ", "", 1)
						mine = strings.Replace(mine, `, {key: access_logs.s3.bucket, value: theirs}`, "", 1)
						mine = strings.Replace(mine, `sslRedirectPort: "444", subnets: {tags: {tier: [public]}},`, "", 1)
						r.Apply(shop, readyPods("web", podAddresses[:3]...), teamShop, classNamed("firm", victimParameters), classNamed("hostile", mine))
						r.Apply(ingressInNamespace("shop", "a", "firm", "a.example.com", ""), ingressInNamespace("shop", "b", "firm", "b.example.com", ""))
						settleWithoutErrors(t, r)
						time.Sleep(time.Hour)
						class, notes, later := "hostile", hostile[:4], []string(nil)
						switch by {
						case "annotations":
							class, notes = "alb", hostile
						case "ports":
							certificate := r.Seeded.Certs["example.com"]
							later = append(slices.Clone(hostile[:4]), "listen-ports", `[{"HTTPS":80},{"HTTPS":443}]`, "ssl-redirect", "443", "certificate-arn", certificate)
							class = "alb"
						}
						r.Apply(ingressInNamespace("team", "newcomer", class, "team.example.com", "", notes...))
						if tenancy == ingress.Isolated {
							r.Apply(ingressInNamespace("team", "squatter", class, "a.example.com", "", "group.name", "edge"))
						}
						r.Settle(attackSettleTime)
						look := func() []string {
							var out []string
							for _, l := range stateOfKinds(r, "load-balancer", "security-group", "listener", "rule") {
								if strings.Contains(l, "edge") && !strings.Contains(l, "team.example.com") && !strings.Contains(l, ",443,") && !strings.Contains(l, "network") {
									out = append(out, strings.Replace(l, `"tcp 443-443 0.0.0.0/0",`, "", 1)) // only the newcomer uses port 443
								}
							}
							return append(out, webACLOf(r, "k8s-edge-"), "a: "+answerTo(r, 80, "a.example.com", "/"), "b: "+answerTo(r, 80, "b.example.com", "/"))
						}
						before := look()
						if err := r.Store.Delete(cluster.Ref{Kind: lost, Name: "firm"}); err != nil {
							t.Fatal(err)
						}
						if later != nil {
							r.Apply(ingressInNamespace("team", "newcomer", class, "team.example.com", "", later...))
						}
						r.Settle(attackSettleTime)
						if d := cmp.Diff(before, look()); d != "" {
							t.Errorf("while the class is deleted (-before +after):\n%s", d)
						}
						if later != nil {
							r.Apply(ingressInNamespace("team", "newcomer", class, "team.example.com", "", notes...)) // no annotation disables the redirect
						}
						time.Sleep(time.Hour) // the class that is created again is younger than the newcomer
						r.Apply(classNamed("firm", victimParameters))
						r.Settle(attackSettleTime)
						if d := cmp.Diff(before, look()); d != "" {
							t.Errorf("after the class is recreated (-before +after):\n%s", d)
						}
					})
				})
			}
		}
	}
}

// TestMemberWithMissingClassDoesNotDisableClassSettings checks in isolated tenancy that the class that names an
// IngressGroup can still change its settings while another member names a missing class.
func TestMemberWithMissingClassDoesNotDisableClassSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Ingress: func(o *ingress.Options) { o.Tenancy = ingress.Isolated }})
		r.Apply(shop, readyPods("web", podAddresses[:3]...), teamShop, classNamed("firm", victimParameters))
		r.Apply(ingressInNamespace("shop", "a", "firm", "a.example.com", ""), ingressInNamespace("shop", "b", "firm", "b.example.com", ""))
		settleWithoutErrors(t, r)
		r.Apply(ingressInNamespace("team", "newcomer", "alb", "team.example.com", "", "group.name", "edge"))
		settleWithoutErrors(t, r)
		r.Apply(ingressInNamespace("team", "newcomer", "none-such", "team.example.com", "group.ingress.k8s.aws/edge", "group.name", "edge"))
		r.Settle(attackSettleTime)
		r.Apply(classNamed("firm", strings.NewReplacer("10.0.0.0/8", "10.1.0.0/16", `"120"`, `"90"`).Replace(victimParameters)))
		r.Settle(attackSettleTime)
		state := strings.Join(stateOfKinds(r, "load-balancer", "security-group"), "\n")
		if !strings.Contains(state, "tcp 80-80 10.1.0.0/16") || !strings.Contains(state, `"idle_timeout.timeout_seconds":"90"`) {
			t.Errorf("the settings of the class are not applied:\n%s", state)
		}
	})
}
