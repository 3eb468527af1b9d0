package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	"github.com/google/go-cmp/cmp"
)

// orderDependentSettings returns sets of annotations by description. A change from one set to another needs AWS calls in a
// certain order.
func orderDependentSettings(r *Harness) map[string]string {
	example, app := r.Seeded.Certs["example.com"], r.Seeded.Certs["app.test"]
	all := map[string]string{
		"plain":             "",
		"secure":            ingressAnnotations("listen-ports", `[{"HTTPS":80}]`, "certificate-arn", example),
		"other certificate": ingressAnnotations("listen-ports", `[{"HTTPS":80}]`, "certificate-arn", app),
		"two certificates":  ingressAnnotations("listen-ports", `[{"HTTPS":80}]`, "certificate-arn", app+","+example),
		"authenticated": ingressAnnotations("listen-ports", `[{"HTTPS":80}]`, "certificate-arn", example, "auth-type", "cognito", "auth-idp-cognito",
			`{"userPoolARN":"arn:aws:cognito-idp:us-west-2:123456789012:userpool/us-west-2_x","userPoolClientID":"c","userPoolDomain":"d"}`),
		"redirected":     ingressAnnotations("listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", example, "ssl-redirect", "443"),
		"public":         ingressAnnotations("scheme", "internet-facing"),
		"groups given":   ingressAnnotations("security-groups", r.Seeded.ExtraSG, "manage-backend-security-group-rules", "true"),
		"other protocol": ingressAnnotations("backend-protocol-version", "GRPC", "listen-ports", `[{"HTTPS":443}]`, "certificate-arn", example),
		"other check":    ingressAnnotations("healthcheck-port", "9090"),
	}
	for name, w := range all {
		if !strings.Contains(w, "/scheme:") {
			all[name] = w + ingressAnnotations("scheme", "internal") // if the scheme is not set, the load balancer keeps its current scheme
		}
	}
	return all
}

// TestResultDoesNotDependOnThePreviousState checks that, after a change from one desired state to another, AWS has the
// same state as if the second had been the first, and that no warning is emitted.
func TestResultDoesNotDependOnThePreviousState(t *testing.T) {
	t.Parallel()
	apply := func(t *testing.T, r *Harness, name string) {
		t.Helper()
		r.Apply(webIngress(orderDependentSettings(r)[name], "/=web"))
		if failed := r.Settle(30 * time.Minute); len(failed) > 0 {
			t.Errorf("%s: still failing: %v", name, failed)
		}
		if w := warningsByObject(r); len(w) > 0 {
			t.Errorf("%s: %v", name, w)
		}
	}
	start := func(t *testing.T, names ...string) []string {
		t.Helper()
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...))
		for _, n := range names {
			apply(t, r, n)
		}
		return r.State()
	}
	var names []string
	synctest.Test(t, func(t *testing.T) { names = slices.Sorted(maps.Keys(orderDependentSettings(newShop(t)))) })
	first := map[string][]string{}
	for _, name := range names {
		synctest.Test(t, func(t *testing.T) { first[name] = start(t, name) })
	}
	for i, before := range names {
		for j, after := range names {
			if (i+j)%3 != 0 && !seeds.Long() {
				continue
			}
			t.Run(strings.ReplaceAll(fmt.Sprintf("%s then %s", before, after), " ", "_"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if d := cmp.Diff(first[after], start(t, before, after)); d != "" {
						t.Errorf("(-first +after another):\n%s", d)
					}
				})
			})
		}
	}
}
