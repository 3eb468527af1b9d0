package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestServiceKeepsSchemeAfterLeavingSharedLoadBalancer checks a Service without a scheme that leaves a shared load
// balancer. Its new load balancer has the scheme of the shared one, also after a restart, until the Service sets a
// scheme. Events report the scheme, the end of the move, and until when the previous load balancer serves.
func TestServiceKeepsSchemeAfterLeavingSharedLoadBalancer(t *testing.T) {
	t.Parallel()
	const public = serviceAnnotationStart + "scheme: internet-facing"
	for name, to := range map[string]string{"its own": ipTargets, "another one": strings.Replace(publicGroupAnnotation, "public", "other", 1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{})
				r.Apply(readyPods("web", podAddresses[0]), readyPods("mail", podAddresses[1]), sharedService("web", "10", publicGroupAnnotation+public, servicePort("443")), sharedService("mail", "12", publicGroupAnnotation, servicePort("25")))
				r.advanceTime(20 * time.Minute)
				expectEqual(t, "the shared load balancer", "internet-facing", loadBalancerSchemes(r))
				previous := statusHostname(serviceNamed(r, "mail"))
				r.Apply(sharedService("mail", "12", to, servicePort("25")))
				r.advanceTime(6 * time.Minute)
				expectEqual(t, "load balancers during the move", "internet-facing internet-facing", loadBalancerSchemes(r))
				says := func(what, text string) {
					t.Helper()
					if len(recentEvents(r, "mail", text)) == 0 {
						t.Errorf("no event says %s", what)
					}
				}
				says("that the scheme stays", `"internet-facing"`)
				r.advanceTime(4 * time.Minute)
				if now := statusHostname(serviceNamed(r, "mail")); now == previous || now == "" {
					t.Fatalf("the status shows %q", now)
				}
				says("that the move is complete, and until when the previous load balancer serves", "still serves until 2000-01-01T00:")
				r.advanceTime(20 * time.Minute)
				says("that the Service has left", "has left load balancer")
				expectEqual(t, "load balancers at the end", "internet-facing internet-facing", loadBalancerSchemes(r))
				r.Kill()
				r.Start()
				r.advanceTime(20 * time.Minute)
				expectEqual(t, "load balancers after a restart", "internet-facing internet-facing", loadBalancerSchemes(r))
				r.Apply(sharedService("mail", "12", to+serviceAnnotationStart+"scheme: internal", servicePort("25")))
				r.advanceTime(time.Hour)
				expectEqual(t, "load balancers after the Service sets another scheme", "internal internet-facing", loadBalancerSchemes(r))
			})
		})
	}
}

// TestJoiningServiceIsInformedOfDifferentScheme checks that a Service that joins a shared load balancer with another
// scheme gets an event with both schemes.
func TestJoiningServiceIsInformedOfDifferentScheme(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		r.Apply(readyPods("web", podAddresses[0]), readyPods("mail", podAddresses[1]), sharedService("web", "10", publicGroupAnnotation+serviceAnnotationStart+"scheme: internet-facing", servicePort("443")), sharedService("mail", "12", ipTargets, servicePort("25")))
		r.advanceTime(20 * time.Minute)
		r.Apply(sharedService("mail", "12", publicGroupAnnotation, servicePort("25")))
		r.advanceTime(20 * time.Minute)
		if len(recentEvents(r, "mail", `its scheme is "internet-facing", and the scheme of the previous load balancer is "internal"`)) == 0 {
			t.Error("no event names the schemes")
		}
	})
}
