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

// priority is that of a rule of port 80 in a line of the state.
var priority = regexp.MustCompile(`,80,\d+`)

// ipTargetsOfWeb has the Gateway need a target group of its own, as AWS cannot change a type.
const ipTargetsOfWeb = `
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: web, namespace: shop}
spec: {targetReference: {name: web}, defaultConfiguration: {targetType: ip}}
`

// While a load balancer is taken over nothing of it is given up for what AWS denies: it serves as before until that passes, and
// it can be given back.
func TestDeniedAdoptionLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		r.Apply(shop, pods("web", podAddresses[:2]...), strings.Replace(sharedHosts, "CONSENT", ", fulcrum.dev/adopted-by: shop/edge", 1))
		r.Apply(strings.Replace(strings.Split(strings.Split(sharedHosts, "---")[2], "---")[0], `group.order: "1"`, `group.order: "1", fulcrum.dev/adopted-by: shop/edge`, 1))
		r.during(5 * time.Minute)
		rules := func() []string {
			var out []string
			for _, line := range r.State() {
				if strings.HasPrefix(line, "rule ") {
					text, _, _ := strings.Cut(priority.ReplaceAllString(line, ""), ",null,{")
					out = append(out, text)
				}
			}
			slices.Sort(out)
			return out
		}
		before := rules()
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action { return fault.Action{Deny: c.Operation == "CreateTargetGroup"} })
		// A rule that no live one has, for requests that one answers.
		more := "rules: [{matches: [{path: {type: PathPrefix, value: /api}}], backendRefs: [{name: web, port: 80}]}, {backendRefs: [{name: web"
		r.Apply(strings.Replace(blogRoute, "HOST", "blog.example.com", 1), strings.Replace(sharedGateway, "rules: [{backendRefs: [{name: web", more, 1))
		r.Apply(ipTargetsOfWeb)
		r.during(30 * time.Minute)
		if after := rules(); strings.Join(before, "\n") != strings.Join(after, "\n") {
			t.Errorf("rules before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		r.Emulator.Faults().SetHook(nil)
		r.during(2 * time.Hour)
		for _, line := range r.State() {
			if strings.Contains(line, naming.StackTag(model.Ingress)) {
				t.Errorf("not taken over once it is permitted: %s", line)
			}
		}
		annotateGateway(r, "shop", "edge", naming.DryRunAnnotation+"=true")
		r.during(30 * time.Minute)
		for _, line := range r.State() {
			if strings.Contains(line, naming.StackTag(model.ALBGateway)) {
				t.Errorf("not given back: %s", line)
			}
		}
	})
}
