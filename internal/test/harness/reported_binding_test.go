package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// TestEventsOfBindingsAreRepeated checks that the event about a missing target group of a binding is emitted again
// every hour or less, as the same Event object with a higher count. It is no longer emitted after the binding is
// removed.
func TestEventsOfBindingsAreRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
		settleWithoutErrors(t, r)
		lost := imitatedBinding(bindingsOf(r, "shop")[0])
		lost.Labels, lost.Spec.TargetGroupARN = nil, lost.Spec.TargetGroupARN+"00"
		if err := r.Store.Apply(lost); err != nil {
			t.Fatal(err)
		}
		count := func() (events int, count int32) {
			for _, o := range r.Store.All("Event") {
				if ev := o.(*corev1.Event); ev.InvolvedObject.Name == lost.Name && ev.Type == corev1.EventTypeWarning {
					events, count = events+1, count+ev.Count
				}
			}
			return events, count
		}
		r.Settle(time.Minute)
		if events, n := count(); events != 1 || n != 1 {
			t.Fatalf("%d events, count %d, at first", events, n)
		}
		raised := func() {
			for range 3 * 60 {
				time.Sleep(time.Minute)
				r.Settle(0)
				r.process.k8s.RepeatEvents(t.Context())
			}
		}
		raised()
		events, n := count()
		if events != 1 || n < 4 || n > 6 {
			t.Errorf("%d events, count %d, in three hours", events, n)
		}
		got, err := r.Store.Get(cluster.RefOf(lost))
		if err != nil || got == nil {
			t.Fatal(err)
		}
		if err := r.Store.DeleteObject(got); err != nil {
			t.Fatal(err)
		}
		r.Settle(10 * time.Minute)
		raised()
		if _, after := count(); after != n {
			t.Errorf("count %d after the binding is gone, %d before", after, n)
		}
	})
}

// TestFailedRulesAreReportedReadably checks the event about rules of nodes that AWS refuses: its reason and the text of AWS,
// without the text of the SDK.
func TestFailedRulesAreReportedReadably(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"UnauthorizedOperation": "AccessDenied: change rules of security group SG: authorize ingress to SG: UnauthorizedOperation: no; add ec2:AuthorizeSecurityGroupIngress to the controller's IAM policy",
		"InternalError":         "CallFailed: change rules of security group SG: authorize ingress to SG: InternalError: no; the call is repeated; if it keeps failing, check what the message names",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Emulator.Faults().Add(fault.Rule{Operation: "AuthorizeSecurityGroupIngress", Action: fault.Action{Error: &store.Error{Code: code, Status: 400, Message: "no"}}})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
				r.Settle(10 * time.Minute)
				expectEqual(t, "warnings", strings.ReplaceAll(want, "SG", r.Seeded.NodeSG), strings.Join(warningsByObject(r)[bindingsOf(r, "shop")[0].Name], "\n"))
			})
		})
	}
}
