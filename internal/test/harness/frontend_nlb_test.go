package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// nlbForwards returns a sorted list of "scheme:port to scheme:port" for the listeners of all NLBs. The second part is
// the ALB that is their target, or "nothing".
func nlbForwards(r *Harness) []string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	var out []string
	for _, l := range p.ELB.Listeners {
		lb := p.ELB.LoadBalancers[l.LoadBalancer]
		if lb.IsALB() {
			continue
		}
		to := "nothing"
		for _, a := range p.ELB.Rules[l.DefaultRule].Actions {
			for _, t := range p.ELB.TargetGroups[*a.ForwardConfig.TargetGroups[0].TargetGroupArn].Targets {
				if alb := p.ELB.LoadBalancers[t.ID]; alb != nil && !t.IsDraining() {
					to = fmt.Sprintf("%s:%d", alb.Scheme, t.Port)
				}
			}
		}
		out = append(out, fmt.Sprintf("%s:%d to %s", lb.Scheme, l.Port, to))
	}
	slices.Sort(out)
	return out
}

// frontendLifecycle edits and deletes an Ingress with a frontend NLB, and returns nlbForwards after each step.
func frontendLifecycle(t *testing.T, r *Harness) (states [][]string) {
	t.Helper()
	act := func(objects ...string) {
		t.Helper()
		r.Apply(objects...)
		for range 5 {
			failed := r.Settle(30 * time.Minute)
			if !r.WasKilled() {
				if len(failed) > 0 {
					t.Fatalf("still failing: %v", failed)
				}
				break
			}
			r.Start()
		}
		states = append(states, nlbForwards(r))
	}
	on := []string{"enable-frontend-nlb", "true"}
	act(shop, readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations(on...), "/=web"))
	act(webIngress(ingressAnnotations(append(on, "listen-ports", `[{"HTTP":80},{"HTTP":8080}]`, "frontend-nlb-listener-port-mapping", "80=8080,81=80")...), "/=web"))
	act(webIngress(ingressAnnotations(append(on, "scheme", "internet-facing")...), "/=web"))
	act(webIngress(ingressAnnotations(append(on, "scheme", "internet-facing", "frontend-nlb-scheme", "internet-facing")...), "/=web"))
	act(webIngress("", "/=web"))
	act(webIngress(ingressAnnotations(append(on, "scheme", "internal")...), "/=web"))
	if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}); err != nil {
		t.Fatal(err)
	}
	act()
	return states
}

// frontendStates is the expected result of frontendLifecycle.
var frontendStates = [][]string{
	{"internal:80 to internal:80"},
	{"internal:80 to internal:8080", "internal:81 to internal:80"},
	{"internal:80 to internet-facing:80"},
	{"internet-facing:80 to internet-facing:80"},
	nil,
	{"internal:80 to internal:80"},
	nil,
}

func TestFrontendNLBLifecycle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		before := r.State()
		if diff := cmp.Diff(frontendStates, frontendLifecycle(t, r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, r.State()); diff != "" {
			t.Errorf("resources are left after the deletion (-before +after):\n%s", diff)
		}
	})
}

func TestFrontendNLBIsInStatusAndUnchangedAfterwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations("enable-frontend-nlb", "true"), "/=web"))
		settleWithoutErrors(t, r)
		entries := r.Store.All(cluster.KindIngress)[0].(*networkingv1.Ingress).Status.LoadBalancer.Ingress
		if len(entries) != 2 || !strings.Contains(entries[1].Hostname, "-nlb-") || len(entries[1].Ports) > 0 {
			t.Errorf("status %+v", entries)
		}
		r.Emulator.Calls().Reset()
		r.process.enqueueExistingObjects()
		r.Settle(5 * time.Minute)
		if n := r.Emulator.Calls().Total(); n > 0 {
			t.Errorf("a second pass made calls: %v", r.Emulator.Calls().Counts())
		}
		r.Start()
		settleWithoutErrors(t, r)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("a restart made mutating calls: %v", r.Emulator.Calls().Counts())
		}
	})
}

// TestFrontendNLBLifecycleWithFaults checks that each step of frontendLifecycle has the same result if the process is
// killed at a call, or if the response to a mutating call is lost.
func TestFrontendNLBLifecycleWithFaults(t *testing.T) {
	t.Parallel()
	var calls, mutations int
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		frontendLifecycle(t, r)
		calls, mutations = r.Emulator.Calls().Total(), r.Emulator.Calls().CountMutating()
	})
	t.Logf("%d calls, %d of them mutating", calls, mutations)
	try := func(n int, what string, hook func(r *Harness) fault.Hook) {
		synctest.Test(t, func(t *testing.T) {
			r := newShop(t)
			before := r.State()
			r.Emulator.Faults().SetHook(hook(r))
			if diff := cmp.Diff(frontendStates, frontendLifecycle(t, r)); diff != "" {
				t.Errorf("%s %d (-want +got):\n%s", what, n, diff)
			}
			if diff := cmp.Diff(before, r.State()); diff != "" {
				t.Errorf("%s %d: resources are left (-before +after):\n%s", what, n, diff)
			}
		})
	}
	step := seeds.Step(15)
	for n := 1; n <= calls && !t.Failed(); n += step {
		try(n, "killed after call", func(r *Harness) fault.Hook {
			return func(c fault.Call) fault.Action {
				if c.Sequence == n {
					r.Kill()
				}
				return fault.Action{}
			}
		})
	}
	for n := 1; n <= mutations && !t.Failed(); n += step {
		try(n, "response lost of mutating call", func(*Harness) fault.Hook {
			return func(c fault.Call) fault.Action { return fault.Action{Lose: c.Mutation == n} }
		})
	}
}
