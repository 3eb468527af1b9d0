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

// slowChange delays one mutating call to AWS, and counts the plans of each kind of stack during the delay.
type slowChange struct {
	mu      sync.Mutex
	lasts   time.Duration // 0 for no delay
	until   time.Time
	planned map[model.Kind]int
}

// begin delays the next mutating call.
func (s *slowChange) begin(lasts time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lasts = lasts
}

func (s *slowChange) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.until.IsZero()
}

// plans returns how many plans of stacks of a kind were made during the delay.
func (s *slowChange) plans(kind model.Kind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.planned[kind]
}

func (s *slowChange) slow(call fault.Call) fault.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !call.Mutating || s.lasts == 0 {
		return fault.Action{}
	}
	out := fault.Action{Latency: s.lasts}
	s.until, s.planned, s.lasts = time.Now().Add(s.lasts), map[model.Kind]int{}, 0
	return out
}

func (s *slowChange) note(d engine.Draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		s.planned[d.Stack.ID.Kind]++
	}
}

// TestRunsOfBothStacksDoNotOverlapDuringAdoption checks that, while a run of one stack changes the owner of a load
// balancer, no run of the other stack makes a plan. This holds in both directions and in either order of the runs.
func TestRunsOfBothStacksDoNotOverlapDuringAdoption(t *testing.T) {
	t.Parallel()
	const lasts = 20 * time.Second
	editsIngress := func(r *adopting) { r.Apply(strings.Replace(adoptedGroup, "path: /b", "path: /c", 1)) }
	editsRoute := func(r *adopting) { r.Apply(routeTo("shop", "b", "edge", "/d", "api")) }
	takesOver := func(r *adopting) { r.Apply(gatewayOf("shop", "edge", adoptsGroup)) }
	givesBack := func(r *adopting) { annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true") }
	for name, c := range map[string]struct {
		taken         bool
		first, second func(r *adopting)
		waits         model.Kind // the kind of stack whose runs wait
		owner         model.Kind // the owner in the end
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
				r := adoptHarness(t, Options{Workers: 3, Planned: slow.note})
				r.Apply(adoptedGroup, adoptingRoutes)
				time.Sleep(time.Hour)
				if c.taken {
					r.Apply(gatewayOf("shop", "edge", adoptsGroup))
					time.Sleep(time.Hour)
					r.expectOwner(model.ALBGateway, "adopt")
				}
				slow.begin(lasts)
				r.Emulator.Faults().SetHook(slow.slow)
				c.first(r)
				time.Sleep(lasts / 2)
				if !slow.begun() {
					t.Fatal("nothing was changed")
				}
				c.second(r)
				time.Sleep(lasts / 2)
				if n := slow.plans(c.waits); n > 0 {
					t.Errorf("%d plans of the stack of kind %s while a run of the other one is under way", n, c.waits)
				}
				time.Sleep(time.Hour) // the waiting runs continue
				r.expectOwner(c.owner, "in the end")
			})
		})
	}
}
