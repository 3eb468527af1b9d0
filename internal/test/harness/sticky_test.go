package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	corev1 "k8s.io/api/core/v1"
)

// TestStickyTargetGroupIsReplaced checks that a target group with stickiness is replaced without an interruption and
// without a rejected call. AWS restricts such target groups in rules with several target groups: with a load balancer
// cookie, the rule needs target group stickiness, and an application cookie is not permitted.
func TestStickyTargetGroupIsReplaced(t *testing.T) {
	t.Parallel()
	for name, attributes := range map[string]string{
		"by a cookie of the load balancer": "stickiness.enabled=true,stickiness.type=lb_cookie",
		"by one of the application":        "stickiness.enabled=true,stickiness.type=app_cookie,stickiness.app_cookie.cookie_name=session",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(", alb.ingress.kubernetes.io/target-group-attributes: '"+attributes+"'", "/=web"))
				r.advanceTime(5 * time.Minute)
				r.editIngress("web", func(ing *networkingv1.Ingress) { ing.Annotations["alb.ingress.kubernetes.io/target-type"] = "instance" })
				waited := false
				for range 60 {
					r.advanceTime(10 * time.Second)
					waited = waited || strings.Count(strings.Join(r.State(), "\n"), "target-group [") > 1
				}
				var groups []string
				for _, line := range r.State() {
					if strings.HasPrefix(line, "target-group") {
						groups = append(groups, line)
					}
				}
				if len(groups) != 1 || !strings.Contains(groups[0], `"instance"`) || !waited {
					t.Errorf("two target groups existed at the same time: %t; target groups:\n%s", waited, strings.Join(groups, "\n"))
				}
				for _, o := range r.Store.All("Event") {
					if e := o.(*corev1.Event); strings.Contains(e.Message, "RejectedByAWS") {
						t.Error(e.Message)
					}
				}
			})
		})
	}
}
