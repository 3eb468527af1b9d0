package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// outages are the ways in which all calls to AWS fail during an outage.
var outages = map[string]fault.Action{
	"refused": {Reset: true},
	"hangs":   {Hang: true},
	"fails":   {Error: store.Errorf(store.EmulatorSource, "ServiceUnavailable", "unavailable").WithStatus(503)},
}

// unansweredEvents returns the messages of the warnings on an object that report that AWS does not answer.
func unansweredEvents(r *Harness, object string) (out []string) {
	for _, text := range warningsByObject(r)[object] {
		if strings.Contains(text, "AWS has not answered since ") {
			out = append(out, text)
		}
	}
	return out
}

// TestOutageIsReportedWithin15Seconds checks that an Ingress that is edited during an outage gets one event about the
// outage within 15 seconds, and that the edit takes effect within six minutes after the outage.
func TestOutageIsReportedWithin15Seconds(t *testing.T) {
	t.Parallel()
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Workers: 3})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
				r.waitUntilServed(5 * time.Minute)
				r.advanceTime(10 * time.Minute)
				r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return outage })
				since := time.Now().UTC().Format(time.DateTime)
				r.Apply(webIngress("", "/=web", "/new=web"))
				r.advanceTime(15 * time.Second)
				got := unansweredEvents(r, "web")
				if len(got) != 1 || !strings.Contains(got[0], "since "+since[:len(since)-1]) || !strings.Contains(got[0], "what exists in AWS stays unchanged") {
					t.Errorf("after 15 s: events %q, all %q, outage since %s", got, warningsByObject(r), since)
				}
				r.advanceTime(5 * time.Minute)
				if got := unansweredEvents(r, "web"); len(got) != 1 {
					t.Errorf("after 5 min: events %q", got)
				}
				r.Emulator.Faults().SetHook(nil)
				for begun := time.Now(); !hasRule(r.State(), "/new"); {
					if r.advanceTime(5 * time.Second); time.Since(begun) > 6*time.Minute {
						t.Fatal("the edit has not taken effect after the outage")
					}
				}
			})
		})
	}
}

// TestUnansweredCallIsReportedWithin15Seconds checks several operations that AWS does not answer. An object that waits
// for the response gets one event about it within 15 seconds.
func TestUnansweredCallIsReportedWithin15Seconds(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		hangs  fault.Rule
		edit   []string
		object string
	}{
		"a rule is made":             {fault.Rule{Operation: "CreateRule"}, []string{webIngress("", "/=web", "/new=web")}, "web"},
		"its target group is made":   {fault.Rule{Operation: "CreateTargetGroup"}, []string{shop, webIngress("", "/=web", "/new=api")}, "web"},
		"targets are registered":     {fault.Rule{Operation: "RegisterTargets"}, []string{readyPods("web", podAddresses[:4]...)}, "k8s-shop-web"},
		"targets are listed":         {fault.Rule{Operation: "DescribeTargetHealth"}, []string{readyPods("web", podAddresses[:4]...)}, "k8s-shop-web"},
		"targets are taken out":      {fault.Rule{Operation: "DeregisterTargets"}, []string{readyPods("web", podAddresses[:2]...)}, "k8s-shop-web"},
		"a client range is admitted": {fault.Rule{Operation: "AuthorizeSecurityGroupIngress"}, []string{webIngress(ingressAnnotations("inbound-cidrs", "10.0.0.0/8"), "/=web")}, "web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Workers: 3})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
				r.waitUntilServed(5 * time.Minute)
				r.advanceTime(10 * time.Minute)
				x.hangs.Action = fault.Action{Hang: true}
				r.Emulator.Faults().Add(x.hangs)
				r.Apply(x.edit...)
				told := func() (out []string) {
					for object := range warningsByObject(r) {
						if strings.HasPrefix(object, x.object) {
							out = append(out, unansweredEvents(r, object)...)
						}
					}
					return out
				}
				r.advanceTime(17 * time.Second) // includes two seconds until the call is made
				if got := told(); len(got) != 1 {
					t.Errorf("after 15 s: events %q, all %q, %v", got, warningsByObject(r), r.Emulator.Calls().Counts())
				}
				r.advanceTime(10 * time.Minute)
				if got := told(); len(got) != 1 {
					t.Errorf("after 10 min: events %q", got)
				}
			})
		})
	}
}
