package harness

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// slowChange delays one mutating call to AWS and counts the plans that are made during the delay, by kind of stack.
type slowChange struct {
	mu        sync.Mutex
	nextDelay time.Duration // 0 for no delay
	delayEnd  time.Time
	planned   map[model.Kind]int
}

func (s *slowChange) delayNextCall(lasts time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextDelay = lasts
}

func (s *slowChange) hasBegun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.delayEnd.IsZero()
}

// planCount returns how many plans were made during the delay for stacks of a kind.
func (s *slowChange) planCount(kind model.Kind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.planned[kind]
}

func (s *slowChange) delayCall(call fault.Call) fault.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !call.Mutating || s.nextDelay == 0 {
		return fault.Action{}
	}
	out := fault.Action{Latency: s.nextDelay}
	s.delayEnd, s.planned, s.nextDelay = time.Now().Add(s.nextDelay), map[model.Kind]int{}, 0
	return out
}

func (s *slowChange) countPlan(d engine.Draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.delayEnd) {
		s.planned[d.Stack.ID.Kind]++
	}
}

// TestRunsOfBothStacksDoNotOverlapDuringAdoption checks that, while a run of one stack changes the owner of a load
// balancer, no run of the other stack makes a plan. It tests adoption and return, with either stack running first.
func TestRunsOfBothStacksDoNotOverlapDuringAdoption(t *testing.T) {
	t.Parallel()
	const lasts = 20 * time.Second
	editsIngress := func(r *adoptionHarness) { r.Apply(strings.Replace(adoptedIngressGroup, "path: /b", "path: /c", 1)) }
	editsRoute := func(r *adoptionHarness) { r.Apply(routeTo("shop", "b", "edge", "/d", "api")) }
	takesOver := func(r *adoptionHarness) { r.Apply(gatewayOf("shop", "edge", adoptAnnotation)) }
	givesBack := func(r *adoptionHarness) { annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true") }
	for name, c := range map[string]struct {
		taken         bool
		first, second func(r *adoptionHarness)
		waits         model.Kind // the kind of stack whose runs wait
		owner         model.Kind // the kind of stack that owns the load balancer in the end
	}{
		"the Ingress is edited while the Gateway takes over":       {false, takesOver, editsIngress, model.Ingress, model.ALBGateway},
		"the Gateway asks while the Ingress is edited":             {false, editsIngress, takesOver, model.ALBGateway, model.ALBGateway},
		"the Gateway is edited while the Ingresses take it back":   {true, givesBack, editsRoute, model.ALBGateway, model.Ingress},
		"the Gateway is to give back while its routes are changed": {true, editsRoute, givesBack, model.Ingress, model.Ingress},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slow := &slowChange{}
				r := newAdoptionHarness(t, Options{Workers: 3, OnPlan: slow.countPlan})
				r.Apply(adoptedIngressGroup, adoptingRoutes)
				time.Sleep(time.Hour)
				if c.taken {
					r.Apply(gatewayOf("shop", "edge", adoptAnnotation))
					time.Sleep(time.Hour)
					r.expectOwner(model.ALBGateway, "adopt")
				}
				slow.delayNextCall(lasts)
				r.Emulator.Faults().SetHook(slow.delayCall)
				c.first(r)
				time.Sleep(lasts / 2)
				if !slow.hasBegun() {
					t.Fatal("nothing was changed")
				}
				c.second(r)
				time.Sleep(lasts / 2)
				if n := slow.planCount(c.waits); n > 0 {
					t.Errorf("%d plans of the stack of kind %s during a run of the other stack", n, c.waits)
				}
				time.Sleep(time.Hour) // the waiting runs continue
				r.expectOwner(c.owner, "in the end")
			})
		})
	}
}
