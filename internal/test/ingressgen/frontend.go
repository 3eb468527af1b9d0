package ingressgen

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

var (
	// sharedFrontendSettings are values of frontend NLB annotations that all members share. Keys are without the prefix
	// "frontend-nlb-".
	sharedFrontendSettings = map[string][]string{
		"scheme": {"internal", "internet-facing"}, "subnets": {"$SUBNETS"}, "security-groups": {"$GROUP"}, "tags": {"team=network"},
		"attributes":       {"load_balancing.cross_zone.enabled=true", "dns_record.client_routing_policy=availability_zone_affinity"},
		"healthcheck-path": {"/ready"}, "healthcheck-protocol": {"HTTPS"}, "healthcheck-success-codes": {"200-399"}, "healthcheck-healthy-threshold-count": {"4"},
	}
	// frontendMemberSettings are values of frontend NLB annotations that each member sets for its ports. Keys are without
	// the prefix "frontend-nlb-".
	frontendMemberSettings = map[string][]string{
		"listener-port-mapping": {"81=80", "80=80,8443=443", "443=80"}, "healthcheck-interval-seconds": {"20", "30"},
	}
)

// WithFrontendNLB adds a frontend NLB with random settings to the manifests that function IngressGroup returned.
func WithFrontendNLB(r *rand.Rand, manifests string) string {
	const before = "    alb.ingress.kubernetes.io/group.name: \"g\"\n"
	some := func(from map[string][]string, out *strings.Builder) {
		for _, key := range slices.Sorted(maps.Keys(from)) {
			if r.IntN(4) == 0 {
				fmt.Fprintf(out, "    alb.ingress.kubernetes.io/frontend-nlb-%s: %q\n", key, pick(r, from[key]))
			}
		}
	}
	var all strings.Builder
	some(sharedFrontendSettings, &all)
	parts := strings.Split(manifests, before)
	out := parts[0]
	for i, part := range parts[1:] {
		one := &strings.Builder{}
		if i == 0 || r.IntN(2) == 0 {
			one.WriteString("    alb.ingress.kubernetes.io/enable-frontend-nlb: \"true\"\n")
		}
		one.WriteString(all.String())
		some(frontendMemberSettings, one)
		out += before + one.String() + part
	}
	return out
}
