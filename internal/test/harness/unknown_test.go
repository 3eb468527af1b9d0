package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMissingSecurityGroupRemovesNothing checks that an annotation with a missing security group changes no security group
// and not which of them the load balancer has, and causes one warning. An attribute that is edited at the same time is
// applied.
func TestMissingSecurityGroupRemovesNothing(t *testing.T) {
	t.Parallel()
	for _, given := range []bool{false, true} {
		t.Run(fmt.Sprintf("given before: %v", given), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				first := ""
				if given {
					first = ingressAnnotations("security-groups", r.Seeded.ExtraSG, "manage-backend-security-group-rules", "true")
				}
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(first, "/=web"))
				settleWithoutErrors(t, r)
				want := stateOfKinds(r, "load-balancer", "security-group")
				for i, l := range want {
					want[i] = strings.Replace(l, `"idle_timeout.timeout_seconds":"60"`, `"idle_timeout.timeout_seconds":"61"`, 1)
				}
				r.Apply(webIngress(ingressAnnotations("security-groups", "no-such", "load-balancer-attributes", "idle_timeout.timeout_seconds=61"), "/=web"))
				r.Settle(20 * time.Minute)
				if w := warningsByObject(r)["web"]; len(w) != 1 || !strings.Contains(w[0], "no-such") {
					t.Errorf("warnings: %v", w)
				}
				if d := cmp.Diff(want, stateOfKinds(r, "load-balancer", "security-group")); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

// stateOfKinds returns the lines of State for the given kinds of resources, such as "listener", and for kind "web-acl" the
// associations of web ACLs with load balancers. See State for the other kinds.
func stateOfKinds(r *Harness, kinds ...string) []string {
	known := []string{"load-balancer", "network-load-balancer", "listener", "rule", "target-group", "security-group", "web-acl"}
	for _, k := range kinds {
		if !slices.Contains(known, k) {
			r.T.Fatalf("State has no lines of kind %q", k)
		}
	}
	return slices.DeleteFunc(append(r.State(), webACLLines(r)...), func(l string) bool {
		kind, _, _ := strings.Cut(l, " ")
		return !slices.Contains(kinds, kind)
	})
}

// webACLLines returns a line for each load balancer that has a web ACL.
func webACLLines(r *Harness) (out []string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	for arn, lb := range p.ELB.LoadBalancers {
		if acl := p.WAFv2.Associations[arn]; acl != "" {
			out = append(out, fmt.Sprintf("web-acl %s %s", lb.Name, acl))
		}
	}
	slices.Sort(out)
	return out
}
