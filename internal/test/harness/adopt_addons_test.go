package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestGatewayMustNotRemoveWebACLInAWS checks that a Gateway does not adopt a load balancer if it would remove a web ACL that was
// attached in AWS and that the Ingresses keep because they do not set one. The owners of the Ingresses can accept this.
func TestGatewayMustNotRemoveWebACLInAWS(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		configured, consent string
		adopted             bool
		addOns              string
	}{
		"none":     {"none", "", false, "acl rig"},
		"accepted": {"none", consentToEdge, true, "acl "},
		"the same": {"ARN", consentToEdge, true, "acl rig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAdoptionHarness(t, Options{})
				r.Apply(strings.ReplaceAll(adoptedIngressGroup, consentToEdge, tt.consent))
				r.advanceTime(8 * time.Minute)
				w := r.Emulator.Store()
				w.Lock()
				for arn := range w.Partition(Account, Region).ELB.LoadBalancers {
					w.Partition(Account, Region).WAFv2.Associations[arn] = r.Seeded.WebACL
				}
				w.Unlock()
				r.Apply(`
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {name: edge, namespace: shop}
spec: {wafV2: {webACL: "`+strings.Replace(tt.configured, "ARN", r.Seeded.WebACL, 1)+`"}}
`, strings.Replace(gatewayOf("shop", "edge", adoptAnnotation), "  listeners:", "  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: edge}}\n  listeners:", 1)+adoptingRoutes)
				r.advanceTime(10 * time.Minute)
				if got := attachedAddons(r.Harness); got != tt.addOns {
					t.Errorf("%s is attached, want %s", got, tt.addOns)
				}
				events := strings.Join(eventsOf(r.Harness, "shop", "edge"), "\n")
				if adopted := strings.Contains(events, "LoadBalancerAdopted"); adopted != tt.adopted {
					t.Errorf("adopted: %t, events:\n%s", adopted, events)
				}
				if reported := strings.Contains(events, "web ACL: Ingress arn:"); reported != (tt.configured == "none") {
					t.Errorf("the difference is reported: %t, events:\n%s", reported, events)
				}
			})
		})
	}
}
