package harness

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// warningEvents counts the Warning events by "kind name reason: message". Events that are older than the last Normal
// event of the same object do not count.
func warningEvents(r *Harness) map[string]int {
	out, at := map[string]int{}, map[string]time.Time{}
	all := r.Store.All("Event")
	slices.SortFunc(all, func(a, b cluster.Object) int { // compares resource versions as numbers
		x, y := a.GetResourceVersion(), b.GetResourceVersion()
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
	for _, o := range all {
		e, ok := o.(*corev1.Event)
		if !ok {
			continue
		}
		of := e.InvolvedObject.Kind + " " + e.InvolvedObject.Name + " "
		if e.Type != corev1.EventTypeWarning {
			maps.DeleteFunc(out, func(what string, _ int) bool {
				return strings.HasPrefix(what, of) && at[what].Before(e.FirstTimestamp.Time)
			})
			continue
		}
		message, _, _ := strings.Cut(e.Message, "RequestID")
		what := of + e.Reason + ": " + message
		out[what]++
		at[what] = e.FirstTimestamp.Time
	}
	return out
}

// TestRepeatedFaultIsReportedOnce checks that a persistent fault is reported with one event, however often it recurs,
// as long as the object does not change.
func TestRepeatedFaultIsReportedOnce(t *testing.T) {
	t.Parallel()
	denied := func(operation string) func(r *Harness) {
		return func(r *Harness) {
			r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
				if c.Operation != operation {
					return fault.Action{}
				}
				return fault.Action{Error: &store.Error{Code: "AccessDenied", Message: "User is not authorized to perform " + operation, Status: 403}}
			})
		}
	}
	cases := map[string]struct {
		annotations string
		paths       []string
		before      func(r *Harness)
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
				if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], podAddresses[0]); err != nil {
					t.Fatal(err)
				}
				// Faults of AWS begin before the load balancer is created, and other faults after that.
				if c.before != nil {
					c.before(r)
				}
				edited := func(doc string) string { // adds a fixed UID, so that an edit does not replace the Ingress
					return strings.Replace(doc, "name: web\n", "name: web\n  uid: web-1\n", 1)
				}
				r.Apply(shop, readyPods("web", podAddresses[0]), edited(webIngress("", "/=web")))
				r.Settle(10 * time.Minute)
				r.Apply(edited(webIngress(c.annotations, c.paths...)))
				r.Settle(10 * time.Minute)
				first := len(r.Store.All("Event"))
				for range 50 {
					time.Sleep(time.Hour)
					r.process.enqueueExistingObjects() // as a resync does
					r.Settle(10 * time.Minute)
				}
				got := warningEvents(r)
				for what, n := range got {
					if n != 1 {
						t.Errorf("%d times %s", n, what)
					}
				}
				if len(got) == 0 && name != "AWS refuses to be read" {
					t.Error("no event reports the fault")
				}
				if all := len(r.Store.All("Event")); all != first {
					t.Errorf("%d events at first, %d in the end", first, all)
				}
				t.Log(got)
			})
		})
	}
}
