package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	services "github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

const publicGroupAnnotation = ipTargets + ", fulcrum.dev/load-balancer-group: public"

// sharedService returns YAML of a Service of the controller's class in namespace "shop". day is the day of its
// creation, as two digits. annotations and ports are YAML lists without brackets.
func sharedService(name, day, annotations, ports string) string {
	return `
apiVersion: v1
kind: Service
metadata: {name: ` + name + `, namespace: shop, uid: 33333333-0000-4000-8000-0000000000` + day + `, creationTimestamp: "2025-01-` + day + `T00:00:00Z", annotations: {` + annotations + `}}
spec: {type: LoadBalancer, loadBalancerClass: ` + services.DefaultClass + `, selector: {app: ` + name + `}, ports: [` + ports + `]}
---`
}

func servicePort(number string) string { return "{port: " + number + ", targetPort: 8080}" }

func serviceNamed(r *Harness, name string) cluster.Object {
	r.T.Helper()
	obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: name})
	if err != nil {
		r.T.Fatal(err)
	}
	return obj
}

// stateLinesOf returns the lines of State about the target groups of a Service of namespace "shop", and about the rules
// that forward to them.
func stateLinesOf(r *Harness, service string) (out []string) {
	for _, line := range r.State() {
		if strings.Contains(line, "shop/"+service+":") {
			out = append(out, line)
		}
	}
	return out
}

// TestMembersJoinAndLeaveSharedLoadBalancer checks that Services join and leave a shared load balancer without a change
// for the other members. They join in the order of their age or in the reverse order, and leave in the same order.
func TestMembersJoinAndLeaveSharedLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]string{"oldest first": {"web", "api", "mail"}, "youngest first": {"mail", "api", "web"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				docs := map[string]string{
					"web": sharedService("web", "10", publicGroupAnnotation, servicePort("80")), "api": sharedService("api", "11", publicGroupAnnotation, servicePort("9000")),
					"mail": sharedService("mail", "12", publicGroupAnnotation, servicePort("25")),
				}
				r := shopWith(t, Options{})
				before := r.State()
				r.Apply(readyPods("web", podAddresses[0]), readyPods("api", podAddresses[1]), readyPods("mail", podAddresses[2]))
				kept := map[string][]string{}
				for _, joins := range order {
					r.Apply(docs[joins])
					r.advanceTime(8 * time.Minute)
					for earlier, lines := range kept {
						if d := cmp.Diff(lines, stateLinesOf(r, earlier)); d != "" {
							t.Errorf("%s joins and changes what %s has: %s", joins, earlier, d)
						}
					}
					kept[joins] = stateLinesOf(r, joins)
					if len(kept[joins]) == 0 {
						t.Fatalf("%s has no resources:\n%s", joins, strings.Join(r.State(), "\n"))
					}
				}
				host := statusHostname(serviceNamed(r, "web"))
				for service, port := range map[string]string{"web": "80/TCP", "api": "9000/TCP", "mail": "25/TCP"} {
					obj := serviceNamed(r, service)
					expectEqual(t, service+" shows", host+" "+port, statusHostname(obj)+" "+statusPorts(obj))
					if d := cmp.Diff([]string{naming.SharedFinalizerPrefix + "shop.public"}, obj.GetFinalizers()); d != "" {
						t.Errorf("%s: %s", service, d)
					}
				}
				r.Emulator.Calls().Reset()
				r.advanceTime(11 * time.Hour)
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("without edits there are %d changes: %v", n, r.Emulator.Calls().Counts())
				}
				for i, leaves := range order {
					r.deleteObject(cluster.KindService, "shop", leaves)
					r.advanceTime(20 * time.Minute)
					for _, other := range order[i+1:] {
						if d := cmp.Diff(kept[other], stateLinesOf(r, other)); d != "" {
							t.Errorf("%s leaves and changes what %s has: %s", leaves, other, d)
						}
					}
				}
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("left behind (-before +after):\n%s", d)
				}
			})
		})
	}
}

// TestServiceKeepsItsPortOfSharedLoadBalancer checks that a Service keeps its port of a shared load balancer when an
// older Service names the same port. The older Service gets the port when the first one is deleted.
func TestServiceKeepsItsPortOfSharedLoadBalancer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		r.Apply(readyPods("web", podAddresses[0]), readyPods("api", podAddresses[1]), sharedService("api", "11", publicGroupAnnotation, servicePort("80")))
		r.advanceTime(8 * time.Minute)
		had := stateLinesOf(r, "api")
		r.Apply(sharedService("web", "10", publicGroupAnnotation, servicePort("80")+", "+strings.Replace(servicePort("443"), "{", "{name: tls, ", 1)))
		r.advanceTime(8 * time.Minute)
		if d := cmp.Diff(had, stateLinesOf(r, "api")); d != "" {
			t.Errorf("an older Service takes the port: %s", d)
		}
		expectEqual(t, "ports of the older Service", "443/TCP", statusPorts(serviceNamed(r, "web")))
		r.deleteObject(cluster.KindService, "shop", "api")
		r.advanceTime(20 * time.Minute)
		expectEqual(t, "ports of the older Service after the deletion of the other", "80/TCP,443/TCP", statusPorts(serviceNamed(r, "web")))
	})
}

// unservedPortReason returns a function for dnsClient.unservedReason. This function returns why no pod gets a
// connection to the given port of the load balancer with hostname name, or "" if a healthy pod gets it.
func unservedPortReason(port int) func(r *Harness, name string) string {
	return func(r *Harness, name string) string {
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
				l := p.ELB.Listeners[rule.Listener]
				if l.LoadBalancer != lb.ARN || int(l.Port) != port || !rule.IsDefault() {
					continue
				}
				g := p.ELB.TargetGroups[*rule.Actions[len(rule.Actions)-1].ForwardConfig.TargetGroups[0].TargetGroupArn]
				if slices.ContainsFunc(g.Targets, func(t *store.Target) bool { return p.TargetHealth(g, t, time.Now()).State == "healthy" }) {
					return ""
				}
				return g.Name + " has no healthy target"
			}
			return "the load balancer has no listener on the port"
		}
		return "the load balancer does not exist"
	}
}

// moveLifecycle moves a Service from a separate load balancer to a shared one and back, and deletes all Services. It
// returns State and clusterState after each step. act is called before the first move, and returns a client of the
// Service.
func moveLifecycle(t *testing.T, r *Harness, act func() *dnsClient) (states [][]string) {
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
	r.Apply(readyPods("web", podAddresses[0]), readyPods("api", podAddresses[1]),
		sharedService("api", "11", publicGroupAnnotation, servicePort("9000")), sharedService("web", "10", ipTargets, servicePort("80")))
	rest(10 * time.Minute)
	time.Sleep(10 * time.Minute) // lets the load balancers become active and their targets healthy
	rest(10 * time.Minute)
	client := act()
	r.Apply(sharedService("web", "10", publicGroupAnnotation, servicePort("80")))
	rest(time.Hour)
	r.Apply(sharedService("web", "10", ipTargets, servicePort("80")))
	rest(time.Hour)
	client.unservedReason = func(*Harness, string) string { return "" } // the Service is deleted next and need not be served
	r.deleteObject(cluster.KindService, "shop", "web")
	r.deleteObject(cluster.KindService, "shop", "api")
	rest(time.Hour)
	return states
}

// newServiceDNSClient returns a client that connects to a port of Service name in namespace "shop". It uses the
// hostnames that the status of the Service has shown within the TTL.
func newServiceDNSClient(r *Harness, name string, port int) *dnsClient {
	f := newDNSClient(r)
	f.unservedReason = unservedPortReason(port)
	f.host = func(r *Harness) string {
		if obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: name}); err == nil && obj != nil && obj.GetDeletionTimestamp() == nil {
			return statusHostname(obj)
		}
		return ""
	}
	return f
}

// TestServiceMovesBetweenLoadBalancersWithoutDowntime checks that a client that uses DNS loses no connection while a
// Service moves to a shared load balancer and back. The result is the same if the process is killed after a call. About
// eight calls, in equal distances, are tried.
func TestServiceMovesBetweenLoadBalancersWithoutDowntime(t *testing.T) {
	t.Parallel()
	var want [][]string
	calls := 0
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		before := r.State()
		var web *dnsClient
		want = moveLifecycle(t, r, func() *dnsClient {
			web = newServiceDNSClient(r, "web", 80)
			r.Emulator.Calls().Reset()
			return web
		})
		calls = r.Emulator.Calls().Total()
		if len(web.lostRequests) > 0 || len(web.shownHostnames) != 3 {
			t.Errorf("lost %s\nshown %v", strings.Join(web.lostRequests, "\n"), web.shownHostnames)
		}
		if d := cmp.Diff(before, r.State()); d != "" {
			t.Errorf("left behind (-before +after):\n%s", d)
		}
	})
	if testing.Short() {
		return
	}
	for n := 1; n < calls; n += max(calls/8, 1) {
		synctest.Test(t, func(t *testing.T) {
			r := shopWith(t, Options{})
			var web *dnsClient
			got := moveLifecycle(t, r, func() *dnsClient {
				web = newServiceDNSClient(r, "web", 80)
				seen := 0
				r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
					seen++
					kill := seen == n
					return fault.Action{After: func() {
						web.checkServed(c.Operation)
						if kill {
							r.Kill()
						}
					}}
				})
				return web
			})
			if d := cmp.Diff(want, got); d != "" || len(web.lostRequests) > 0 {
				t.Errorf("killed after call %d: lost %v (-without +with):\n%s", n, web.lostRequests, d)
			}
		})
	}
}

// TestProtectedLoadBalancerStaysWhenServiceMoves checks that the previous load balancer is kept as long as the Service
// sets deletion protection, and is deleted when the Service disables it.
func TestProtectedLoadBalancerStaysWhenServiceMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const protected = `, service.beta.kubernetes.io/aws-load-balancer-attributes: "deletion_protection.enabled=true"`
		r := shopWith(t, Options{})
		r.Apply(readyPods("web", podAddresses[0]), sharedService("web", "10", ipTargets+protected, servicePort("80")))
		r.advanceTime(10 * time.Minute)
		r.Apply(sharedService("web", "10", publicGroupAnnotation+protected, servicePort("80")))
		r.advanceTime(time.Hour)
		expectEqual(t, "load balancers of a Service that moves", "internal internal", loadBalancerSchemes(r))
		if host := statusHostname(serviceNamed(r, "web")); !strings.HasPrefix(host, "internal-k8s-shop-grouppub") && !strings.HasPrefix(host, "k8s-shop-grouppub") {
			t.Errorf("the status shows %q", host)
		}
		r.Apply(sharedService("web", "10", publicGroupAnnotation+strings.Replace(protected, "true", "false", 1), servicePort("80")))
		r.advanceTime(time.Hour)
		expectEqual(t, "load balancers when the protection is lifted", "internal", loadBalancerSchemes(r))
	})
}

// TestMoveEventsNameTheNewLoadBalancer checks that the events about a move of a Service name the new load balancer,
// even if the previous one has another scheme.
func TestMoveEventsNameTheNewLoadBalancer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		open := publicGroupAnnotation + ", service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing"
		r.Apply(readyPods("web", podAddresses[0]), readyPods("api", podAddresses[1]),
			sharedService("api", "11", open, servicePort("9000")), sharedService("web", "10", publicGroupAnnotation, servicePort("80")))
		r.advanceTime(10 * time.Minute)
		r.Apply(sharedService("web", "10", ipTargets, servicePort("80")))
		r.advanceTime(10 * time.Minute)
		obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "web"})
		if err != nil {
			t.Fatal(err)
		}
		named := 0
		for _, text := range driftEvents(r, "LoadBalancerMoved") {
			_, name, ok := strings.Cut(text, `LoadBalancerMoved: load balancer "`)
			if !ok {
				continue
			}
			named++
			if name, _, _ = strings.Cut(name, `"`); !strings.HasPrefix(statusHostname(obj), name+"-") {
				t.Errorf("the Service is moved to %s: %s", statusHostname(obj), text)
			}
		}
		if named == 0 {
			t.Error("no event names the load balancer")
		}
	})
}
