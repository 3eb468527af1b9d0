package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// pinnedClassTemplate is a template of YAML for IngressClass "pinned" and its IngressClassParams. "%s" stands for the spec
// of the IngressClassParams.
const pinnedClassTemplate = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: pinned}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: pinned}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: pinned}
spec: %s
`

// firstMember returns YAML of Ingress "shop/first" in IngressGroup "team" with the given class and annotations. The
// annotations are for load-balancer-wide settings.
func firstMember(class string, annotations map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		fmt.Fprintf(&b, ", %s%s: '%s'", annotationPrefix, k, annotations[k])
	}
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: first
  namespace: shop
  annotations: {%[3]sgroup.name: team%[2]s}
spec:
  ingressClassName: %[1]s
  rules:
  - host: a.example.com
    http:
      paths:
      - {path: /, pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /act, pathType: Exact, backend: {service: {name: act, port: {name: use-annotation}}}}
`, class, b.String(), annotationPrefix)
}

const secondMemberTemplate = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: second
  namespace: shop
  annotations:
    alb.ingress.kubernetes.io/group.name: team
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/listen-ports: '[{"HTTP":80},{"HTTPS":443}]'
    alb.ingress.kubernetes.io/certificate-arn: %s%s
spec:
  ingressClassName: alb
  rules:
  - host: b.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: api, port: {number: 80}}}}]}
`

// secondMember returns YAML of Ingress "shop/second" in IngressGroup "team", which sets only its ports and its
// certificate. pairs are alternating names and values of further annotations.
func secondMember(r *Harness, pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "\n    %s%s: '%s'", annotationPrefix, pairs[i], pairs[i+1])
	}
	return fmt.Sprintf(secondMemberTemplate, r.Seeded.Certs["example.com"], b.String())
}

// firstMemberAnnotations are annotations for firstMember. Each value is a valid value, a bar, and an invalid value. An
// empty invalid value is not tested.
var firstMemberAnnotations = map[string]string{
	"group.order":                               "-1|first",
	"listen-ports":                              `[{"HTTP":80},{"HTTPS":443}]|[{"HTTP":0}]`,
	"certificate-arn":                           "CERT|",
	"target-type":                               "ip|pod",
	"load-balancer-name":                        "team|" + strings.Repeat("x", 33),
	"scheme":                                    "internet-facing|public",
	"ip-address-type":                           "dualstack|both",
	"load-balancer-attributes":                  "idle_timeout.timeout_seconds=120|idle",
	"minimum-load-balancer-capacity":            "CapacityUnits=200|CapacityUnits=x",
	"tags":                                      "Team=first|Team",
	"ssl-redirect":                              "443|https",
	"ssl-policy":                                "ELBSecurityPolicy-TLS13-1-2-2021-06|",
	"mutual-authentication":                     `[{"port":443,"mode":"passthrough"}]|[{"port":443,"mode":"on"}]`,
	"inbound-cidrs":                             "10.0.0.0/8|10.0.0/8",
	"security-group-prefix-lists":               "PREFIXLIST|",
	"listener-attributes.HTTPS-443":             "routing.http.response.server.enabled=false|x",
	"shield-advanced-protection":                "true|yes",
	"wafv2-acl-name":                            "rig|",
	"manage-backend-security-group-rules":       "true|yes",
	"enable-frontend-nlb":                       "true|yes",
	"frontend-nlb-scheme":                       "internet-facing|public",
	"frontend-nlb-listener-port-mapping":        "443=443|x",
	"frontend-nlb-healthcheck-port":             "80|http",
	"frontend-nlb-healthcheck-protocol":         "HTTPS|https",
	"frontend-nlb-healthcheck-interval-seconds": "20|x",
	"frontend-nlb-attributes":                   "load_balancing.cross_zone.enabled=true|x",
	"frontend-nlb-tags":                         "Team=front|x",
	"actions.act":                               `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"404"}}|x`,
	"conditions.act":                            `[{"field":"http-request-method","httpRequestMethodConfig":{"values":["GET"]}}]|x`,
	"transforms.web":                            `[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^/a","replace":"/"}]}}]|x`,
	"use-regex-path-match":                      "false|x",
	"auth-type":                                 "cognito|x",
	"auth-idp-cognito":                          `{"userPoolARN":"arn:aws:cognito-idp:us-west-2:123456789012:userpool/p","userPoolClientID":"b","userPoolDomain":"c"}|x`,
	"auth-session-timeout":                      "3600|x",
	"backend-protocol":                          "HTTP|http",
	"backend-protocol-version":                  "HTTP1|1",
	"target-group-attributes":                   "deregistration_delay.timeout_seconds=30|x",
	"multi-cluster-target-group":                "false|x",
	"target-control-port.web.80":                "3000|x",
	"healthcheck-protocol":                      "HTTP|x",
	"healthcheck-port":                          "8080|nowhere",
	"healthcheck-interval-seconds":              "20|x",
	"healthcheck-timeout-seconds":               "6|x",
	"healthy-threshold-count":                   "3|x",
	"unhealthy-threshold-count":                 "3|x",
}

// validAnnotations returns firstMemberAnnotations with their valid values, without the given names.
func validAnnotations(r *Harness, without ...string) map[string]string {
	fill := strings.NewReplacer("CERT", r.Seeded.Certs["example.com"], "PREFIXLIST", r.Seeded.PrefixList)
	out := map[string]string{}
	for k, v := range firstMemberAnnotations {
		if v, _, _ = strings.Cut(v, "|"); !slices.Contains(without, k) {
			out[k] = fill.Replace(v)
		}
	}
	return out
}

// expectUnchanged fails the test if change, which changes objects, leads to a change in AWS or to no warning on the
// first member.
func expectUnchanged(t *testing.T, r *Harness, change func()) {
	t.Helper()
	before := append(r.State(), attachedAddons(r))
	r.Emulator.Calls().Reset()
	change()
	r.Settle(20 * time.Minute)
	if n := r.Emulator.Calls().CountMutating(); n > 0 {
		t.Errorf("%d mutating calls: %v", n, r.Emulator.Calls().Counts())
	}
	if d := cmp.Diff(before, append(r.State(), attachedAddons(r))); d != "" {
		t.Errorf("the state of AWS changed:\n%s", d)
	}
	if len(warningsByObject(r)["first"]) == 0 {
		t.Errorf("no event reports the invalid value")
	}
}

// TestTypoInOneMemberChangesNothing checks that an annotation of a member that becomes invalid changes nothing in AWS,
// and that an event reports it.
func TestTypoInOneMemberChangesNothing(t *testing.T) {
	t.Parallel()
	for _, key := range slices.Sorted(maps.Keys(firstMemberAnnotations)) {
		_, bad, _ := strings.Cut(firstMemberAnnotations[key], "|")
		if bad == "" {
			continue
		}
		t.Run(key, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...))
				good := validAnnotations(r)
				if key == "manage-backend-security-group-rules" {
					good["security-groups"] = "extra-sg"
				}
				r.Apply(firstMember("alb", good), secondMember(r))
				if failed := r.Settle(20 * time.Minute); len(failed) > 0 {
					t.Fatal(failed)
				}
				if w := warningsByObject(r); len(w) > 0 {
					t.Fatalf("warnings before anything is wrong: %v", w)
				}
				good[key] = bad
				expectUnchanged(t, r, func() { r.Apply(firstMember("alb", good)) })
			})
		})
	}
}

// TestTypoDoesNotDecideConflict checks two members with conflicting values of a setting, of which the value of the
// first member applies. If this value becomes invalid, the value of the second member must not apply.
func TestTypoDoesNotDecideConflict(t *testing.T) {
	t.Parallel()
	for key, other := range map[string]string{
		"scheme": "internal", "ip-address-type": "ipv4", "inbound-cidrs": "0.0.0.0/0",
		"mutual-authentication": `[{"port":443,"mode":"off"}]`, "ssl-redirect": "8443",
		"frontend-nlb-scheme": "internal",
	} {
		t.Run(key, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...))
				good := validAnnotations(r)
				opposing := strings.Replace(secondMember(r, key, other), `{"HTTPS":443}]`, `{"HTTPS":443},{"HTTPS":8443}]`, 1)
				r.Apply(firstMember("alb", good), opposing)
				if failed := r.Settle(20 * time.Minute); len(failed) > 0 {
					t.Fatal(failed)
				}
				if w := warningsByObject(r); len(w) != 1 || len(w["second"]) == 0 {
					t.Fatalf("want a warning for the second member, got %v", w)
				}
				_, bad, _ := strings.Cut(firstMemberAnnotations[key], "|")
				good[key] = bad
				expectUnchanged(t, r, func() { r.Apply(firstMember("alb", good)) })
			})
		})
	}
}

// pinnedSettings has values for all load-balancer-wide settings of IngressClassParams.
const pinnedSettings = `{scheme: internet-facing, ipAddressType: dualstack, inboundCIDRs: [10.0.0.0/8], sslRedirectPort: "443",
  sslPolicy: ELBSecurityPolicy-TLS13-1-2-2021-06, tags: [{key: Class, value: pinned}], wafv2AclName: rig, targetType: ip,
  minimumLoadBalancerCapacity: {capacityUnits: 200}, loadBalancerAttributes: [{key: idle_timeout.timeout_seconds, value: "120"}],
  listeners: [{protocol: HTTPS, port: 443, listenerAttributes: [{key: routing.http.response.server.enabled, value: "false"}]}]}`

// TestMissingClassParamsOfOneMemberChangeNothing checks that the deletion of the IngressClassParams of one member of an
// IngressGroup changes nothing in AWS.
func TestMissingClassParamsOfOneMemberChangeNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, fmt.Sprintf(pinnedClassTemplate, pinnedSettings), readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...))
		own := map[string]string{}
		for _, k := range []string{"listen-ports", "certificate-arn", "actions.act"} {
			own[k] = validAnnotations(r)[k]
		}
		r.Apply(firstMember("pinned", own), secondMember(r))
		if failed := r.Settle(20 * time.Minute); len(failed) > 0 {
			t.Fatal(failed)
		}
		expectUnchanged(t, r, func() {
			if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngressClassParams, Name: "pinned"}); err != nil {
				t.Fatal(err)
			}
		})
	})
}
