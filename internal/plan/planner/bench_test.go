package planner_test

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

// stackWithManyRules returns the desired state of a load balancer with n rules of 40 members, and a target group for every
// ten rules. conditions returns the conditions of rule i.
func stackWithManyRules(n int, conditions func(i int) []model.Condition) model.Stack {
	var rules []model.Rule
	for i := range n {
		r := forwardRule("/", fmt.Sprintf("g%d", i/10))
		r.Conditions = conditions(i)
		r.Member = finding.Ref{Kind: "Ingress", Namespace: "shop", Name: fmt.Sprintf("m%d", i*40/n)}
		r.Origin = finding.Origin{Object: r.Member, Field: fmt.Sprintf("spec.rules[%d]", i)}
		rules = append(rules, r)
	}
	s := withFinalizers(stackWithRules(rules...))
	for m := range 40 {
		s.Members = append(s.Members, model.Member{Ref: finding.Ref{Kind: "Ingress", Namespace: "shop", Name: fmt.Sprintf("m%d", m)}, Finalizer: "f", Claimed: true})
	}
	seen := map[string]bool{}
	s.TargetGroups = slices.DeleteFunc(s.TargetGroups, func(g model.TargetGroup) bool {
		repeated := seen[g.ID]
		seen[g.ID] = true
		return repeated
	})
	return s
}

// prefixConditions returns the conditions of a path of type Prefix on one of fifty hosts.
func prefixConditions(i int) []model.Condition {
	return []model.Condition{
		model.HostHeader{Values: []string{fmt.Sprintf("h%d.example.com", i%50)}},
		model.PathPattern{Values: []string{fmt.Sprintf("/p%d", i), fmt.Sprintf("/p%d/*", i)}},
	}
}

// wildcardConditions returns conditions that overlap with those of every other rule.
func wildcardConditions(i int) []model.Condition {
	return []model.Condition{
		model.HostHeader{Values: []string{"*.example.com"}},
		model.PathPattern{Values: []string{fmt.Sprintf("/*p%d*", i)}},
	}
}

// observedStateOf returns the observed state of a stack after the steps of its plans were carried out, with healthy targets.
func observedStateOf(s model.Stack) observed.Stack {
	have := observed.Stack{Facts: testFacts()}
	for range 4 {
		p, _ := planner.Make(s, have, testOptions, plan.Memory{})
		answerQuestions(&have, p.Questions, func(string) string { return "healthy" })
		if len(p.Questions) == 0 && len(p.Steps) == 0 {
			break
		}
		// This has the same effect as plantest.Simulate, which copies the whole state and is too slow for many rules.
		lb := have.LiveLoadBalancer(model.LoadBalancerID)
		if lb == nil {
			first := slices.DeleteFunc(slices.Clone(p.Steps), func(s plan.Step) bool { return s.Address.Kind == plan.Rule || s.Waits() })
			have = plantest.Simulate(have, p.KnownIDs, first)
			continue
		}
		for _, st := range p.Steps {
			do, ok := st.Do.(plan.CreateRule)
			if !ok {
				continue
			}
			l := &lb.Listeners[0]
			l.Rules = append(l.Rules, observed.Rule{
				ARN: st.Address.String(), Priority: do.Priority, Conditions: do.Rule.Conditions, Actions: plantest.ResolveActions(have, p.KnownIDs, do.Rule.Actions), Tags: do.Tags,
			})
		}
	}
	for _, g := range have.TargetGroups {
		have.Facts.Health[g.ARN] = observed.Health{Targets: []*observed.Target{{ID: "t", Port: 1, State: "healthy"}}}
	}
	return have
}

// cpuTime returns the CPU time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPlan measures plans for one listener with many rules.
func BenchmarkPlan(b *testing.B) {
	for _, shape := range []struct {
		name       string
		conditions func(i int) []model.Condition
	}{{"prefixes", prefixConditions}, {"wildcards", wildcardConditions}} {
		for _, n := range []int{400, 4000, 20000} {
			want := stackWithManyRules(n, shape.conditions)
			bare := want
			alb := *want.LoadBalancer
			alb.Listeners = slices.Clone(alb.Listeners)
			alb.Listeners[0].Rules = nil
			bare.LoadBalancer = &alb
			empty := observedStateOf(bare)
			full := observedStateOf(want)
			edited := func(change func(rules []model.Rule) []model.Rule) model.Stack {
				s := want
				alb := *want.LoadBalancer
				alb.Listeners = slices.Clone(alb.Listeners)
				alb.Listeners[0].Rules = change(slices.Clone(alb.Listeners[0].Rules))
				s.LoadBalancer = &alb
				return s
			}
			for _, c := range []struct {
				name string
				want model.Stack
				have observed.Stack
			}{
				{"create", want, empty},
				{"no-op", want, full},
				{"edit", edited(func(rules []model.Rule) []model.Rule {
					rules[n/2].Conditions = shape.conditions(n + 1)
					return rules
				}), full},
				{"insert", edited(func(rules []model.Rule) []model.Rule {
					r := rules[n/2]
					r.Conditions = shape.conditions(n + 1)
					return slices.Insert(rules, n/2, r)
				}), full},
				{"reverse", edited(func(rules []model.Rule) []model.Rule { slices.Reverse(rules); return rules }), full},
				{"remove", edited(func(rules []model.Rule) []model.Rule { return nil }), full},
			} {
				b.Run(fmt.Sprintf("%s/%s/%d", shape.name, c.name, n), func(b *testing.B) {
					runtime.GC()
					begun := cpuTime()
					for b.Loop() {
						if p, _ := planner.Make(c.want, c.have, testOptions, plan.Memory{}); len(p.Questions) > 0 {
							b.Fatal("the plan asks")
						}
					}
					b.ReportMetric(float64(cpuTime()-begun)/float64(b.N)/1e6, "cpu-ms/op")
				})
			}
		}
	}
}
