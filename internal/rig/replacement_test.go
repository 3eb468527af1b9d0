package rig

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/world"
)

// follower is a client that asks for the name in the status of the Ingress and follows it after its TTL.
type follower struct {
	r    *Rig
	ttl  time.Duration
	seen map[string]time.Time // when the status last showed a name
	// shown are the names in their order, lost the requests that nothing has served.
	shown, lost []string
}

// follow looks after every call to AWS.
func follow(r *Rig) *follower {
	f := &follower{r: r, ttl: time.Minute, seen: map[string]time.Time{}}
	r.Emulator.Faults().SetHook(f.hook)
	return f
}

func (f *follower) hook(c fault.Call) fault.Action {
	return fault.Action{After: func() { f.look(c.Operation) }}
}

// host is the first name that the status of the Ingress shows.
func host(r *Rig) string {
	obj, err := r.Store.Get(ingressRef)
	if err != nil {
		r.T.Fatal(err)
	}
	ing, ok := obj.(*networkingv1.Ingress)
	if !ok || len(ing.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	return ing.Status.LoadBalancer.Ingress[0].Hostname
}

func (f *follower) look(why string) {
	name := host(f.r)
	if name != "" {
		if len(f.shown) == 0 || f.shown[len(f.shown)-1] != name {
			f.shown = append(f.shown, name)
		}
		f.seen[name] = time.Now()
	}
	for name, at := range f.seen {
		if time.Since(at) > f.ttl {
			continue
		}
		if why := unserved(f.r, name); why != "" && len(f.lost) < 10 {
			f.lost = append(f.lost, fmt.Sprintf("%s, last shown %s ago: %s", name, time.Since(at), why))
		}
	}
}

// unserved says why a request for / to the name of a load balancer gets no answer from a pod.
func unserved(r *Rig, name string) string {
	w := r.Emulator.World()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	for _, lb := range p.ELB.LoadBalancers {
		if !strings.EqualFold(lb.DNSName, name) {
			continue
		}
		if state, _ := lb.State(time.Now()); state != "active" {
			return "it is " + string(state)
		}
		for _, rule := range p.ELB.Rules {
			if l := p.ELB.Listeners[rule.Listener]; l.LoadBalancer != lb.ARN || l.Port != 80 || rule.IsDefault() {
				continue
			}
			for _, to := range rule.Actions[len(rule.Actions)-1].ForwardConfig.TargetGroups {
				g := p.ELB.TargetGroups[*to.TargetGroupArn]
				if slices.ContainsFunc(g.Targets, func(t *world.Target) bool { return p.TargetHealth(g, t, time.Now()).State == "healthy" }) {
					return ""
				}
				return g.Name + " has no healthy target"
			}
		}
		return "no rule forwards"
	}
	return "it does not exist"
}

// schemes are those of the load balancers.
func schemes(r *Rig) string {
	w := r.Emulator.World()
	w.Lock()
	defer w.Unlock()
	var out []string
	for _, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
		out = append(out, string(lb.Scheme))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

var public, private = annotated("scheme", "internet-facing"), annotated("scheme", "internal")

// A client that follows DNS loses no request while the load balancer is replaced and pods roll.
func TestAChangeOfTheSchemeLosesNoRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := startFleet(t)
		w := r.Emulator.World()
		w.Lock()
		w.Config.ELB.ProvisioningDelay = 3 * time.Minute
		w.Unlock()
		c := follow(r)
		each := func() { c.look("time"); f.roll() }
		f.live(time.Minute, each, func() bool { return false })
		r.Apply(ingressOf(public, "/=web"))
		if !f.live(10*time.Minute, each, func() bool { return len(c.shown) == 2 }) {
			t.Fatalf("the status does not show a new load balancer: %v", c.shown)
		}
		switched := time.Now()
		expect(t, "after the switch", "internal internet-facing", schemes(r))
		f.version, f.minReady = 2, 20*time.Second
		if !f.live(20*time.Minute, each, func() bool { return schemes(r) == "internet-facing" }) {
			t.Fatal("the old load balancer stays")
		}
		if !f.rolled() {
			t.Error("the pods were not replaced meanwhile")
		}
		if kept := time.Since(switched); kept < 14*time.Minute+50*time.Second || kept > 16*time.Minute {
			t.Errorf("the old load balancer is deleted after %s", kept)
		}
		f.live(10*time.Minute, each, func() bool { return false })
		if len(c.lost) > 0 || len(c.shown) != 2 {
			t.Errorf("lost %s\nshown %v", strings.Join(c.lost, "\n"), c.shown)
		}
		if failed := r.Settle(time.Hour); len(failed) > 0 {
			t.Error(failed)
		}
		if n := countGroups(r); n != 2 {
			t.Errorf("%d target groups are left", n)
		}
	})
}
