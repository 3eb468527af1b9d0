package harness

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// teamIngress returns a member of IngressGroup "team" in namespace "shop" with an HTTP listener. Callers that need
// another namespace replace it in the text.
func teamIngress(name, order string, paths ...string) string {
	doc := webIngress(ingressAnnotations("group.name", "team", "group.order", order), paths...)
	return strings.Replace(doc, "name: web\n", "name: "+name+"\n", 1)
}

// failHealthChecks makes the health checks of all registered targets of a Service fail.
func (r *Harness) failHealthChecks(service string) {
	w := r.Emulator.Store()
	w.Lock()
	var reports []store.HealthReport
	for arn, g := range w.Partition(Account, Region).ELB.TargetGroups {
		if !strings.Contains(g.Name, "-"+service+"-") {
			continue
		}
		for _, t := range g.Targets {
			reports = append(reports, store.HealthReport{TargetGroup: arn, Target: t.ID, Port: t.Port, Verdict: store.TargetHealthResult{
				State: elbtypes.TargetHealthStateEnumUnhealthy, Reason: elbtypes.TargetHealthReasonEnumTimeout, Description: "Request timed out",
			}})
		}
	}
	w.Unlock()
	for _, report := range reports {
		w.ReportHealth(report)
	}
}

// advanceUntil runs the controller until done returns true, for at most limit, and returns the time that has passed.
// It calls each once per second.
func (r *Harness) advanceUntil(limit time.Duration, each func(), done func() bool) time.Duration {
	begun := time.Now()
	for time.Since(begun) < limit && !done() {
		next := time.Now().Add(time.Second)
		each()
		r.Settle(time.Second)
		time.Sleep(time.Until(next))
	}
	return time.Since(begun)
}

// servicesOfPath returns the names of the Services to which port 80 forwards a path, separated by spaces. It returns
// "" if no rule matches or the rule forwards to no target group.
func (r *Harness) servicesOfPath(path string) string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	var rules []*store.Rule
	for _, rule := range p.ELB.Rules {
		if p.ELB.Listeners[rule.Listener].Port == 80 && !rule.IsDefault() {
			rules = append(rules, rule)
		}
	}
	slices.SortFunc(rules, func(a, b *store.Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	for _, rule := range rules {
		if !slices.ContainsFunc(rule.Conditions, func(c elbtypes.RuleCondition) bool {
			return c.PathPatternConfig != nil && slices.ContainsFunc(c.PathPatternConfig.Values, func(v string) bool {
				head, wild := strings.CutSuffix(v, "*")
				return v == path || wild && strings.HasPrefix(path, head)
			})
		}) {
			continue
		}
		var services []string
		for _, a := range rule.Actions {
			if a.ForwardConfig == nil {
				continue
			}
			for _, g := range a.ForwardConfig.TargetGroups {
				if g.Weight == nil || *g.Weight > 0 {
					services = append(services, strings.Split(p.ELB.TargetGroups[*g.TargetGroupArn].Name, "-")[2])
				}
			}
		}
		return strings.Join(services, " ")
	}
	return ""
}

func (r *Harness) isDeleted(kind cluster.Kind, namespace, name string) bool {
	obj, err := r.Store.Get(cluster.Ref{Kind: kind, Namespace: namespace, Name: name})
	if err != nil {
		r.T.Fatal(err)
	}
	return obj == nil
}

// newUnhealthyCatchAll returns an IngressGroup with a healthy member for /a and /b, and a member without healthy
// targets for all other paths. That member has no targets or, if checkFails is true, failing health checks. Tests must
// call each once per second.
func newUnhealthyCatchAll(t *testing.T, checkFails bool) (r *Harness, each func()) {
	t.Helper()
	r = shopWith(t, Options{Emulator: slowChecks()})
	each = func() { r.failHealthChecks("api") }
	sick := readyPods("api")
	if checkFails {
		sick = readyPods("api", podAddresses[3:5]...)
	}
	r.Apply(shop, readyPods("web", podAddresses[:2]...), sick, teamIngress("all", "900", "/=api"), teamIngress("good", "10", "/a=web", "/b=web"))
	r.advanceUntil(20*time.Minute, each, func() bool { return false })
	if r.servicesOfPath("/a") != "web" || r.servicesOfPath("/b") != "web" || r.servicesOfPath("/c") != "api" {
		t.Fatalf("at first: %q %q %q", r.servicesOfPath("/a"), r.servicesOfPath("/b"), r.servicesOfPath("/c"))
	}
	r.Emulator.Calls().Reset()
	return r, each
}

// forEachUnhealthyMember runs test once with a member without targets, and once with a member whose health checks
// fail.
func forEachUnhealthyMember(t *testing.T, test func(t *testing.T, r *Harness, each func())) {
	for name, fails := range map[string]bool{"scaled to zero": false, "health check fails": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, each := newUnhealthyCatchAll(t, fails)
				test(t, r, each)
			})
		})
	}
}

func TestUnhealthyMemberDoesNotBlockDeletionOfAnother(t *testing.T) {
	t.Parallel()
	forEachUnhealthyMember(t, func(t *testing.T, r *Harness, each func()) {
		r.deleteObject(cluster.KindIngress, "shop", "good")
		took := r.advanceUntil(30*time.Second, each, func() bool { return r.servicesOfPath("/a") == "api" })
		if r.servicesOfPath("/a") != "api" {
			t.Errorf("after %s /a is still answered by %q", took, r.servicesOfPath("/a"))
		}
		took = r.advanceUntil(10*time.Minute, each, func() bool { return r.isDeleted(cluster.KindIngress, "shop", "good") })
		if !r.isDeleted(cluster.KindIngress, "shop", "good") {
			t.Errorf("the Ingress is still there after %s", took)
		}
		if n := r.Emulator.Calls().Count("DescribeTargetHealth"); n > 50 {
			t.Errorf("%d calls of DescribeTargetHealth", n)
		}
	})
}

func TestUnhealthyMemberDoesNotKeepRemovedPathOfAnother(t *testing.T) {
	t.Parallel()
	forEachUnhealthyMember(t, func(t *testing.T, r *Harness, each func()) {
		r.Apply(teamIngress("good", "10", "/a=web"))
		took := r.advanceUntil(30*time.Second, each, func() bool { return r.servicesOfPath("/b") == "api" })
		if r.servicesOfPath("/b") != "api" || r.servicesOfPath("/a") != "web" {
			t.Errorf("after %s /b is answered by %q and /a by %q", took, r.servicesOfPath("/b"), r.servicesOfPath("/a"))
		}
	})
}

func TestUnhealthyMemberDoesNotBlockNewMember(t *testing.T) {
	t.Parallel()
	forEachUnhealthyMember(t, func(t *testing.T, r *Harness, each func()) {
		// Add a member, and let it serve a path below /b, which the other member gives up.
		r.Apply(teamIngress("good", "10", "/a=web"), teamIngress("new", "20", "/new=web", "/b/new=web"))
		took := r.advanceUntil(time.Minute, each, func() bool {
			return r.servicesOfPath("/new") == "web" && r.servicesOfPath("/b/new") == "web" && r.servicesOfPath("/b") == "api"
		})
		if r.servicesOfPath("/new") != "web" || r.servicesOfPath("/b/new") != "web" || r.servicesOfPath("/b") != "api" {
			t.Errorf("after %s /new is answered by %q, /b/new by %q, /b by %q", took, r.servicesOfPath("/new"), r.servicesOfPath("/b/new"), r.servicesOfPath("/b"))
		}
		r.advanceUntil(10*time.Minute, each, func() bool { return false })
		if n := r.Emulator.Calls().Count("DescribeTargetHealth"); n > 60 {
			t.Errorf("%d calls of DescribeTargetHealth in ten minutes", n)
		}
	})
}

func TestUnhealthyMemberDoesNotBlockNamespaceDeletion(t *testing.T) {
	t.Parallel()
	forEachUnhealthyMember(t, func(t *testing.T, r *Harness, each func()) {
		other := func(doc string) string { return strings.ReplaceAll(doc, "shop", "other") }
		member := strings.Replace(teamIngress("theirs", "5", "/theirs=web"), "namespace: shop", "namespace: other", 1)
		r.Apply(other(shop), other(readyPods("web", podAddresses[5])), member)
		r.advanceUntil(10*time.Minute, each, func() bool { return false })
		if r.servicesOfPath("/theirs") != "web" {
			t.Fatalf("/theirs is answered by %q", r.servicesOfPath("/theirs"))
		}
		// The namespace controller deletes all objects of the namespace, until none remains.
		left := func() (n int) {
			for _, kind := range []cluster.Kind{cluster.KindPod, cluster.KindEndpointSlice, cluster.KindService, cluster.KindBinding, cluster.KindIngress} {
				for _, o := range r.Store.All(kind) {
					if o.GetNamespace() == "other" {
						n++
						if o.GetDeletionTimestamp() == nil {
							r.deleteObject(kind, "other", o.GetName())
						}
					}
				}
			}
			return n
		}
		took := r.advanceUntil(10*time.Minute, func() { each(); left() }, func() bool { return left() == 0 })
		if left() > 0 {
			t.Errorf("%d objects are left in the namespace after %s", left(), took)
		}
		if _, ok := r.activeTargetHealth()[podAddresses[5]]; ok {
			t.Error("the address of the deleted pod is still registered")
		}
		if got := r.servicesOfPath("/theirs"); got != "api" {
			t.Errorf("/theirs is answered by %q", got)
		}
	})
}

// TestTrafficMovesAtTheDeadline checks that targets that never become healthy delay the change of their Ingress only
// until its deadline, and that this Ingress gets an event. Changes of other members are not delayed.
func TestTrafficMovesAtTheDeadline(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"scaled to zero": false, "health check fails": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Emulator: slowChecks()})
				sick := readyPods("api")
				if fails {
					sick = readyPods("api", podAddresses[3:5]...)
				}
				each := func() { r.failHealthChecks("api") }
				r.Apply(shop, readyPods("api", podAddresses[3:5]...))
				if !fails {
					r.deletePods("api", 2)
				}
				r.Apply(readyPods("web", podAddresses[:2]...), sick, teamIngress("mine", "10", "/a=web"), teamIngress("theirs", "20", "/b=web"))
				r.advanceUntil(10*time.Minute, each, func() bool { return false })
				r.Emulator.Calls().Reset()
				r.Apply(teamIngress("mine", "10", "/a=api"))
				took := r.advanceUntil(10*time.Minute, each, func() bool { return r.servicesOfPath("/a") == "api" })
				// The deadline is two health checks at an interval of 15 s, and two minutes.
				if r.servicesOfPath("/a") != "api" || took < 150*time.Second || took > 155*time.Second {
					t.Errorf("after %s /a is answered by %q", took, r.servicesOfPath("/a"))
				}
				if n := r.Emulator.Calls().Count("DescribeTargetHealth"); n > 50 {
					t.Errorf("%d calls of DescribeTargetHealth", n)
				}
				reported := warningsByObject(r)
				if len(reported["mine"]) != 1 || !strings.Contains(reported["mine"][0], "WaitExpired") || len(reported["theirs"]) > 0 {
					t.Errorf("reported %q", reported)
				}
				// The changes of the other member are applied meanwhile, and the wait does not start again.
				r.Apply(teamIngress("theirs", "20", "/b=web", "/c=web"))
				took = r.advanceUntil(time.Minute, each, func() bool { return r.servicesOfPath("/c") == "web" })
				if r.servicesOfPath("/c") != "web" || r.servicesOfPath("/a") != "api" {
					t.Errorf("after %s /c is answered by %q, /a by %q", took, r.servicesOfPath("/c"), r.servicesOfPath("/a"))
				}
			})
		})
	}
}
