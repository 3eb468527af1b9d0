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

// TestProtocolVersionChangesWithoutRefusal checks edits that change the protocol version of target groups together with
// authentication or with the protocol of the listener. AWS accepts a target group for GRPC only on HTTPS listeners, and only
// without authentication, also while traffic moves to it or away from it.
func TestProtocolVersionChangesWithoutRefusal(t *testing.T) {
	t.Parallel()
	login := []string{"auth-type", "oidc", "auth-idp-oidc", oidcConfiguration}
	for name, c := range map[string]struct {
		first []string // annotations
		edit  func(annotations map[string]string)
		want  string // protocol version of the target group
	}{
		"authentication to GRPC": {login, func(annotations map[string]string) {
			annotations[annotationPrefix+"auth-type"] = "none"
			annotations[annotationPrefix+"backend-protocol-version"] = "GRPC"
		}, "GRPC"},
		"GRPC to HTTP without TLS": {[]string{"backend-protocol-version", "GRPC"}, func(annotations map[string]string) {
			delete(annotations, annotationPrefix+"backend-protocol-version")
			annotations[annotationPrefix+"listen-ports"] = `[{"HTTP":443}]`
		}, "HTTP1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				secure := append([]string{"listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"]}, c.first...)
				r.Apply(shop, clientSecret("one"), readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations(secure...), "/=web"))
				r.advanceTime(5 * time.Minute)
				r.editIngress("web", func(ing *networkingv1.Ingress) { c.edit(ing.Annotations) })
				r.advanceTime(10 * time.Minute)
				if groups := stateOfKinds(r, "target-group"); len(groups) != 1 || !strings.Contains(groups[0], `"`+c.want+`"`) {
					t.Errorf("want one target group with %s:\n%s", c.want, strings.Join(groups, "\n"))
				}
				for _, o := range r.Store.All("Event") {
					if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning {
						t.Error(e.Message)
					}
				}
			})
		})
	}
}
