package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestServiceKeepsSchemeAfterLeavingSharedLoadBalancer checks that a Service without a scheme that leaves a shared
// load balancer or moves to another one keeps its scheme, and reports that. Events report when the move is complete
// and when the previous load balancer is going to be deleted and is deleted.
func TestServiceKeepsSchemeAfterLeavingSharedLoadBalancer(t *testing.T) {
	t.Parallel()
	const public = lbAnnotation + "scheme: internet-facing"
	for name, to := range map[string]string{"its own": ipTargets, "another one": strings.Replace(sharesPublic, "public", "other", 1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{})
				r.Apply(pods("web", podAddresses[0]), pods("mail", podAddresses[1]), sharedService("web", "10", sharesPublic+public, portOf("443")), sharedService("mail", "12", sharesPublic, portOf("25")))
				r.during(20 * time.Minute)
				expect(t, "the shared load balancer", "internet-facing", schemes(r))
				previous := statusHostname(serviceNamed(r, "mail"))
				r.Apply(sharedService("mail", "12", to, portOf("25")))
				r.during(6 * time.Minute)
				expect(t, "load balancers on the way", "internet-facing internet-facing", schemes(r))
				says := func(what, text string) {
					t.Helper()
					if len(lastingEvents(r, "mail", text)) == 0 {
						t.Errorf("no event says %s", what)
					}
				}
				says("that the scheme stays", `"internet-facing"`)
				r.during(4 * time.Minute)
				if now := statusHostname(serviceNamed(r, "mail")); now == previous || now == "" {
					t.Fatalf("the status shows %q", now)
				}
				says("that the move is complete, and when the former one goes", "still serves until 2000-01-01T00:")
				r.during(20 * time.Minute)
				says("that the Service has left", "has left load balancer")
				expect(t, "load balancers at the end", "internet-facing internet-facing", schemes(r))
				r.Kill()
				r.Start()
				r.during(20 * time.Minute)
				expect(t, "load balancers after a restart", "internet-facing internet-facing", schemes(r))
				r.Apply(sharedService("mail", "12", to+lbAnnotation+"scheme: internal", portOf("25")))
				r.during(time.Hour)
				expect(t, "load balancers once the Service names another scheme", "internal internet-facing", schemes(r))
			})
		})
	}
}

// TestJoiningServiceIsInformedOfDifferentScheme checks that a Service that joins a load balancer with another scheme
// gets an event with both schemes.
func TestJoiningServiceIsInformedOfDifferentScheme(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		r.Apply(pods("web", podAddresses[0]), pods("mail", podAddresses[1]), sharedService("web", "10", sharesPublic+lbAnnotation+"scheme: internet-facing", portOf("443")), sharedService("mail", "12", ipTargets, portOf("25")))
		r.during(20 * time.Minute)
		r.Apply(sharedService("mail", "12", sharesPublic, portOf("25")))
		r.during(20 * time.Minute)
		if len(lastingEvents(r, "mail", `it is "internet-facing", and the former one "internal"`)) == 0 {
			t.Error("no event names the schemes")
		}
	})
}
