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

// forwarding records which target groups receive requests. Load balancer nodes apply a changed rule with a delay, so
// a target group may receive requests for a while after it was removed from the rule.
type forwarding struct {
	r    *Harness
	last map[string]time.Time // by ARN
	lost []string
}

// nodesLearnWithin is the maximum delay until a node applies a changed rule.
const nodesLearnWithin = 5 * time.Second

func (f *forwarding) look() {
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
				f.last[*to.TargetGroupArn] = time.Now()
			}
		}
	}
	for arn, at := range f.last {
		g := p.ELB.TargetGroups[arn]
		if time.Since(at) > nodesLearnWithin {
			continue
		}
		unused := at != time.Now() // AWS does not check the health of targets then
		serves := g != nil && slices.ContainsFunc(g.Targets, func(t *store.Target) bool {
			return !t.Draining() && (unused || p.TargetHealth(g, t, time.Now()).State == "healthy")
		})
		if !serves && len(f.lost) < 5 {
			f.lost = append(f.lost, fmt.Sprintf("%s has no healthy target %s after it last got requests", arn[strings.LastIndex(arn, ":")+1:], time.Since(at)))
		}
	}
}

// during advances time and checks the target groups each second.
func (f *forwarding) during(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		next := time.Now().Add(time.Second)
		f.r.Settle(time.Second)
		time.Sleep(time.Until(next))
		f.look()
	}
}

// TestRenamedServiceServesWithoutGap checks that an Ingress serves without a gap when one edit names another Service
// and the old Service is deleted at once, as release tools do, while the pods remain.
func TestRenamedServiceServesWithoutGap(t *testing.T) {
	t.Parallel()
	renamed := strings.ReplaceAll(pods("web", podAddresses[:2]...), "kubernetes.io/service-name: web", "kubernetes.io/service-name: api")
	renamed = renamed[strings.Index(renamed, "apiVersion: discovery"):]
	renamed = strings.ReplaceAll(renamed, "name: web-1, namespace: shop, labels", "name: api-1, namespace: shop, labels")
	begin := func(t *testing.T) *forwarding {
		r := shopWith(t, Options{Emulator: slowChecks()})
		r.Apply(shop, pods("web", podAddresses[:2]...), ingressOf("", "/=web"))
		f := &forwarding{r: r, last: map[string]time.Time{}}
		f.during(time.Minute)
		f.lost = nil
		f.during(time.Second)
		if len(f.lost) > 0 {
			t.Fatalf("at the start: %v", f.lost)
		}
		return f
	}
	t.Run("another takes over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			groups := countGroups(f.r)
			f.r.Apply(renamed, ingressOf("", "/=api"))
			f.r.drop(cluster.KindService, "shop", "web")
			f.during(3 * time.Minute)
			for _, l := range f.lost {
				t.Error(l)
			}
			if n := countGroups(f.r); n != groups {
				t.Errorf("%d target groups are left", n)
			}
		})
	})
	t.Run("none takes over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			f.r.drop(cluster.KindService, "shop", "web")
			// The address of a deleted pod may be assigned to another pod.
			f.r.drop(cluster.KindPod, "shop", "web-0")
			f.during(soon)
			f.during(time.Second)
			if got := f.r.active(); len(got) != 1 || got[podAddresses[1]] == "" {
				t.Errorf("targets %s after the Service and a pod are gone: %v", soon+time.Second, got)
			}
			f.during(20 * time.Second)
			if got := f.r.active(); len(got) > 0 {
				t.Errorf("targets of a Service that stays away: %v", got)
			}
		})
	})
}
