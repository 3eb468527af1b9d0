package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// stackListeningOn returns a stack with one member for each of the namespaces "shop" and "team". ports has the ports of each
// namespace; the member has a rule on each of them. No port may belong to both.
func stackListeningOn(ports map[string][]int32) model.Stack {
	rules, all := map[int32][]model.Rule{}, []int32{}
	owner := map[int32]string{}
	for _, n := range []string{"shop", "team"} {
		for _, port := range ports[n] {
			ref := memberOf(n)
			rules[port] = []model.Rule{{
				Conditions: []model.Condition{model.HostHeader{Values: []string{n + ".example.com"}}},
				Actions:    []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: n + "/web-g0:80"}}}}},
				Member:     ref, Origin: finding.Origin{Object: ref, Field: fmt.Sprint(port)},
			}}
			all, owner[port] = append(all, port), n
		}
	}
	slices.Sort(all)
	st := sharedStackGenerator{ports: all}.stackOf(rules)
	for i := range st.LoadBalancer.Listeners {
		l := &st.LoadBalancer.Listeners[i]
		l.Members = []finding.Ref{memberOf(owner[l.Port])}
	}
	return st
}

// ownedByGuests makes the members of each listener its guests, and one object the member of all listeners, like a Gateway.
func ownedByGuests(st model.Stack) model.Stack {
	for i := range st.LoadBalancer.Listeners {
		l := &st.LoadBalancer.Listeners[i]
		l.Members, l.ListenerSets = []finding.Ref{memberOf("shop")}, l.Members
	}
	return st
}

// stepsWithinListenerQuota returns the steps of a plan that succeed if AWS has this quota of listeners.
func stepsWithinListenerQuota(have observed.Stack, steps []plan.Step, quota int) (out []plan.Step) {
	n, refused := len(listenersOf(have)), map[plan.StepID]bool{}
	for _, s := range steps {
		switch s.Do.(type) {
		case plan.DeleteListener:
			n--
		case plan.CreateListener:
			if n == quota {
				refused[s.ID] = true
				continue
			}
			n++
		}
		if slices.ContainsFunc(s.After, func(id plan.StepID) bool { return refused[id] }) {
			refused[s.ID] = true
			continue
		}
		out = append(out, s)
	}
	return out
}

// TestListenerQuotaIsSharedByNamespaces checks that, for any quota of listeners, a namespace that changes ports keeps as
// many listeners as it had, and free quota goes to the namespace with the fewest listeners. In half of the cases, the
// namespaces own the listeners as guests.
func TestListenerQuotaIsSharedByNamespaces(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 150, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 12))
		free := r.Perm(16)
		take := func(n int) (out []int32) {
			for range min(n, len(free)) {
				out, free = append(out, int32(8000+free[0])), free[1:]
			}
			return out
		}
		stackOf := func(ports map[string][]int32) model.Stack {
			if seed%2 == 1 {
				return ownedByGuests(stackListeningOn(ports))
			}
			return stackListeningOn(ports)
		}
		before := map[string][]int32{"shop": take(1 + r.IntN(4)), "team": take(1 + r.IntN(4))}
		have := converge(t, stackOf(before), observed.Stack{Facts: testFacts()})
		after, had := map[string][]int32{}, map[string]int{}
		for n, ports := range before {
			had[n] = len(ports)
			after[n] = append(slices.Clone(ports[r.IntN(len(ports)+1):]), take(r.IntN(5))...)
		}
		want := stackOf(after)
		quota := len(listenersOf(have)) + r.IntN(3)
		have.Facts.Health = map[string]observed.Health{}
		p := planUntilNoQuestions(t, want, &have, func(string) string { return "healthy" })
		now := plantest.Simulate(have, p.KnownIDs, stepsWithinListenerQuota(have, stepsInOrder(p), quota))
		is := map[string]int{}
		for _, l := range listenersOf(now) {
			for n, ports := range after {
				if slices.Contains(ports, l.Port) {
					is[n]++
				}
			}
		}
		for n, other := range map[string]string{"shop": "team", "team": "shop"} {
			wants := len(after[n])
			switch {
			case is[n] >= wants:
			case is[n] < min(had[n], wants):
				t.Fatalf("seed %d: %s has %d listeners of %d, before %d, of %d in all\n%s", seed, n, is[n], wants, had[n], quota, p.Text())
			case is[other] > had[other] && is[n] < is[other]-1:
				t.Fatalf("seed %d: %s has %d listeners of %d, and the other %d, before %d, of %d in all\n%s", seed, n, is[n], wants, is[other], had[other], quota, p.Text())
			}
		}
	})
}

// TestSecurityGroupRulesOfTheSmallestShareComeFirst checks that the rules of a namespace with few client ranges come before
// those of a namespace with many, so that a quota of rules has room for them.
func TestSecurityGroupRulesOfTheSmallestShareComeFirst(t *testing.T) {
	stack := func(ports map[string][]int32) model.Stack {
		s := stackListeningOn(ports)
		var rules []model.IngressRule
		for namespace, clients := range map[string]int{"shop": 29, "team": 1} {
			for _, port := range ports[namespace] {
				for i := range clients {
					rules = append(rules, model.IngressRule{Protocol: "tcp", From: port, To: port, CIDR: fmt.Sprintf("192.0.2.%d/32", i)})
				}
			}
		}
		s.LoadBalancer.SecurityGroups = model.SecurityGroupsManaged{Group: model.SecurityGroup{Name: "sg", Ingress: rules}}
		return withFinalizers(s)
	}
	have := converge(t, stack(map[string][]int32{"shop": {8081}, "team": {80}}), observed.Stack{Facts: testFacts()})
	p, _ := planner.Make(stack(map[string][]int32{"shop": {8081, 8082}, "team": {80, 443}}), have, testOptions, plan.Memory{})
	var got []string
	for _, s := range p.Steps {
		if do, ok := s.Do.(plan.ChangeIngress); ok {
			got = append(got, fmt.Sprintf("%d for %s", len(do.Authorize), s.RequestedBy[0].Namespace))
		}
	}
	if want := []string{"1 for team", "29 for shop"}; !slices.Equal(got, want) {
		t.Errorf("rules %q, want %q", got, want)
	}
}
