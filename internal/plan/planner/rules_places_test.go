package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// sharedStackGenerator generates load balancers of two namespaces with different hosts.
type sharedStackGenerator struct {
	r     *rand.Rand
	ports []int32
}

func memberOf(namespace string) finding.Ref {
	return finding.Ref{Kind: "Ingress", Namespace: namespace, Name: "web"}
}

func (s sharedStackGenerator) randomRules(namespace string, most int) (out map[int32][]model.Rule) {
	out = map[int32][]model.Rule{}
	ref := memberOf(namespace)
	for i := range s.r.IntN(most + 1) {
		port := s.ports[s.r.IntN(len(s.ports))]
		cs := []model.Condition{
			model.HostHeader{Values: []string{namespace + ".example.com"}},
			model.PathPattern{Values: []string{[]string{"/*", "/a", "/a/*", "/b/*", "/a/x", "/c", "/d", "/e"}[s.r.IntN(8)]}},
		}
		if slices.ContainsFunc(out[port], func(o model.Rule) bool { return equal.SameConditions(o.Conditions, cs) }) {
			continue
		}
		var act model.Action = model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: fmt.Sprintf("%s/web-g%d:80", namespace, s.r.IntN(3))}}}}
		if s.r.IntN(4) == 0 {
			act = model.FixedResponse{Status: fmt.Sprint(400 + s.r.IntN(5))}
		}
		out[port] = append(out[port], model.Rule{
			Conditions: cs, Actions: []model.Action{act}, Member: ref, Origin: finding.Origin{Object: ref, Field: fmt.Sprintf("rule %d", i)},
		})
	}
	return out
}

func (s sharedStackGenerator) stackOf(of ...map[int32][]model.Rule) model.Stack {
	st := model.Stack{ID: testStackID}
	lb := &model.LoadBalancer{
		Name: "lb", Scheme: model.Internal, AddressType: model.IPv4, Subnets: model.SubnetsDiscovered{},
		SecurityGroups: model.SecurityGroupsManaged{Group: model.SecurityGroup{Name: "sg"}, Backend: true},
	}
	st.BackendSecurityGroup.Needed = true
	for _, n := range []string{"shop", "team"} {
		st.Members = append(st.Members, model.Member{Ref: memberOf(n), Finalizer: "f", Claimed: true})
	}
	groups := map[string]finding.Ref{}
	for _, port := range s.ports {
		l := model.Listener{Port: port, Default: []model.Action{plan.NotFoundResponse}, Members: []finding.Ref{memberOf("shop"), memberOf("team")}}
		for _, rules := range of {
			l.Rules = append(l.Rules, rules[port]...)
		}
		for _, r := range l.Rules {
			if f, ok := r.Actions[0].(model.Forward); ok {
				groups[f.Groups[0].Group.ID] = r.Member
			}
		}
		lb.Listeners = append(lb.Listeners, l)
	}
	for _, n := range []string{"shop", "team"} {
		for i := range 3 {
			id := fmt.Sprintf("%s/web-g%d:80", n, i)
			if m, ok := groups[id]; ok {
				st.TargetGroups = append(st.TargetGroups, model.TargetGroup{
					ID: id, Name: strings.NewReplacer("/", "-", ":", "-").Replace(id), Type: model.IPTargets, Port: 80, Protocol: "HTTP",
					Binding: &model.Binding{Namespace: n, Name: fmt.Sprint("g", i), Service: "s"}, Members: []finding.Ref{m},
				})
			}
		}
	}
	st.LoadBalancer = lb
	return st
}

// setQuotaReached sets OverQuota in all desired rules, as if the load balancer had reached its rule quota.
func setQuotaReached(want model.Stack) {
	for i := range want.LoadBalancer.Listeners {
		for j := range want.LoadBalancer.Listeners[i].Rules {
			want.LoadBalancer.Listeners[i].Rules[j].OverQuota = true
		}
	}
}

func countRulesOfNamespace(have observed.Stack, namespace string) (n int) {
	for _, l := range listenersOf(have) {
		for _, r := range l.Rules {
			if h, ok := r.Conditions[0].(model.HostHeader); ok && strings.HasPrefix(h.Values[0], namespace) {
				n++
			}
		}
	}
	return n
}

func countDesiredRulesOfNamespace(want model.Stack, namespace string) (n int) {
	for _, l := range want.LoadBalancer.Listeners {
		for _, r := range l.Rules {
			if r.Member.Namespace == namespace {
				n++
			}
		}
	}
	return n
}

// TestNamespacesKeepTheirRulesWhenTheQuotaIsReached checks the case that the rule quota is reached, one namespace changes
// its rules, and another namespace, whose rules come first, requests more. After every step there are no more rules than
// before, and every request for the other namespace is answered as before. In the end each namespace has as many rules as it
// had, if it requests as many.
func TestNamespacesKeepTheirRulesWhenTheQuotaIsReached(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 750, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 11))
		s := sharedStackGenerator{r, []int32{80, 443}[:1+r.IntN(2)]}
		theirs, backlog := s.randomRules("team", 6), s.randomRules("team", 8)
		have := converge(t, s.stackOf(theirs, s.randomRules("shop", 6)), observed.Stack{Facts: testFacts()})
		// The existing rules of the other namespace are still desired; its new rules come before them.
		for port, rules := range theirs {
			more := slices.DeleteFunc(backlog[port], func(b model.Rule) bool {
				return slices.ContainsFunc(rules, func(o model.Rule) bool { return equal.SameConditions(o.Conditions, b.Conditions) })
			})
			for i := range more {
				more[i].Origin.Field = fmt.Sprint("backlog ", i)
			}
			backlog[port] = slices.Concat(rules, more)
		}
		want := s.stackOf(backlog, s.randomRules("shop", 6))
		setQuotaReached(want)
		count := map[string]int{"shop": countRulesOfNamespace(have, "shop"), "team": countRulesOfNamespace(have, "team")}
		room := count["shop"] + count["team"]
		answers := func(have observed.Stack) (out []string) {
			for _, port := range s.ports {
				for _, at := range strings.Fields("/ /a /a/x /a/y /b/z /c /d /e") {
					out = append(out, fmt.Sprint(port, at, " ", outcome(have, request{port, "team.example.com", at})))
				}
			}
			return out
		}
		type moment struct {
			have observed.Stack
			what string
		}
		moments := []moment{{have: have}}
		for pass := range 20 {
			have.Facts.Health = map[string]observed.Health{}
			p := planUntilNoQuestions(t, want, &have, func(string) string { return "healthy" })
			steps := stepsInOrder(p)
			if len(steps) == 0 && len(p.Steps) == 0 {
				break
			}
			if pass == 19 {
				t.Fatalf("seed %d: no end of\n%s", seed, p.Text())
			}
			for i := range steps {
				now := plantest.Simulate(have, p.KnownIDs, steps[:i+1])
				if n := countRulesOfNamespace(now, ""); n > room {
					t.Fatalf("seed %d: %d rules where AWS takes %d, after %s of\n%s", seed, n, room, steps[i].ID, p.Text())
				}
				moments = append(moments, moment{now, fmt.Sprintf("%s of\n%s", steps[i].ID, p.Text())})
			}
			have = plantest.Simulate(have, p.KnownIDs, steps)
		}
		was, will := answers(moments[0].have), answers(have)
		for _, m := range moments {
			for i, is := range answers(m.have) {
				if is != was[i] && is != will[i] {
					t.Fatalf("seed %d: the other gets %s, before %s, in the end %s, after %s", seed, is, was[i], will[i], m.what)
				}
			}
		}
		for n, had := range count {
			other := map[string]string{"shop": "team", "team": "shop"}[n]
			// The owner of a rule without a target group is unknown; the namespace with the fewest rules may replace that
			// rule.
			if is := countRulesOfNamespace(have, n); is < min(had, countDesiredRulesOfNamespace(want, n)) && is < countRulesOfNamespace(have, other)-1 {
				t.Fatalf("seed %d: %s has %d rules of %d, before %d", seed, n, is, countDesiredRulesOfNamespace(want, n), had)
			}
		}
	})
}
