package harness

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestBrokenPortOfAnotherDoesNotBlockReplacement checks that an invalid port setting of another namespace, for its
// port or a shared port, does not block the replacement of a load balancer. After the correction, the port is served.
func TestBrokenPortOfAnotherDoesNotBlockReplacement(t *testing.T) {
	t.Parallel()
	const none = "arn:aws:acm:us-west-2:123456789012:certificate/00000000-0000-4000-8000-000000000000"
	for name, c := range map[string]struct {
		good, bad []string
		port      string // the port that the other namespace uses
	}{
		"certificate":    {[]string{"listen-ports", `[{"HTTPS":8443}]`, "certificate-arn", "CERTIFICATE"}, []string{"listen-ports", `[{"HTTPS":8443}]`, "certificate-arn", none}, "8443"},
		"trust store":    {[]string{"listen-ports", `[{"HTTPS":443}]`}, []string{"listen-ports", `[{"HTTPS":443}]`, "mutual-authentication", `[{"port":443,"mode":"verify","trustStore":"none"}]`}, "443"},
		"redirect":       {nil, []string{"ssl-redirect", "444"}, "80"},
		"authentication": {[]string{"listen-ports", `[{"HTTPS":443}]`}, []string{"listen-ports", `[{"HTTPS":443}]`, "auth-type", "oidc", "auth-idp-oidc", `{"issuer":"https://x.example.com","authorizationEndpoint":"https://x.example.com/a","tokenEndpoint":"https://x.example.com/t","userInfoEndpoint":"https://x.example.com/u","secretName":"none"}`}, "443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				certificate := r.Seeded.Certs["example.com"]
				member := func(scheme, host string) string {
					return ingressInNamespace("shop", "a", "alb", host, "", "group.name", "edge", "scheme", scheme, "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", certificate)
				}
				other := func(notes []string) string {
					return strings.ReplaceAll(ingressInNamespace("team", "other", "alb", "team.example.com", "", append([]string{"group.name", "edge"}, notes...)...), "CERTIFICATE", certificate)
				}
				r.Apply(shop, readyPods("web", podAddresses[:3]...), teamShop, member("internal", "a.example.com"), other(c.good))
				r.Settle(attackSettleTime)
				has := func(what string) bool {
					return slices.ContainsFunc(stateOfKinds(r, "listener"), func(l string) bool { return strings.Contains(l, what) })
				}
				if !has("," + c.port + ",") {
					t.Fatal("before the test the port of the other namespace has no listener")
				}
				r.Apply(other(c.bad))
				r.Settle(attackSettleTime)
				r.Apply(member("internet-facing", "new.example.com"))
				r.Settle(time.Hour)
				expectEqual(t, "the load balancer", "internet-facing", loadBalancerSchemes(r))
				for _, port := range []int32{80, 443} {
					if got := answerTo(r, port, "new.example.com", "/"); !strings.HasPrefix(got, "k8s-shop-") {
						t.Errorf("port %d answers requests of the member with %s", port, got)
					}
				}
				if len(warningsByObject(r)["other"]) == 0 {
					t.Error("no warning on the Ingress of the other namespace")
				}
				r.Apply(other(c.good))
				r.Settle(time.Hour)
				port, _ := strconv.Atoi(c.port)
				if got := answerTo(r, int32(port), "team.example.com", "/"); !strings.HasPrefix(got, "k8s-team-") {
					t.Errorf("after the correction, the port is answered by %s", got)
				}
			})
		})
	}
}
