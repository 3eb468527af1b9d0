package harness

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// refusedAnnotationValues are values that AWS or the controller rejects, by annotation.
var refusedAnnotationValues = map[string]string{
	"load-balancer-attributes":                  "idle_timeout.timeout_seconds=0",
	"load-balancer-name":                        "no_good",
	"tags":                                      "Team=a<b",
	"ssl-policy":                                "ELBSecurityPolicy-None",
	"security-group-prefix-lists":               "pl-00000000000000000",
	"listener-attributes.HTTPS-443":             "no.such.attribute=1",
	"certificate-arn":                           "arn:aws:acm:us-west-2:123456789012:certificate/00000000-0000-4000-8000-000000000000",
	"mutual-authentication":                     `[{"port":443,"mode":"verify","trustStore":"arn:aws:elasticloadbalancing:us-west-2:123456789012:truststore/none/0000000000000000"}]`,
	"target-group-attributes":                   "deregistration_delay.timeout_seconds=x",
	"healthcheck-interval-seconds":              "1",
	"healthcheck-path":                          "no-slash",
	"success-codes":                             "9999",
	"auth-idp-cognito":                          `{"userPoolARN":"none","userPoolClientID":"b","userPoolDomain":"c"}`,
	"actions.act":                               `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"999"}}`, // for a rule and for the default backend
	"transforms.web":                            `[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"(","replace":"/"}]}}]`,
	"conditions.web":                            `[{"field":"source-ip","sourceIPConfig":{"values":["nowhere"]}}]`,
	"wafv2-acl-arn":                             "arn:aws:wafv2:us-west-2:123456789012:regional/webacl/none/00000000-0000-4000-8000-000000000000",
	"frontend-nlb-attributes":                   "no.such.attribute=1",
	"frontend-nlb-eip-allocations":              "eipalloc-0",
	"frontend-nlb-healthcheck-interval-seconds": "1",
}

// withDefaultBackend adds a default backend with action "act" to an Ingress.
func withDefaultBackend(ingress string) string {
	return strings.Replace(ingress, "  rules:", "  defaultBackend: {service: {name: act, port: {name: use-annotation}}}\n  rules:", 1)
}

// accessRestrictingAnnotations restrict the access to a listener. If the value of one is invalid, the controller does
// not create the listener, because it would be more open than requested.
var accessRestrictingAnnotations = []string{"ssl-policy", "mutual-authentication", "security-group-prefix-lists", "wafv2-acl-arn"}

// TestRejectedValueBlocksNoOtherMember checks that a member of a load balancer is served, and its edits are applied,
// although another member has an annotation with a rejected value, and that an event reports the value.
func TestRejectedValueBlocksNoOtherMember(t *testing.T) {
	t.Parallel()
	for i, key := range slices.Sorted(maps.Keys(refusedAnnotationValues)) {
		for _, fresh := range []bool{false, true} {
			if fresh && slices.Contains(accessRestrictingAnnotations, key) {
				continue
			}
			if fresh != (i%2 == 0) && !slices.Contains(accessRestrictingAnnotations, key) && !seeds.Long() {
				continue // ordinary runs test each annotation either on an existing or on a new load balancer
			}
			name := key + "/live"
			if fresh {
				name = key + "/fresh"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := shopWith(t, Options{})
					r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...))
					good := map[string]string{"listen-ports": `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn": r.Seeded.Certs["example.com"], "target-type": "ip",
						"actions.act": `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"404"}}`}
					if strings.HasPrefix(key, "auth") {
						good["auth-type"], good["auth-idp-cognito"] = "cognito", `{"userPoolARN":"arn:aws:cognito-idp:us-west-2:123456789012:userpool/p","userPoolClientID":"b","userPoolDomain":"c"}`
					}
					if strings.HasPrefix(key, "frontend") {
						good["enable-frontend-nlb"], good["frontend-nlb-scheme"] = "true", "internet-facing"
					}
					other := func(path string) string { return strings.Replace(secondMember(r), "path: /,", "path: "+path+",", 1) }
					if !fresh {
						r.Apply(withDefaultBackend(firstMember("alb", good)), other("/old"))
						if failed := r.Settle(20 * time.Minute); len(failed) > 0 {
							t.Fatal(failed)
						}
					}
					bad := maps.Clone(good)
					bad[key] = refusedAnnotationValues[key]
					r.Apply(withDefaultBackend(firstMember("alb", bad)), other("/new"))
					r.Settle(time.Hour)
					state := r.State()
					if slices.ContainsFunc(state, func(l string) bool { return strings.HasPrefix(l, "rule ") && strings.Contains(l, `"/old"`) }) {
						t.Errorf("the other member keeps an old rule: %v", warningsByObject(r))
					}
					for _, port := range []string{"80", "443"} {
						if !slices.ContainsFunc(state, func(l string) bool {
							return strings.HasPrefix(l, "rule ") && strings.Contains(l, `",`+port+`,`) && strings.Contains(l, `"/new"`) && strings.Contains(l, "tg:k8s-shop-api")
						}) {
							t.Errorf("the other member does not have its new rule on port %s: %v", port, warningsByObject(r))
						}
					}
					if len(warningsByObject(r)["first"]) == 0 {
						t.Error("no event reports the rejected value")
					}
				})
			})
		}
	}
}

// TestCustomerOwnedIPPoolCannotBeChanged checks that a change of the customer-owned address pool of an existing load
// balancer makes no mutating call, and causes one warning.
func TestCustomerOwnedIPPoolCannotBeChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations("customer-owned-ipv4-pool", "ipv4pool-coip-1"), "/=web"))
		settleWithoutErrors(t, r)
		if w := warningsByObject(r); len(w) > 0 {
			t.Fatalf("warnings before anything is wrong: %v", w)
		}
		r.Emulator.Calls().Reset()
		r.Apply(webIngress(ingressAnnotations("customer-owned-ipv4-pool", "ipv4pool-coip-2"), "/=web"))
		settleWithoutErrors(t, r)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d mutating calls", n)
		}
		if w := warningsByObject(r)["web"]; len(w) != 1 || !strings.Contains(w[0], "cannot be changed") {
			t.Errorf("the owner gets no event: %v", w)
		}
	})
}
