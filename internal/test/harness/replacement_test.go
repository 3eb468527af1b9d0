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

// dnsClient is a client that uses DNS. It sends requests to each hostname that the status of an object has shown within
// the last ttl.
type dnsClient struct {
	r         *Harness
	ttl       time.Duration
	lastShown map[string]time.Time // when the status last showed a hostname, by hostname
	// shownHostnames are the hostnames in the order in which the status showed them. lostRequests describe up to ten
	// requests that were not served.
	shownHostnames, lostRequests []string
	// host returns the hostname in the status. unservedReason returns why a hostname is not served, or "" if it is.
	host           func(*Harness) string
	unservedReason func(r *Harness, name string) string
}

// newDNSClient returns a client of Ingress "shop/web" with a TTL of one minute. It replaces the fault hook, and checks
// its hostnames after each call to AWS.
func newDNSClient(r *Harness) *dnsClient {
	f := &dnsClient{r: r, ttl: time.Minute, lastShown: map[string]time.Time{}, host: ingressHostname, unservedReason: unservedReason}
	r.Emulator.Faults().SetHook(f.hook)
	return f
}

func (f *dnsClient) hook(c fault.Call) fault.Action {
	return fault.Action{After: func() { f.checkServed(c.Operation) }}
}

// ingressHostname returns the first hostname in the status of Ingress "shop/web", or "".
func ingressHostname(r *Harness) string {
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

// checkServed records the hostname in the status after a call of an operation, and adds each hostname that a client still
// uses and that is not served to lostRequests.
func (f *dnsClient) checkServed(operation string) {
	name := f.host(f.r)
	if name != "" {
		if len(f.shownHostnames) == 0 || f.shownHostnames[len(f.shownHostnames)-1] != name {
			f.shownHostnames = append(f.shownHostnames, name)
		}
		f.lastShown[name] = time.Now()
	}
	for name, at := range f.lastShown {
		if time.Since(at) > f.ttl {
			continue
		}
		if why := f.unservedReason(f.r, name); why != "" && len(f.lostRequests) < 10 {
			f.lostRequests = append(f.lostRequests, fmt.Sprintf("%s, last shown %s ago, after %s: %s", name, time.Since(at), operation, why))
		}
	}
}

// unservedReason returns why no pod answers requests to port 80 of the load balancer with hostname name, or "" if a
// healthy pod answers.
func unservedReason(r *Harness, name string) string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	for _, lb := range p.ELB.LoadBalancers {
		if !strings.EqualFold(lb.DNSName, name) {
			continue
		}
		if state, _ := lb.State(time.Now()); state != "active" {
			return "its state is " + string(state)
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
	return "the load balancer does not exist"
}

// loadBalancerSchemes returns the schemes of all load balancers, sorted and separated by spaces.
func loadBalancerSchemes(r *Harness) string {
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

var publicScheme, privateScheme = ingressAnnotations("scheme", "internet-facing"), ingressAnnotations("scheme", "internal")

// TestSchemeChangeLosesNoRequest checks that a client that uses DNS loses no request if a change of the scheme replaces
// the load balancer during a rolling update.
func TestSchemeChangeLosesNoRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := startFleet(t)
		w := r.Emulator.Store()
		w.Lock()
		w.Config.ELB.ProvisioningDelay = 3 * time.Minute
		w.Unlock()
		c := newDNSClient(r)
		each := func() { c.checkServed("time"); f.rollOneStep() }
		f.runUntil(time.Minute, each, func() bool { return false })
		r.Apply(webIngress(publicScheme, "/=web"))
		if !f.runUntil(10*time.Minute, each, func() bool { return len(c.shownHostnames) == 2 }) {
			t.Fatalf("the status does not show a new load balancer: %v", c.shownHostnames)
		}
		switched := time.Now()
		expectEqual(t, "after the switch", "internal internet-facing", loadBalancerSchemes(r))
		f.version, f.minReady = 2, 20*time.Second
		if !f.runUntil(20*time.Minute, each, func() bool { return loadBalancerSchemes(r) == "internet-facing" }) {
			t.Fatal("the old load balancer stays")
		}
		if !f.isRolledOut() {
			t.Error("the pods were not replaced meanwhile")
		}
		if kept := time.Since(switched); kept < 14*time.Minute+50*time.Second || kept > 16*time.Minute {
			t.Errorf("the old load balancer is deleted after %s", kept)
		}
		f.runUntil(10*time.Minute, each, func() bool { return false })
		if len(c.lostRequests) > 0 || len(c.shownHostnames) != 2 {
			t.Errorf("lost %s\nshown %v", strings.Join(c.lostRequests, "\n"), c.shownHostnames)
		}
		if failed := r.Settle(time.Hour); len(failed) > 0 {
			t.Error(failed)
		}
		if n := countTargetGroups(r); n != 2 {
			t.Errorf("%d target groups are left", n)
		}
	})
}

// replacementLifecycle creates an Ingress, changes its scheme and deletes it. It returns State and clusterState after
// each step. act is called before the change of the scheme.
func replacementLifecycle(t *testing.T, r *Harness, act func()) (states [][]string) {
	t.Helper()
	rest := func(d time.Duration) {
		t.Helper()
		for range 5 {
			failed := r.Settle(d)
			if !r.WasKilled() {
				if len(failed) > 0 {
					t.Fatalf("still failing: %v", failed)
				}
				break
			}
			r.Start()
		}
		states = append(states, append(r.State(), clusterState(r)...))
	}
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3]), webIngress(privateScheme, "/=web", "/api=api"))
	rest(10 * time.Minute)
	time.Sleep(10 * time.Minute) // lets the load balancer become active and its targets healthy
	act()
	r.Apply(webIngress(publicScheme, "/=web", "/api=api"))
	rest(time.Hour)
	deleteInShop(t, r, cluster.KindIngress, "web")
	rest(30 * time.Minute)
	return states
}

// TestReplacementWithFaults checks that the replacement of a load balancer has the same result if the process is killed
// after a call to AWS or a response to a mutating call is lost. No request is lost, the hostname in the status changes
// once, and nothing remains after the deletion. Ordinary test runs try every third call.
func TestReplacementWithFaults(t *testing.T) {
	t.Parallel()
	var want [][]string
	var calls, mutations int
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		before := r.State()
		want = replacementLifecycle(t, r, r.Emulator.Calls().Reset)
		calls, mutations = r.Emulator.Calls().Total(), r.Emulator.Calls().CountMutating()
		if diff := cmp.Diff(before, want[2]); diff != "" {
			t.Errorf("resources are left (-before +after):\n%s", diff)
		}
	})
	try := func(n int, what string, hook func(r *Harness) fault.Hook) {
		synctest.Test(t, func(t *testing.T) {
			r := newShop(t)
			var c *dnsClient
			got := replacementLifecycle(t, r, func() {
				c = newDNSClient(r)
				r.Emulator.Calls().Reset()
				inner := hook(r)
				r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
					a := inner(call)
					a.After = func() {
						if obj, _ := r.Store.Get(ingressRef); obj != nil && obj.GetDeletionTimestamp() == nil {
							c.checkServed(call.Operation)
						}
					}
					return a
				})
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %d (-clean +fault):\n%s", what, n, diff)
			}
			if len(c.lostRequests) > 0 || len(c.shownHostnames) != 2 {
				t.Errorf("%s %d: lost %s\nshown %v", what, n, strings.Join(c.lostRequests, "\n"), c.shownHostnames)
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

// TestRevertedSchemeReusesPreviousLoadBalancer checks that the previous load balancer is used again if the scheme is
// reverted while that load balancer still exists.
func TestRevertedSchemeReusesPreviousLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Emulator: slowChecks()})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(privateScheme, "/=web"))
				r.settleOrFail(10 * time.Minute)
				time.Sleep(10 * time.Minute)
				before, name := r.State(), ingressHostname(r)
				c := newDNSClient(r)
				r.Apply(webIngress(publicScheme, "/=web"))
				r.settleOrFail(after)
				time.Sleep(time.Second)
				r.Apply(webIngress(privateScheme, "/=web"))
				r.settleOrFail(10 * time.Second)
				expectEqual(t, "the hostname", name, ingressHostname(r))
				r.settleOrFail(time.Hour)
				expectEqual(t, "the hostname in the end", name, ingressHostname(r))
				if diff := cmp.Diff(before, r.State()); diff != "" {
					t.Errorf("-before +after:\n%s", diff)
				}
				if len(c.lostRequests) > 0 || len(c.shownHostnames) > 3 {
					t.Errorf("lost %s\nshown %v", strings.Join(c.lostRequests, "\n"), c.shownHostnames)
				}
			})
		})
	}
}

// TestDeletionDuringReplacement checks that both load balancers are deleted if the Ingress is deleted during a
// replacement.
func TestDeletionDuringReplacement(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 3 * time.Second, time.Minute, 14 * time.Minute} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				before := r.State()
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(privateScheme, "/=web"))
				r.settleOrFail(10 * time.Minute)
				r.Apply(webIngress(publicScheme, "/=web"))
				r.settleOrFail(after)
				time.Sleep(time.Second)
				expectEqual(t, "when it is deleted", "internal internet-facing", loadBalancerSchemes(r))
				deleteInShop(t, r, cluster.KindIngress, "web")
				r.settleOrFail(2 * time.Minute)
				if diff := cmp.Diff(before, r.State()); diff != "" {
					t.Errorf("resources are left (-before +after):\n%s", diff)
				}
				if !r.isDeleted(cluster.KindIngress, "shop", "web") || len(r.Store.All(cluster.KindBinding)) > 0 {
					t.Error("objects are left")
				}
			})
		})
	}
}

// TestBlockedReplacementKeepsServing checks that a warning reports why a load balancer cannot be replaced. The existing
// load balancer serves and gets other edits meanwhile, and is replaced after the obstacle is removed.
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
			func(r *Harness) { setQuota(r, "application-load-balancers", 1) },
			func(r *Harness) { setQuota(r, "application-load-balancers", 50) }, "QuotaReached",
		},
		"quota of target groups": {
			func(r *Harness) { setQuota(r, "target-groups", countTargetGroups(r)+1) },
			func(r *Harness) { setQuota(r, "target-groups", 100) }, "QuotaReached",
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
				r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3]), webIngress(privateScheme, "/=web", "/api=api"))
				r.settleOrFail(10 * time.Minute)
				time.Sleep(10 * time.Minute)
				name := ingressHostname(r)
				x.hinder(r)
				c := newDNSClient(r)
				r.Apply(webIngress(publicScheme, "/=web", "/api=api"))
				r.Settle(10 * time.Minute)
				r.Apply(webIngress(publicScheme, "/=web", "/api=api", "/new=api"))
				r.Emulator.Calls().Reset()
				r.Settle(2 * time.Hour)
				expectEqual(t, "the hostname", name, ingressHostname(r))
				if now := ingressHostname(r); unservedReason(r, now) != "" {
					t.Error(unservedReason(r, now))
				}
				if to := answerTo(r, 80, "shop.example.com", "/new"); !strings.Contains(to, "api") {
					t.Errorf("the new path is answered by %s", to)
				}
				if text := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(text, x.says) || !strings.Contains(text, "ReplacementHeld") {
					t.Errorf("warnings on the Ingress: %s", text)
				}
				if n := r.Emulator.Calls().Count("CreateLoadBalancer"); n > maxRejectedCallsPerHour {
					t.Errorf("%d calls of CreateLoadBalancer in two hours", n)
				}
				x.free(r)
				r.Apply(webIngress(publicScheme+ingressAnnotations("tags", "a=b"), "/=web", "/api=api", "/new=api"))
				r.Settle(time.Hour)
				expectEqual(t, "load balancers in the end", "internet-facing", loadBalancerSchemes(r))
				if len(c.lostRequests) > 0 || len(c.shownHostnames) != 2 {
					t.Errorf("lost %s\nshown %v", strings.Join(c.lostRequests, "\n"), c.shownHostnames)
				}
			})
		})
	}
}

// TestLoadBalancerWithFixedNameIsDeletedFirst checks that a load balancer with a configured name is deleted before its
// replacement is created, because names are unique in AWS. A new name in the same edit avoids this.
func TestLoadBalancerWithFixedNameIsDeletedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		named := ingressAnnotations("load-balancer-name", "mine")
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(privateScheme+named, "/=web"))
		r.settleOrFail(10 * time.Minute)
		r.Apply(webIngress(publicScheme+named, "/=web"))
		r.settleOrFail(10 * time.Minute)
		expectEqual(t, "load balancers", "internet-facing", loadBalancerSchemes(r))
		if text := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(text, "ReplacedWithGap") {
			t.Errorf("warnings on the Ingress: %s", text)
		}
		time.Sleep(10 * time.Minute)
		// A new name in the same edit avoids the interruption. A new name alone has no effect.
		c := newDNSClient(r)
		r.Apply(webIngress(privateScheme+ingressAnnotations("load-balancer-name", "yours"), "/=web"))
		r.settleOrFail(time.Hour)
		expectEqual(t, "load balancers", "internal", loadBalancerSchemes(r))
		if len(c.lostRequests) > 0 || len(c.shownHostnames) != 2 {
			t.Errorf("lost %s\nshown %v", strings.Join(c.lostRequests, "\n"), c.shownHostnames)
		}
		r.Emulator.Calls().Reset()
		r.Apply(webIngress(privateScheme+ingressAnnotations("load-balancer-name", "theirs"), "/=web"))
		r.settleOrFail(time.Hour)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d mutating calls: %v", n, r.Emulator.Calls().Counts())
		}
		if text := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(text, "SettingFixed") {
			t.Errorf("warnings on the Ingress: %s", text)
		}
	})
}

// TestDeleteFirstOption checks that, with option CreateFirst disabled, the old load balancer is deleted within a minute
// after a change of the scheme, as aws-load-balancer-controller does.
func TestDeleteFirstOption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Plan: func(o *plan.Options) { o.CreateFirst = false }})
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(privateScheme, "/=web"))
		r.settleOrFail(10 * time.Minute)
		n := countTargetGroups(r)
		r.Apply(webIngress(publicScheme, "/=web"))
		r.settleOrFail(time.Minute)
		expectEqual(t, "load balancers", "internet-facing", loadBalancerSchemes(r))
		if countTargetGroups(r) != n {
			t.Errorf("%d target groups, before %d", countTargetGroups(r), n)
		}
	})
}
