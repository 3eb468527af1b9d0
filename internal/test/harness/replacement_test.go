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
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// follower is a client that resolves the hostname in the status of the Ingress again after its TTL.
type follower struct {
	r    *Harness
	ttl  time.Duration
	seen map[string]time.Time // when the status last showed a name
	// shown are the hostnames in order of appearance, lost are the requests that were not served.
	shown, lost []string
	// host returns the hostname in the status, unserved the reason why a hostname is not served.
	host     func(*Harness) string
	unserved func(r *Harness, name string) string
}

// follow returns a follower that checks after every call to AWS.
func follow(r *Harness) *follower {
	f := &follower{r: r, ttl: time.Minute, seen: map[string]time.Time{}, host: host, unserved: unserved}
	r.Emulator.Faults().SetHook(f.hook)
	return f
}

func (f *follower) hook(c fault.Call) fault.Action {
	return fault.Action{After: func() { f.look(c.Operation) }}
}

// host returns the first hostname in the status of the Ingress.
func host(r *Harness) string {
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
	name := f.host(f.r)
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
		if why := f.unserved(f.r, name); why != "" && len(f.lost) < 10 {
			f.lost = append(f.lost, fmt.Sprintf("%s, last shown %s ago: %s", name, time.Since(at), why))
		}
	}
}

// unserved returns why a request for / to the hostname of a load balancer is not answered by a pod.
func unserved(r *Harness, name string) string {
	w := r.Emulator.Store()
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
			to := rule.Actions[len(rule.Actions)-1].ForwardConfig.TargetGroups[0]
			g := p.ELB.TargetGroups[*to.TargetGroupArn]
			if slices.ContainsFunc(g.Targets, func(t *store.Target) bool { return p.TargetHealth(g, t, time.Now()).State == "healthy" }) {
				return ""
			}
			return g.Name + " has no healthy target"
		}
		return "no rule forwards"
	}
	return "it does not exist"
}

// schemes returns the schemes of the load balancers.
func schemes(r *Harness) string {
	w := r.Emulator.Store()
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

// TestSchemeChangeLosesNoRequest checks that a client that follows DNS loses no request while the load balancer is
// replaced during a rolling update.
func TestSchemeChangeLosesNoRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := startFleet(t)
		w := r.Emulator.Store()
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

// replacementLifecycle creates an Ingress, changes its scheme, deletes it, and returns the states. act is called
// before the change.
func replacementLifecycle(t *testing.T, r *Harness, act func()) (states [][]string) {
	t.Helper()
	rest := func(d time.Duration) {
		t.Helper()
		for range 5 {
			failed := r.Settle(d)
			if !r.Dead() {
				if len(failed) > 0 {
					t.Fatalf("still failing: %v", failed)
				}
				break
			}
			r.Start()
		}
		states = append(states, append(r.State(), clusterState(r)...))
	}
	r.Apply(shop, pods("web", podAddresses[:3]...), pods("api", podAddresses[3]), ingressOf(private, "/=web", "/api=api"))
	rest(10 * time.Minute)
	time.Sleep(10 * time.Minute) // until the load balancer is active and its targets healthy
	act()
	r.Apply(ingressOf(public, "/=web", "/api=api"))
	rest(time.Hour)
	drop(t, r, cluster.KindIngress, "web")
	rest(30 * time.Minute)
	return states
}

// TestReplacementWithFaults checks that a replacement has the same result if the process is killed after any AWS call
// or any response is lost, that no request is lost, that the hostname in the status changes once, and that nothing
// remains after the deletion.
func TestReplacementWithFaults(t *testing.T) {
	t.Parallel()
	var want [][]string
	var calls, mutations int
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		before := r.State()
		want = replacementLifecycle(t, r, r.Emulator.Calls().Reset)
		calls, mutations = r.Emulator.Calls().Total(), r.Emulator.Calls().Mutating()
		if diff := cmp.Diff(before, want[2]); diff != "" {
			t.Errorf("something is left (-before +after):\n%s", diff)
		}
	})
	try := func(n int, what string, hook func(r *Harness) fault.Hook) {
		synctest.Test(t, func(t *testing.T) {
			r := newShop(t)
			var c *follower
			got := replacementLifecycle(t, r, func() {
				c = follow(r)
				r.Emulator.Calls().Reset()
				inner := hook(r)
				r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
					a := inner(call)
					a.After = func() {
						if obj, _ := r.Store.Get(ingressRef); obj != nil && obj.GetDeletionTimestamp() == nil {
							c.look(call.Operation)
						}
					}
					return a
				})
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %d (-clean +fault):\n%s", what, n, diff)
			}
			if len(c.lost) > 0 || len(c.shown) != 2 {
				t.Errorf("%s %d: lost %s\nshown %v", what, n, strings.Join(c.lost, "\n"), c.shown)
			}
		})
	}
	for n := 1; n <= calls && !t.Failed(); n += seeds.Step(3) {
		try(n, "killed after call", func(r *Harness) fault.Hook {
			return func(c fault.Call) fault.Action {
				if c.Sequence == n {
					r.Kill()
				}
				return fault.Action{}
			}
		})
	}
	for n := 1; n <= mutations && !t.Failed(); n += seeds.Step(3) {
		try(n, "answer lost of write", func(*Harness) fault.Hook {
			return func(c fault.Call) fault.Action { return fault.Action{Lose: c.Mutation == n} }
		})
	}
	t.Logf("%d calls, %d of them mutating", calls, mutations)
}

// TestRevertedSchemeReusesPreviousLoadBalancer checks that reverting the scheme while the old load balancer exists
// restores that load balancer.
func TestRevertedSchemeReusesPreviousLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Emulator: slowChecks()})
				r.Apply(shop, pods("web", podAddresses[:3]...), ingressOf(private, "/=web"))
				r.settleOrFail(10 * time.Minute)
				time.Sleep(10 * time.Minute)
				before, name := r.State(), host(r)
				c := follow(r)
				r.Apply(ingressOf(public, "/=web"))
				r.settleOrFail(after)
				time.Sleep(time.Second)
				r.Apply(ingressOf(private, "/=web"))
				r.settleOrFail(10 * time.Second)
				expect(t, "the name", name, host(r))
				r.settleOrFail(time.Hour)
				expect(t, "the name in the end", name, host(r))
				if diff := cmp.Diff(before, r.State()); diff != "" {
					t.Errorf("-before +after:\n%s", diff)
				}
				if len(c.lost) > 0 || len(c.shown) > 3 {
					t.Errorf("lost %s\nshown %v", strings.Join(c.lost, "\n"), c.shown)
				}
			})
		})
	}
}

func TestDeletionDuringReplacement(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 3 * time.Second, time.Minute, 14 * time.Minute} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				before := r.State()
				r.Apply(shop, pods("web", podAddresses[:3]...), ingressOf(private, "/=web"))
				r.settleOrFail(10 * time.Minute)
				r.Apply(ingressOf(public, "/=web"))
				r.settleOrFail(after)
				time.Sleep(time.Second)
				expect(t, "when it is deleted", "internal internet-facing", schemes(r))
				drop(t, r, cluster.KindIngress, "web")
				r.settleOrFail(2 * time.Minute)
				if diff := cmp.Diff(before, r.State()); diff != "" {
					t.Errorf("something is left (-before +after):\n%s", diff)
				}
				if !r.isDeleted(cluster.KindIngress, "shop", "web") || len(r.Store.All(cluster.KindBinding)) > 0 {
					t.Error("objects are left")
				}
			})
		})
	}
}

// TestBlockedReplacementKeepsServing checks that an obstacle to a second load balancer is reported, and that the live
// load balancer still serves and follows other edits.
func TestBlockedReplacementKeepsServing(t *testing.T) {
	t.Parallel()
	protect := func(r *Harness, on string) {
		w := r.Emulator.Store()
		w.Lock()
		defer w.Unlock()
		for _, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
			lb.Attributes["deletion_protection.enabled"] = on
		}
	}
	cases := map[string]struct {
		hinder, free func(r *Harness)
		says         string
	}{
		"quota of load balancers": {
			func(r *Harness) { quota(r, "application-load-balancers", 1) },
			func(r *Harness) { quota(r, "application-load-balancers", 50) }, "QuotaReached",
		},
		"quota of target groups": {
			func(r *Harness) { quota(r, "target-groups", countGroups(r)+1) },
			func(r *Harness) { quota(r, "target-groups", 100) }, "QuotaReached",
		},
		"deletion protection": {
			func(r *Harness) { protect(r, "true") },
			func(r *Harness) { protect(r, "false") }, "deletion protection",
		},
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, pods("web", podAddresses[:3]...), pods("api", podAddresses[3]), ingressOf(private, "/=web", "/api=api"))
				r.settleOrFail(10 * time.Minute)
				time.Sleep(10 * time.Minute)
				name := host(r)
				x.hinder(r)
				c := follow(r)
				r.Apply(ingressOf(public, "/=web", "/api=api"))
				r.Settle(10 * time.Minute)
				r.Apply(ingressOf(public, "/=web", "/api=api", "/new=api"))
				r.Emulator.Calls().Reset()
				r.Settle(2 * time.Hour)
				expect(t, "the name", name, host(r))
				if now := host(r); unserved(r, now) != "" {
					t.Error(unserved(r, now))
				}
				if to := answered(r, 80, "shop.example.com", "/new"); !strings.Contains(to, "api") {
					t.Errorf("the new path is answered by %s", to)
				}
				if text := strings.Join(warnings(r)["web"], "\n"); !strings.Contains(text, x.says) || !strings.Contains(text, "ReplacementHeld") {
					t.Errorf("the owner reads %s", text)
				}
				if n := r.Emulator.Calls().Count("CreateLoadBalancer"); n > maxRejectedCallsPerHour {
					t.Errorf("%d load balancers are made in two hours", n)
				}
				x.free(r)
				r.Apply(ingressOf(public+annotated("tags", "a=b"), "/=web", "/api=api", "/new=api"))
				r.Settle(time.Hour)
				expect(t, "load balancers in the end", "internet-facing", schemes(r))
				if len(c.lost) > 0 || len(c.shown) != 2 {
					t.Errorf("lost %s\nshown %v", strings.Join(c.lost, "\n"), c.shown)
				}
			})
		})
	}
}

// TestLoadBalancerWithFixedNameIsDeletedFirst checks that a load balancer with a configured name is deleted before
// its replacement is created, because names are unique.
func TestLoadBalancerWithFixedNameIsDeletedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		named := annotated("load-balancer-name", "mine")
		r.Apply(shop, pods("web", podAddresses[:3]...), ingressOf(private+named, "/=web"))
		r.settleOrFail(10 * time.Minute)
		r.Apply(ingressOf(public+named, "/=web"))
		r.settleOrFail(10 * time.Minute)
		expect(t, "load balancers", "internet-facing", schemes(r))
		if text := strings.Join(warnings(r)["web"], "\n"); !strings.Contains(text, "ReplacedWithGap") {
			t.Errorf("the owner reads %s", text)
		}
		time.Sleep(10 * time.Minute)
		// Changing the name in the same edit avoids the gap. Changing only the name has no effect.
		c := follow(r)
		r.Apply(ingressOf(private+annotated("load-balancer-name", "yours"), "/=web"))
		r.settleOrFail(time.Hour)
		expect(t, "load balancers", "internal", schemes(r))
		if len(c.lost) > 0 || len(c.shown) != 2 {
			t.Errorf("lost %s\nshown %v", strings.Join(c.lost, "\n"), c.shown)
		}
		r.Emulator.Calls().Reset()
		r.Apply(ingressOf(private+annotated("load-balancer-name", "theirs"), "/=web"))
		r.settleOrFail(time.Hour)
		if n := r.Emulator.Calls().Mutating(); n > 0 {
			t.Errorf("%d calls change something: %v", n, r.Emulator.Calls().Counts())
		}
		if text := strings.Join(warnings(r)["web"], "\n"); !strings.Contains(text, "SettingFixed") {
			t.Errorf("the owner reads %s", text)
		}
	})
}

// TestDeleteFirstOption checks the option to delete the old load balancer first, as aws-load-balancer-controller
// does.
func TestDeleteFirstOption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Plan: func(o *plan.Options) { o.CreateFirst = false }})
		r.Apply(shop, pods("web", podAddresses[:3]...), ingressOf(private, "/=web"))
		r.settleOrFail(10 * time.Minute)
		n := countGroups(r)
		r.Apply(ingressOf(public, "/=web"))
		r.settleOrFail(time.Minute)
		expect(t, "load balancers", "internet-facing", schemes(r))
		if countGroups(r) != n {
			t.Errorf("%d target groups, before %d", countGroups(r), n)
		}
	})
}
