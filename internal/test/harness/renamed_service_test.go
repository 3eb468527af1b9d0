package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// forwardingWatch checks that target groups to which rules forward requests have healthy targets. Nodes of a load
// balancer apply a changed rule with a delay. A target group therefore still receives requests for a while after a rule
// no longer has it.
type forwardingWatch struct {
	r             *Harness
	lastForwarded map[string]time.Time // when a rule last forwarded to a target group, by ARN
	lostRequests  []string
}

// maxNodeUpdateDelay is the maximum delay until a node of a load balancer applies a changed rule.
const maxNodeUpdateDelay = 5 * time.Second

// checkForwards adds to lostRequests each target group that may receive requests but has no healthy target.
func (f *forwardingWatch) checkForwards() {
	w := f.r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	for _, rule := range p.ELB.Rules {
		then := rule.Actions[len(rule.Actions)-1]
		if rule.IsDefault() || then.ForwardConfig == nil {
			continue
		}
		for _, to := range then.ForwardConfig.TargetGroups {
			if to.Weight == nil || *to.Weight > 0 {
				f.lastForwarded[*to.TargetGroupArn] = time.Now()
			}
		}
	}
	for arn, at := range f.lastForwarded {
		g := p.ELB.TargetGroups[arn]
		if time.Since(at) > maxNodeUpdateDelay {
			continue
		}
		unused := at != time.Now() // AWS reports no health for target groups without rules
		serves := g != nil && slices.ContainsFunc(g.Targets, func(t *store.Target) bool {
			return !t.IsDraining() && (unused || p.TargetHealth(g, t, time.Now()).State == "healthy")
		})
		if !serves && len(f.lostRequests) < 5 {
			f.lostRequests = append(f.lostRequests, fmt.Sprintf("%s has no healthy target %s after it last got requests", arn[strings.LastIndex(arn, ":")+1:], time.Since(at)))
		}
	}
}

// advanceAndCheck runs the controller for the duration d, and calls checkForwards each second.
func (f *forwardingWatch) advanceAndCheck(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		next := time.Now().Add(time.Second)
		f.r.Settle(time.Second)
		time.Sleep(time.Until(next))
		f.checkForwards()
	}
}

// TestRenamedServiceServesWithoutGap checks that requests are served without interruption if an Ingress names another
// Service with the same pods, and the old Service is deleted at the same time, as release tools do. Without another
// Service, the targets are deregistered.
func TestRenamedServiceServesWithoutGap(t *testing.T) {
	t.Parallel()
	renamed := strings.ReplaceAll(readyPods("web", podAddresses[:2]...), "kubernetes.io/service-name: web", "kubernetes.io/service-name: api")
	renamed = renamed[strings.Index(renamed, "apiVersion: discovery"):]
	renamed = strings.ReplaceAll(renamed, "name: web-1, namespace: shop, labels", "name: api-1, namespace: shop, labels")
	begin := func(t *testing.T) *forwardingWatch {
		r := shopWith(t, Options{Emulator: slowChecks()})
		r.Apply(shop, readyPods("web", podAddresses[:2]...), webIngress("", "/=web"))
		f := &forwardingWatch{r: r, lastForwarded: map[string]time.Time{}}
		f.advanceAndCheck(time.Minute)
		f.lostRequests = nil
		f.advanceAndCheck(time.Second)
		if len(f.lostRequests) > 0 {
			t.Fatalf("at the start: %v", f.lostRequests)
		}
		return f
	}
	t.Run("another takes over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			groups := countTargetGroups(f.r)
			f.r.Apply(renamed, webIngress("", "/=api"))
			f.r.deleteObject(cluster.KindService, "shop", "web")
			f.advanceAndCheck(3 * time.Minute)
			for _, l := range f.lostRequests {
				t.Error(l)
			}
			if n := countTargetGroups(f.r); n != groups {
				t.Errorf("%d target groups are left", n)
			}
		})
	})
	t.Run("none takes over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			f.r.deleteObject(cluster.KindService, "shop", "web")
			// The target of a deleted pod is deregistered first, because another pod may get its address.
			f.r.deleteObject(cluster.KindPod, "shop", "web-0")
			f.advanceAndCheck(maxDeregistrationDelay)
			f.advanceAndCheck(time.Second)
			if got := f.r.activeTargetHealth(); len(got) != 1 || got[podAddresses[1]] == "" {
				t.Errorf("targets %s after the Service and a pod are deleted: %v", maxDeregistrationDelay+time.Second, got)
			}
			f.advanceAndCheck(20 * time.Second)
			if got := f.r.activeTargetHealth(); len(got) > 0 {
				t.Errorf("targets of a deleted Service: %v", got)
			}
		})
	})
}
