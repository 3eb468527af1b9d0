package harness

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// portAndPriority matches the port 80 and the priority in a line of State for a rule.
var portAndPriority = regexp.MustCompile(`,80,\d+`)

// ipTargetsOfWeb sets target type "ip" for Service "web". The Gateway then needs a new target group, because AWS
// cannot change the target type.
const ipTargetsOfWeb = `
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: web, namespace: shop}
spec: {targetReference: {name: web}, defaultConfiguration: {targetType: ip}}
`

// TestDeniedAdoptionLosesNothing checks that a denied call during an adoption removes nothing from the load balancer.
// The load balancer serves the same rules until the call is allowed, and it can then be returned.
func TestDeniedAdoptionLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		r.Apply(shop, readyPods("web", podAddresses[:2]...), strings.Replace(sharedIngressGroup, "CONSENT", ", fulcrum.dev/adopted-by: shop/edge", 1))
		r.Apply(strings.Replace(strings.Split(strings.Split(sharedIngressGroup, "---")[2], "---")[0], `group.order: "1"`, `group.order: "1", fulcrum.dev/adopted-by: shop/edge`, 1))
		r.advanceTime(5 * time.Minute)
		rules := func() []string {
			var out []string
			for _, line := range r.State() {
				if strings.HasPrefix(line, "rule ") {
					text, _, _ := strings.Cut(portAndPriority.ReplaceAllString(line, ""), ",null,{")
					out = append(out, text)
				}
			}
			slices.Sort(out)
			return out
		}
		before := rules()
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action { return fault.Action{Deny: c.Operation == "CreateTargetGroup"} })
		// Add a route rule that has no rule in AWS yet. An existing rule answers its requests.
		more := "rules: [{matches: [{path: {type: PathPrefix, value: /api}}], backendRefs: [{name: web, port: 80}]}, {backendRefs: [{name: web"
		r.Apply(strings.Replace(blogRoute, "HOST", "blog.example.com", 1), strings.Replace(adoptingGateway, "rules: [{backendRefs: [{name: web", more, 1))
		r.Apply(ipTargetsOfWeb)
		r.advanceTime(30 * time.Minute)
		if after := rules(); strings.Join(before, "\n") != strings.Join(after, "\n") {
			t.Errorf("rules before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		r.Emulator.Faults().SetHook(nil)
		r.advanceTime(2 * time.Hour)
		for _, line := range r.State() {
			if strings.Contains(line, naming.StackTag(model.Ingress)) {
				t.Errorf("not adopted after the call is permitted: %s", line)
			}
		}
		annotateGateway(r, "shop", "edge", naming.DryRunAnnotation+"=true")
		r.advanceTime(30 * time.Minute)
		for _, line := range r.State() {
			if strings.Contains(line, naming.StackTag(model.ALBGateway)) {
				t.Errorf("not returned: %s", line)
			}
		}
	})
}
