package rig

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/world"
)

// warningEvents are the events that warn, as "Kind name Reason: message", with how often each is there.
func warningEvents(r *Rig) map[string]int {
	out := map[string]int{}
	for _, o := range r.Store.All("Event") {
		if e, ok := o.(*corev1.Event); ok && e.Type == corev1.EventTypeWarning {
			message, _, _ := strings.Cut(e.Message, "RequestID")
			out[fmt.Sprintf("%s %s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, message)]++
		}
	}
	return out
}

// A fault that nobody mends is told once, however often it is met again.
func TestFaultsDoNotFlood(t *testing.T) {
	denied := func(operation string) func(r *Rig) {
		return func(r *Rig) {
			r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
				if c.Operation != operation {
					return fault.Action{}
				}
				return fault.Action{Error: &world.Error{Code: "AccessDenied", Message: "User is not authorized to perform " + operation, Status: 403}}
			})
		}
	}
	cases := map[string]struct {
		annotations string
		paths       []string
		before      func(r *Rig)
	}{
		"a value that cannot be read": {", alb.ingress.kubernetes.io/target-group-attributes: nonsense", []string{"/=web"}, nil},
		"a Service that is not there": {"", []string{"/=web", "/gone=gone"}, nil},
		"AWS refuses a step":          {"", []string{"/=web"}, denied("CreateTargetGroup")},
		"AWS refuses targets":         {"", []string{"/=web"}, denied("RegisterTargets")},
		"AWS refuses to be read":      {"", []string{"/=web"}, denied("DescribeLoadBalancers")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := New(t, Options{})
				if err := Assign(t.Context(), AWSConfig(r.Emulator), r.World.Instances[0], podAddresses[0]); err != nil {
					t.Fatal(err)
				}
				if c.before != nil {
					c.before(r)
				}
				r.Apply(shop, pods("web", podAddresses[0]), ingressOf(c.annotations, c.paths...))
				r.Settle(10 * time.Minute)
				first := len(r.Store.All("Event"))
				for range 50 {
					time.Sleep(time.Hour)
					r.process.listAll() // as a resync does
					r.Settle(10 * time.Minute)
				}
				got := warningEvents(r)
				for what, n := range got {
					if n != 1 {
						t.Errorf("%d times %s", n, what)
					}
				}
				if len(got) == 0 && name != "AWS refuses to be read" {
					t.Error("nobody was told")
				}
				if all := len(r.Store.All("Event")); all != first {
					t.Errorf("%d events at first, %d in the end", first, all)
				}
				t.Log(got)
			})
		})
	}
}
