package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// maxRejectedCallsPerHour is the maximum number of rejected calls of one operation in an hour for a load balancer,
// independent of how often it is reconciled.
const maxRejectedCallsPerHour = 30

// busyStackInterval returns the time between two reconciliations of a busy stack. An hour has several times more
// reconciliations than maxRejectedCallsPerHour.
func busyStackInterval() time.Duration { return time.Duration(seeds.Step(10)) * 3 * time.Second }

// editOften edits an annotation of an Ingress at the interval every, for the duration d. The edits change nothing in
// AWS, but cause a reconciliation each.
func editOften(r *Harness, name string, every, d time.Duration) {
	for range int(d / every) {
		annotate(r, name, annotationPrefix+"note", time.Now().String())
		next := time.Now().Add(every)
		r.Settle(every)
		time.Sleep(time.Until(next))
	}
}

// teamMembers returns YAML of Ingress "shop/web" in IngressGroup "team", with host "a.example.com". pairs are
// alternating names and values of its annotations.
func teamMembers(pairs ...string) string {
	return strings.Replace(webIngress(ingressAnnotations(append(pairs, "group.name", "team")...), "/=web", "/api=api"), "shop.example.com", "a.example.com", 1)
}

// otherTeamMember returns YAML of Ingress "shop/mate" in IngressGroup "team", with host "b.example.com".
func otherTeamMember(paths ...string) string {
	doc := strings.Replace(webIngress(ingressAnnotations("group.name", "team"), paths...), "shop.example.com", "b.example.com", 1)
	return strings.Replace(doc, "name: web\n", "name: mate\n", 1)
}

// denyOperations makes AWS answer calls of the operations with AccessDenied.
func denyOperations(r *Harness, operations ...string) {
	for _, o := range operations {
		r.Emulator.Faults().Add(fault.Rule{Operation: o, Action: fault.Action{Error: &store.Error{
			Code: "AccessDenied", Message: "User: arn:aws:sts::123456789012:assumed-role/controller is not authorized to perform: " + o, Status: 403,
		}}})
	}
}

func setQuota(r *Harness, name string, n int) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	w.Config.Quotas[name] = n
}

// countCalls returns the number of calls of an operation of any service.
func countCalls(r *Harness, operation string) (n int) {
	for name, c := range r.Emulator.Calls().Counts() {
		if strings.HasSuffix(name, ":"+operation) {
			n += c
		}
	}
	return n
}

// numberedPaths returns n rules "path=service" with distinct paths.
func numberedPaths(n int, service string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("/p%d=%s", i, service))
	}
	return out
}

// TestRejectedCallIsRarelyRepeated checks that a call that AWS rejects is made at most maxRejectedCallsPerHour times in
// an hour, although the stack is reconciled much more often, and that an object has a warning.
func TestRejectedCallIsRarelyRepeated(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		operation string
		refuse    func(r *Harness) // is called after all members are served; if nil, the operation is denied
		edit      func() string    // returns the YAML with the change that AWS rejects
	}{
		"AddTags is denied": {"AddTags", nil, func() string { return teamMembers("tags", "Team=a") }},
		"ModifyLoadBalancerAttributes is denied": {"ModifyLoadBalancerAttributes", nil, func() string {
			return teamMembers("load-balancer-attributes", "idle_timeout.timeout_seconds=90")
		}},
		"CreateRule is denied": {"CreateRule", nil, func() string { return otherTeamMember(numberedPaths(40, "web")...) }},
		"ModifyRule is denied": {"ModifyRule", nil, func() string {
			return strings.ReplaceAll(teamMembers(), "service: {name: api", "service: {name: web")
		}},
		"SetRulePriorities is denied": {"SetRulePriorities", nil, func() string {
			return strings.Replace(teamMembers(), "paths:", "paths:\n      - {path: /a/first, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}", 1)
		}},
		"SetSecurityGroups is denied": {"SetSecurityGroups", nil, func() string { return teamMembers("security-groups", "extra-sg") }},
		"CreateTargetGroup is denied": {"CreateTargetGroup", nil, func() string { return otherTeamMember("/=web", "/api=api") }},
		"CreateListener is denied":    {"CreateListener", nil, func() string { return teamMembers("listen-ports", `[{"HTTP":80},{"HTTP":81},{"HTTP":82}]`) }},
		"ModifyTargetGroup is denied": {"ModifyTargetGroup", nil, func() string { return teamMembers("healthcheck-interval-seconds", "20") }},
		"the quota of rules": {"CreateRule", func(r *Harness) { setQuota(r, "rules-per-application-load-balancer", 20) },
			func() string { return otherTeamMember(numberedPaths(200, "web")...) }},
		"the quota of target groups": {"CreateTargetGroup", func(r *Harness) { setQuota(r, "target-groups", 4) },
			func() string { return otherTeamMember("/=web", "/api=api") }},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), teamMembers(), otherTeamMember("/=web"))
				if failed := r.Settle(10 * time.Minute); len(failed) > 0 {
					t.Fatal(failed)
				}
				if c.refuse != nil {
					c.refuse(r)
				} else {
					denyOperations(r, c.operation)
				}
				r.Emulator.Calls().Reset()
				r.Apply(c.edit())
				every := busyStackInterval()
				if name == "the quota of rules" {
					every = 45 * time.Second // each reconciliation is slow
				}
				editOften(r, "web", every, time.Hour)
				n := countCalls(r, c.operation)
				served := 0 // number of successful calls
				if name == "the quota of rules" {
					served = 20
				}
				t.Logf("BENCH %s: %d calls in an hour of looks every %s, goal %d", name, n, every, maxRejectedCallsPerHour+served)
				if n > maxRejectedCallsPerHour+served {
					t.Errorf("%d calls in an hour", n)
				}
				if n == 0 {
					t.Error("the operation is not called")
				}
				reported := warningsByObject(r)
				for o, w := range reported {
					t.Log(o, strings.Join(w, "\n  "))
				}
				if len(reported) == 0 {
					t.Error("no object has a warning")
				}
				for o, w := range reported {
					w = slices.DeleteFunc(w, func(m string) bool { return strings.Contains(m, annotationPrefix+"note") })
					if len(w) > 3 {
						t.Errorf("%d warnings on %s, such as %q", len(w), o, w[0])
					}
				}
			})
		})
	}
}

// TestRejectedSettingDelaysNoOtherMember checks that a new rule of a member is served within a minute while AWS rejects
// a setting of another member.
func TestRejectedSettingDelaysNoOtherMember(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ operation, edit string }{
		"tags of the security group":      {"CreateTags", teamMembers("tags", "Team=a")},
		"tags":                            {"AddTags", teamMembers("tags", "Team=a")},
		"attributes of the load balancer": {"ModifyLoadBalancerAttributes", teamMembers("load-balancer-attributes", "idle_timeout.timeout_seconds=90")},
		"security groups":                 {"SetSecurityGroups", teamMembers("security-groups", "extra-sg")},
		"a health check":                  {"ModifyTargetGroup", teamMembers("healthcheck-interval-seconds", "20")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), teamMembers(), otherTeamMember("/=web"))
				settleWithoutErrors(t, r)
				denyOperations(r, c.operation)
				r.Apply(c.edit)
				r.Settle(time.Minute)
				r.Apply(otherTeamMember("/=web", "/new=api"))
				r.Settle(time.Minute)
				if got := answerTo(r, 80, "b.example.com", "/new"); !strings.HasPrefix(got, "k8s-shop-api") {
					t.Errorf("answered by %s: %v", got, warningsByObject(r))
				}
			})
		})
	}
}
