package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// strictClass is IngressClass "strict" with IngressClassParams that set load-balancer-wide settings. It is the default
// class.
const strictClass = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: strict, annotations: {ingressclass.kubernetes.io/is-default-class: "true"}}
spec:
  controller: ingress.k8s.aws/alb
  parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: strict}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: strict}
spec:
  scheme: internet-facing
  ipAddressType: dualstack
  inboundCIDRs: [203.0.113.0/24]
  sslPolicy: ELBSecurityPolicy-TLS13-1-2-2021-06
  sslRedirectPort: "443"
  tags: [{key: owner, value: platform}]
  loadBalancerAttributes: [{key: idle_timeout.timeout_seconds, value: "33"}]
  listeners: [{protocol: HTTPS, port: 443, listenerAttributes: [{key: routing.http.response.server.enabled, value: "false"}]}]
  minimumLoadBalancerCapacity: {capacityUnits: 0}
`

// teamMember returns YAML of an Ingress of IngressGroup "team" in namespace "shop" with one rule for the given path.
// ports is the value of annotation listen-ports. If class is "", the Ingress has no class. annotations are further
// lines "name: value".
func teamMember(name, class, certificate, path, ports string, annotations ...string) string {
	named := ""
	if class != "" {
		named = "ingressClassName: " + class
	}
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: %s
  namespace: shop
  annotations:
    alb.ingress.kubernetes.io/group.name: team
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/certificate-arn: %s
    alb.ingress.kubernetes.io/listen-ports: '%s'
    %s
spec:
  %s
  rules:
  - host: shop.example.com
    http: {paths: [{path: %s, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`, name, certificate, ports, strings.Join(annotations, "\n    "), named, path)
}

// TestSettingsOfUnreadableMemberStay checks that the settings of a member stay unchanged in AWS if they can no longer
// be determined, for example because the class of the member is deleted. Edits of the other member are still applied.
func TestSettingsOfUnreadableMemberStay(t *testing.T) {
	t.Parallel()
	const both, secure = `[{"HTTP":80},{"HTTPS":443}]`, `[{"HTTPS":443}]`
	for name, c := range map[string]struct {
		class       string
		others      string // listen-ports of the other member
		annotations []string
		spoil       func(t *testing.T, r *Harness, member func(ports string) string)
	}{
		"its class is deleted": {class: "strict", others: both,
			// The class overrides these annotations. They must not take effect when the class is deleted.
			annotations: []string{"alb.ingress.kubernetes.io/scheme: internal", "alb.ingress.kubernetes.io/inbound-cidrs: 0.0.0.0/0",
				"alb.ingress.kubernetes.io/load-balancer-attributes: idle_timeout.timeout_seconds=99", "alb.ingress.kubernetes.io/tags: owner=shop",
				"alb.ingress.kubernetes.io/enable-frontend-nlb: \"true\""},
			spoil: func(t *testing.T, r *Harness, _ func(string) string) {
				if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngressClass, Name: "strict"}); err != nil {
					t.Fatal(err)
				}
			}},
		"its default class is deleted": {class: "", others: both, spoil: func(t *testing.T, r *Harness, _ func(string) string) {
			if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngressClass, Name: "strict"}); err != nil {
				t.Fatal(err)
			}
		}},
		"the parameters of its class are deleted": {class: "strict", others: secure, spoil: func(t *testing.T, r *Harness, _ func(string) string) {
			if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngressClassParams, Name: "strict"}); err != nil {
				t.Fatal(err)
			}
		}},
		"its ports are malformed": {class: "alb", others: both,
			annotations: []string{"alb.ingress.kubernetes.io/inbound-cidrs: 203.0.113.0/24", "alb.ingress.kubernetes.io/ssl-policy: ELBSecurityPolicy-TLS13-1-2-2021-06",
				`alb.ingress.kubernetes.io/mutual-authentication: '[{"port":443,"mode":"passthrough"}]'`, "alb.ingress.kubernetes.io/tags: owner=shop"},
			spoil: func(_ *testing.T, r *Harness, member func(string) string) { r.Apply(member("nonsense")) }},
		"its ports are malformed, and one was its own": {class: "alb", others: secure,
			annotations: []string{`alb.ingress.kubernetes.io/ssl-redirect: "443"`},
			spoil:       func(_ *testing.T, r *Harness, member func(string) string) { r.Apply(member("nonsense")) }},
		"its tags are malformed": {class: "alb", others: both,
			annotations: []string{"alb.ingress.kubernetes.io/tags: owner=shop"},
			spoil: func(_ *testing.T, r *Harness, member func(string) string) {
				r.Apply(strings.Replace(member(both), "owner=shop", "owner", 1))
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				certificate := r.Seeded.Certs["example.com"]
				member := func(ports string) string {
					return teamMember("a", c.class, certificate, "/a", ports, c.annotations...)
				}
				other := func(path string) string { return teamMember("b", "alb", certificate, path, c.others) }
				r.Apply(shop, strictClass, readyPods("web", podAddresses[:3]...), member(both), other("/b"))
				if failed := r.Settle(20 * time.Minute); len(failed) > 0 {
					t.Fatal(failed)
				}
				if w := warningsByObject(r); len(w) > 0 {
					t.Fatalf("warnings before anything is wrong: %v", w)
				}
				before := r.State()
				r.Emulator.Calls().Reset()
				c.spoil(t, r, member)
				r.Settle(20 * time.Minute)
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("%d mutating calls: %v", n, r.Emulator.Calls().Counts())
				}
				state := r.State()
				for _, l := range before {
					if !slices.Contains(state, l) {
						t.Errorf("removed: %s", l)
					}
				}
				for _, l := range state {
					if !slices.Contains(before, l) {
						t.Errorf("added: %s", l)
					}
				}
				if w := warningsByObject(r); len(w) != 1 || len(w["a"]) == 0 {
					t.Errorf("want warnings only on Ingress a, got %v", w)
				}
				r.Apply(other("/c"))
				r.Settle(20 * time.Minute)
				if state := r.State(); !hasRule(state, "/c") || hasRule(state, "/b") || !hasRule(state, "/a") {
					t.Errorf("the rules are not those of the edit of the other member: %v", state)
				}
			})
		})
	}
}
