package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRejectedActionIsReportedOnce checks that an invalid action is reported by one warning, which also says what
// serves the requests until the action is corrected.
func TestRejectedActionIsReportedOnce(t *testing.T) {
	t.Parallel()
	forward := func(weight, more string) string {
		return strings.ReplaceAll(webIngress(ingressAnnotations("actions.x", `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":"80","weight":`+weight+`},{"serviceName":"api","servicePort":"80","weight":1}]`+more+`}}`), "/x=x"),
			"{name: x, port: {number: 80}}", "{name: x, port: {name: use-annotation}}")
	}
	weight := "AnnotationInvalid: alb.ingress.kubernetes.io/actions.x: "
	long := `RejectedByAWS: spec.rules[0].http.paths[0]: AWS refuses the rule on port 80, host "shop.example.com", path "/x, /x/*": the target group stickiness duration "604801" must be between "1-604800" inclusive; the rule is held: `
	for name, c := range map[string]struct{ docs, fresh, live string }{
		"weight":     {forward("1500", ""), weight, weight},
		"stickiness": {forward("1", `,"targetGroupStickinessConfig":{"enabled":true,"durationSeconds":604801}`), long + "requests for it get 503; change the value", long + "it stays unchanged; change the value"},
	} {
		for _, when := range []string{"new", "live", "beside a live rule"} {
			t.Run(name+"/"+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					r.Apply(shop, readyPods("web", podAddresses[:2]...), readyPods("api", podAddresses[3:5]...))
					want := c.fresh
					switch when {
					case "live":
						want = c.live
						r.Apply(forward("1", ""))
						settleWithoutErrors(t, r)
					case "beside a live rule":
						r.Apply(webIngress("", "/=web"))
						settleWithoutErrors(t, r)
					}
					r.Apply(c.docs)
					r.Settle(20 * time.Minute)
					if got := warningsByObject(r)["web"]; len(got) != 1 || !strings.HasPrefix(got[0], want) {
						t.Errorf("got %q, want %q", got, want)
					}
				})
			})
		}
	}
}
